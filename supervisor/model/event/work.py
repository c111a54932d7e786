"""Events of an attempt's work: collected, rescued, verified."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from supervisor.model.attempt import AttemptKey
from supervisor.model.event.subjects import AttemptEvent
from supervisor.model.evidence import Evidence
from supervisor.model.verdict import Verdict, Verification


@dataclass(frozen=True, slots=True)
class CollectStarted(AttemptEvent):
    """The daemon began to collect or rescue the agent's work."""


@dataclass(frozen=True, slots=True)
class WorkCollected(AttemptEvent):
    """What the agent published is stored in the daemon's repository."""

    #: the agent's claim about its work, as an outcome
    claim: str
    detail: str = ""
    #: its last commit, now under the attempt's own ref; "" if it has none
    head: str = ""
    commits: int = 0


@dataclass(frozen=True, slots=True)
class WorkRescued(AttemptEvent):
    """What an agent left without publishing it, if anything, is stored in the daemon's repository."""

    head: str = ""
    commits: int = 0
    detail: str = ""
    #: what could not be rescued, and so keeps the agent; "": nothing
    unsaved: str = ""
    #: the path of its clone, if that is on this machine
    clone: str = ""


@dataclass(frozen=True, slots=True)
class CollectFailed(AttemptEvent):
    """The work could not be collected now; it will be retried."""

    detail: str
    #: when to try again
    retry_at: float


@dataclass(frozen=True, slots=True)
class PublicationRefused(AttemptEvent):
    """What it published can't be accepted; the usable part is rescued."""

    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class VerifyStarted(AttemptEvent):
    """The verification of the claim began."""

    #: the job whose group it is in; 0: its own
    beside: int = 0
    #: the remote pool in which it is verified; "": on this machine
    pool: str = ""


@dataclass(frozen=True, slots=True)
class WorkPutBack(AttemptEvent):
    """Common runs could not settle the claim: it is verified again, in a smaller group or alone."""

    #: the size of the largest group that it may be in
    most: int = 1
    detail: str = ""
    #: the jobs that may not be in its group: their work affects its test, or its work affects theirs
    meets: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class VerifyAbandoned(AttemptEvent):
    """The verification of a group is given up: all its jobs were cancelled."""


@dataclass(frozen=True, slots=True)
class WorkVerified(AttemptEvent):
    """The verdict on the claim, field by field."""

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
