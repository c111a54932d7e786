"""Everything that can happen, in the past tense.

Events are journalled: fields are added with a default, never renamed.
`at` is seconds since the epoch. Each event's `kind` is its class name in kebab-case.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import ClassVar

from supervisor.model.attempt import AttemptKey
from supervisor.model.batch import Profile
from supervisor.model.evidence import Evidence
from supervisor.model.ledger import LedgerRow
from supervisor.model.verdict import Verdict, Verification


@dataclass(frozen=True, slots=True)
class Event:
    kind: ClassVar[str]
    at: float

    def __init_subclass__(cls) -> None:
        cls.kind = "".join(f"-{c.lower()}" if c.isupper() else c for c in cls.__name__).lstrip("-")


@dataclass(frozen=True, slots=True)
class BatchEvent(Event):
    batch: str


@dataclass(frozen=True, slots=True)
class JobEvent(BatchEvent):
    job: int


@dataclass(frozen=True, slots=True)
class AttemptEvent(JobEvent):
    attempt: int


# --- the daemon and its pools


@dataclass(frozen=True, slots=True)
class DaemonStarted(Event):
    """A daemon has read its state and goes on from there."""

    version: str = ""


@dataclass(frozen=True, slots=True)
class PoolSpec:
    """A pool as configured."""

    name: str
    provider: str
    slots: int
    hosts: tuple[str, ...] = ()
    agents_per_host: int = 0


@dataclass(frozen=True, slots=True)
class PoolsConfigured(Event):
    """The pools are these now."""

    pools: tuple[PoolSpec, ...] = ()


@dataclass(frozen=True, slots=True)
class SlotsChanged(Event):
    """A person has given a pool another number of slots."""

    pool: str
    slots: int
    author: str = ""


@dataclass(frozen=True, slots=True)
class PoolRested(Event):
    """A pool is tried again after its provider failed."""

    pool: str


@dataclass(frozen=True, slots=True)
class QueuePaused(Event):
    """Nothing is launched, of any batch, until the queue is resumed."""

    author: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class QueueResumed(Event):
    """Agents are launched again."""

    author: str = ""


@dataclass(frozen=True, slots=True)
class OrphanDestroyed(Event):
    """An agent of this installation that no attempt knows was found, its work rescued, and destroyed."""

    agent_id: str
    agent_name: str = ""


@dataclass(frozen=True, slots=True)
class OlderStateAccepted(Event):
    """A person goes on with less than was acknowledged: a restored backup, or what could be saved of a journal.

    Nothing is launched, and no agent that this state does not know is put away, until a person resumes the queue."""

    #: the number of the last event that was found, and of the last that was acknowledged; 0: not known
    last: int
    acknowledged: int = 0
    salvaged: bool = False


@dataclass(frozen=True, slots=True)
class ClearingStarted(Event):
    """What finished batches have left is looked through, and what has been kept for long enough goes."""


@dataclass(frozen=True, slots=True)
class ClearingEnded(Event):
    """What finished batches left has been cleared away, as far as it was due."""

    #: of these batches logs and what their agents published are gone
    forgotten: tuple[str, ...] = ()
    #: refs that are gone although what they held was never merged
    lost: tuple[str, ...] = ()
    #: kept agents that were destroyed
    agents: tuple[str, ...] = ()
    #: what could not be cleared away, and why
    problems: tuple[str, ...] = ()
    #: when to look again; 0: when the next batch is sealed
    again_at: float = 0


# --- batches


@dataclass(frozen=True, slots=True)
class BatchSubmitted(BatchEvent):
    """A batch was accepted; it has a job for each of `tests`."""

    repo: str
    base: str
    tests: tuple[str, ...]
    profile: Profile = field(default_factory=Profile)
    priority: int = 0
    author: str = ""
    #: what its agents do: "tester", or "writer"
    role: str = "tester"
    #: for writers, the task of each job, as JSON
    tasks: tuple[str, ...] = ()
    #: how many cases each of `tests` has; (): one each
    cases: tuple[int, ...] = ()
    #: the batch whose jobs these are, when they are worked on again
    retry_of: str = ""
    #: the branch that was checked out; "": none was
    submitted_from: str = ""


@dataclass(frozen=True, slots=True)
class BatchPaused(BatchEvent):
    """Nothing of this batch is launched; what runs goes on."""

    author: str = ""


@dataclass(frozen=True, slots=True)
class BatchResumed(BatchEvent):
    """The batch launches agents again, after it was paused or stopped."""

    author: str = ""


@dataclass(frozen=True, slots=True)
class BatchStopped(BatchEvent):
    """It starts no more agents: for good when its budget is spent, otherwise until a person says that it goes on."""

    #: "budget", "login" or "credit"
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class BatchCancelled(BatchEvent):
    """A person has called the batch off; what its agents had is rescued."""

    author: str = ""


@dataclass(frozen=True, slots=True)
class WindowOpened(BatchEvent):
    """Jobs of the batch may start now."""

    until: float


@dataclass(frozen=True, slots=True)
class WindowClosed(BatchEvent):
    """Jobs of the batch must wait; running ones go on."""

    until: float


@dataclass(frozen=True, slots=True)
class IntegrationStarted(BatchEvent):
    """All jobs are over; their verified work is put together."""

    number: int


@dataclass(frozen=True, slots=True)
class IntegrationResumed(BatchEvent):
    """The same integration goes on after a restart or a failure."""

    number: int


@dataclass(frozen=True, slots=True)
class JudgementWanted(BatchEvent):
    """The machine has come as far as it can: an agent goes on, as job 0, and then the machine checks what it made."""

    number: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class IntegrationFailed(BatchEvent):
    """An integration did not get to its end, and will be tried again."""

    number: int
    detail: str
    retry_at: float


@dataclass(frozen=True, slots=True)
class IntegrationEnded(BatchEvent):
    """The branch is there, or there was nothing for it; every job has its row in the ledger."""

    number: int
    #: a row for every job, by its number
    ledger: Mapping[int, LedgerRow]
    branch: str = ""
    #: where it is offered for review; "" for nowhere
    pull_request: str = ""
    #: what went wrong and did not stop it
    problems: tuple[str, ...] = ()
    #: the last commit of what was merged
    head: str = ""
    #: what a reader of the branch should know
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PartialWanted(BatchEvent):
    """What is done so far is to be integrated while the rest is still at work."""

    author: str = ""
    #: because its profile says so, not a person
    automatic: bool = False


@dataclass(frozen=True, slots=True)
class PartialEvent(BatchEvent):
    #: partial integrations are numbered with the others
    number: int


@dataclass(frozen=True, slots=True)
class PartialStarted(PartialEvent):
    """A branch of what is done so far is being made."""

    #: those that are over; it is made of their work, whatever ends meanwhile
    jobs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PartialResumed(PartialEvent):
    """The same one goes on after a restart or a failure."""


@dataclass(frozen=True, slots=True)
class PartialFailed(PartialEvent):
    """It did not get to its end, and will be tried again."""

    detail: str
    retry_at: float


@dataclass(frozen=True, slots=True)
class PartialEnded(PartialEvent):
    """The branch of what was done by then is there."""

    branch: str = ""
    #: where it is offered for review; "" for nowhere
    pull_request: str = ""
    #: what went wrong and did not stop it
    problems: tuple[str, ...] = ()
    #: the last commit of what was merged
    head: str = ""
    #: how many jobs have their work on the branch, and how many are left for the last integration
    merged: int = 0
    left: int = 0
    #: what a reader of the branch should know
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BatchFinished(BatchEvent):
    """The batch is over."""

    #: for a batch that was cancelled, and so never integrated: a row for every job
    ledger: Mapping[int, LedgerRow] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BatchSealed(BatchEvent):
    """Finished, and all its agents put away: it leaves memory, its summary and events stay readable."""


# --- jobs


@dataclass(frozen=True, slots=True)
class JobCancelled(JobEvent):
    """The job was called off, by a person or with its batch."""

    author: str = ""


@dataclass(frozen=True, slots=True)
class JobRetried(JobEvent):
    """A person wants a job that is over to be worked on again."""

    author: str = ""


@dataclass(frozen=True, slots=True)
class JobRequeued(JobEvent):
    """Its last attempt ended in a way that deserves another."""

    why: str
    ready_at: float
    #: it uses up one of the retries
    counts: bool = True


@dataclass(frozen=True, slots=True)
class JobReady(JobEvent):
    """A requeued job has waited out its back-off."""


@dataclass(frozen=True, slots=True)
class JobEnded(JobEvent):
    """The job is over; `outcome` says how."""

    outcome: str
    detail: str = ""


# --- attempts


@dataclass(frozen=True, slots=True)
class LaunchStarted(AttemptEvent):
    """Journalled before `mngr create` runs: whatever happens then, the agent can be found by its id."""

    agent_id: str
    agent_name: str
    pool: str
    provider: str
    host: str = ""
    new_host: bool = False


@dataclass(frozen=True, slots=True)
class LaunchSucceeded(AttemptEvent):
    """The agent runs."""

    host_id: str
    #: found alive after a restart
    adopted: bool = False


@dataclass(frozen=True, slots=True)
class LaunchFailed(AttemptEvent):
    """No agent came of it."""

    #: how mngr failed (`ports.MngrReason`), or "interrupted"
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class LaunchInterrupted(AttemptEvent):
    """After a restart the agent was found, but it does not run: half made, or over already."""

    host_id: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class AgentMoved(AttemptEvent):
    """A listing has it on a host of another id than it was said to be created on."""

    host_id: str


@dataclass(frozen=True, slots=True)
class WorkPublished(AttemptEvent):
    """The agent has handed over its work."""


@dataclass(frozen=True, slots=True)
class AgentVanished(AttemptEvent):
    """The agent is gone without having published."""

    detail: str = ""


@dataclass(frozen=True, slots=True)
class TimeRanOut(AttemptEvent):
    """The agent took longer than its job may."""


@dataclass(frozen=True, slots=True)
class AgentFellQuiet(AttemptEvent):
    """It shows no activity: for a little while, and it waits; or for the whole stall time."""

    #: its last sign of activity
    since: float
    waits: bool = False


@dataclass(frozen=True, slots=True)
class AgentStirred(AttemptEvent):
    """It shows activity again."""


@dataclass(frozen=True, slots=True)
class NudgeStarted(AttemptEvent):
    """The agent is about to be told something."""

    #: "waiting", "silent", "parked" or "budget"
    reason: str


@dataclass(frozen=True, slots=True)
class AgentNudged(AttemptEvent):
    """It was told what is missing, or could not be."""

    delivered: bool = True
    detail: str = ""


@dataclass(frozen=True, slots=True)
class AgentStalled(AttemptEvent):
    """It was told, and still did nothing."""

    detail: str = ""


@dataclass(frozen=True, slots=True)
class JobParked(AttemptEvent):
    """Its agent asks for permission, which nobody gives unattended."""

    question: str = ""


@dataclass(frozen=True, slots=True)
class JobUnparked(AttemptEvent):
    """Its agent does not ask for permission any more."""


@dataclass(frozen=True, slots=True)
class AgentHindered(AttemptEvent):
    """The last word in its transcript is that its provider says no; with "" it is so no more."""

    #: "limit", "overload", "login" or "credit"
    problem: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class UsageCounted(AttemptEvent):
    """What an attempt has taken up to now: totals, not differences. `input` is without `cached`."""

    input: int = 0
    output: int = 0
    cached: int = 0
    tool_calls: int = 0
    errors: int = 0
    model: str = ""


@dataclass(frozen=True, slots=True)
class CollectStarted(AttemptEvent):
    """The agent's work is being brought home."""


