"""Events of a batch: from its submission to the end of its agents."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from supervisor.model.event.subjects import BatchEvent
from supervisor.model.ledger import LedgerRow
from supervisor.model.pattern import Fingerprint
from supervisor.model.profile import Profile


@dataclass(frozen=True, slots=True)
class BatchSubmitted(BatchEvent):
    """A batch was accepted; it has a job for each of `tests`."""

    repo: str
    base: str
    tests: tuple[str, ...]
    profile: Profile = field(default_factory=Profile)
    priority: int = 0
    author: str = ""
    #: what its agents do: "tester" or "writer"
    role: str = "tester"
    #: for writers, the task of each job, as JSON
    tasks: tuple[str, ...] = ()
    #: the number of cases of each entry of `tests`; (): one each
    cases: tuple[int, ...] = ()
    #: the batch whose jobs this one works on again
    retry_of: str = ""
    #: the branch that was checked out; "": none
    submitted_from: str = ""
    #: jobs that the selector would have skipped, run to find out whether it was right
    audited: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class BatchPaused(BatchEvent):
    """A person paused the batch: it launches no agents; running ones continue."""

    author: str = ""


@dataclass(frozen=True, slots=True)
class BatchResumed(BatchEvent):
    """The batch launches agents again, after it was paused or stopped."""

    author: str = ""


@dataclass(frozen=True, slots=True)
class BatchStopped(BatchEvent):
    """The batch launches no more agents: for good when its budget is spent, otherwise until a person resumes it."""

    #: "budget", "login", "credit" or "survey"
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class BreakerTripped(BatchEvent):
    """Several jobs failed in the same way: the batch launches no more agents until a person resumes it."""

    #: one sentence: the pattern, its count and a sample
    detail: str
    #: the fingerprint of the failure
    stage: str
    outcome: str
    exception: str = ""
    message: str = ""
    #: the jobs fail in different ways; the fingerprint is that of most of them
    is_mixed: bool = False
    #: the number of jobs that failed, and the first of them
    count: int = 0
    failed_jobs: tuple[int, ...] = ()
    #: the message of the first one
    sample: str = ""
    #: nearly all jobs fail, so the tests are not the reason
    is_infrastructure: bool = False
    reason: str = "breaker"

    @property
    def fingerprint(self) -> Fingerprint:
        return Fingerprint(self.stage, self.outcome, self.exception, self.message)


@dataclass(frozen=True, slots=True)
class BatchCancelled(BatchEvent):
    """A person cancelled the batch; the work of its agents is rescued."""

    author: str = ""


@dataclass(frozen=True, slots=True)
class WindowOpened(BatchEvent):
    """The batch's window opened: its jobs may start."""

    until: float


@dataclass(frozen=True, slots=True)
class WindowClosed(BatchEvent):
    """The batch's window closed: its jobs wait; running ones continue."""

    until: float


@dataclass(frozen=True, slots=True)
class BatchFinished(BatchEvent):
    """The batch is over."""

    #: a row for every job, for a batch that was cancelled and so never integrated
    ledger: Mapping[int, LedgerRow] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BatchSealed(BatchEvent):
    """It is finished and all its agents are put away: it leaves memory; its summary and events stay readable."""