@dataclass(frozen=True, slots=True)
class WorkCollected(AttemptEvent):
    """What the agent published is safe in the daemon's repository."""

    #: what the agent says of its work, as an outcome
    claim: str
    detail: str = ""
    #: the last of its commits, now under the attempt's own ref; "" when there are none
    head: str = ""
    commits: int = 0


@dataclass(frozen=True, slots=True)
class WorkRescued(AttemptEvent):
    """What an agent left without publishing is safe, if it left anything."""

    head: str = ""
    commits: int = 0
    detail: str = ""
    #: what could not be taken: then its agent is kept; "" where all was
    unsaved: str = ""
    #: where its clone is, on this machine
    clone: str = ""


@dataclass(frozen=True, slots=True)
class CollectFailed(AttemptEvent):
    """It could not be brought home yet, and will be tried again."""

    detail: str
    #: when to try again
    retry_at: float


@dataclass(frozen=True, slots=True)
class PublicationRefused(AttemptEvent):
    """What was published can't be accepted: what is usable of it is rescued."""

    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class VerifyStarted(AttemptEvent):
    """The claim is being looked at and run again."""


@dataclass(frozen=True, slots=True)
class WorkVerified(AttemptEvent):
    """What is true of the claim; the fields are those of a verdict."""

    outcome: str
    detail: str = ""
    verification: Verification = ""
    reason: str = ""
    runs: int = 0
    passed: int = 0
    failed_before: bool | None = None
    relabelled: Mapping[str, str] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()
    evidence: Evidence | None = None

    @classmethod
    def of(cls, at: float, key: AttemptKey, verdict: Verdict) -> "WorkVerified":
        return cls(at, *key, **{each.name: getattr(verdict, each.name) for each in fields(Verdict)})

    @property
    def verdict(self) -> Verdict:
        return Verdict(**{each.name: getattr(self, each.name) for each in fields(Verdict)})


@dataclass(frozen=True, slots=True)
class ReleaseStarted(AttemptEvent):
    """The agent is being put away: its work is safe."""


@dataclass(frozen=True, slots=True)
class AgentReleased(AttemptEvent):
    """The agent is destroyed, or stopped and kept."""

    kept: bool = False
    #: of one that was not said to be created: what it had done all the same, as in WorkRescued
    head: str = ""
    commits: int = 0
    unsaved: str = ""
    clone: str = ""


@dataclass(frozen=True, slots=True)
class ReleaseFailed(AttemptEvent):
    """The agent could not be put away yet, and will be tried again."""

    detail: str
    retry_at: float


_ABSTRACT = (Event, BatchEvent, PartialEvent, JobEvent, AttemptEvent)

#: every event that can be journalled, by its kind
KINDS: Mapping[str, type[Event]] = {
    cls.kind: cls
    for cls in globals().values()
    if isinstance(cls, type) and issubclass(cls, Event) and cls not in _ABSTRACT
}
