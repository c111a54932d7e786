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
    """A daemon started and continues from the state that it read."""

    version: str = ""


@dataclass(frozen=True, slots=True)
class PoolSpec:
    """A pool as configured."""

    name: str
    provider: str
    slots: int
    hosts: tuple[str, ...] = ()
    agents_per_host: int = 0
    #: creations per second, the same for all pools of a provider; 0: no limit
    launch_rate: float = 0.0
    #: how long a new host lives; 0: as long as it is wanted, or not known
    host_seconds: float = 0.0
    #: mngr's arguments for a new host
    build_args: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PoolsConfigured(Event):
    """The pools were configured, at a start or a reload."""

    pools: tuple[PoolSpec, ...] = ()
    verify_slots: int = 1


@dataclass(frozen=True, slots=True)
class SlotsChanged(Event):
    """A person changed the number of slots of a pool."""

    pool: str
    slots: int
    author: str = ""


@dataclass(frozen=True, slots=True)
class PoolRested(Event):
    """A pool is used again after its provider failed."""

    pool: str


@dataclass(frozen=True, slots=True)
class LaunchRateChanged(Event):
    """A provider is asked for new hosts or agents at another rate: it refused some, or took some since."""

    provider: str
    #: creations per second; 0: as configured
    rate: float
    refused: bool = False


@dataclass(frozen=True, slots=True)
class QueuePaused(Event):
    """A person paused the queue: no batch launches agents until it is resumed."""

    author: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class QueueResumed(Event):
    """A person resumed the queue: agents are launched again."""

    author: str = ""


@dataclass(frozen=True, slots=True)
class OrphanDestroyed(Event):
    """An agent of this installation without an attempt was found, its work rescued, and the agent destroyed."""

    agent_id: str
    agent_name: str = ""


@dataclass(frozen=True, slots=True)
class OlderStateAccepted(Event):
    """A person continues with a state older than what was acknowledged: a restored backup or a salvaged journal.

    Until a person resumes the queue, nothing is launched, and no agent unknown to this state is put away."""

    #: the sequence numbers of the last event found and of the last one acknowledged; 0: unknown
    last: int
    acknowledged: int = 0
    salvaged: bool = False


@dataclass(frozen=True, slots=True)
class ClearingStarted(Event):
    """What finished batches left is checked, and deleted if its retention time is over."""


@dataclass(frozen=True, slots=True)
class ClearingEnded(Event):
    """What finished batches left was deleted, as far as its retention time is over."""

    #: the batches whose logs and publications were deleted
    forgotten: tuple[str, ...] = ()
    #: deleted refs whose commits were never merged
    lost: tuple[str, ...] = ()
    #: kept agents that were destroyed
    agents: tuple[str, ...] = ()
    #: what could not be deleted, and why
    problems: tuple[str, ...] = ()
    #: when to check again; 0: when the next batch is sealed
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
    """It launches no more agents: for good when its budget is spent, otherwise until a person resumes it."""

    #: "budget", "login" or "credit"
    reason: str
    detail: str = ""


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
class IntegrationStarted(BatchEvent):
    """All jobs are over, and the integration of their verified work began."""

    number: int


@dataclass(frozen=True, slots=True)
class IntegrationResumed(BatchEvent):
    """The same integration continues after a restart or a failure."""

    number: int


@dataclass(frozen=True, slots=True)
class JudgementWanted(BatchEvent):
    """The merge needs judgement: an agent continues it as job 0, and the daemon then checks the result."""

    number: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class IntegrationFailed(BatchEvent):
    """An integration failed and will be retried."""

    number: int
    detail: str
    retry_at: float


@dataclass(frozen=True, slots=True)
class IntegrationEnded(BatchEvent):
    """The integration is complete: there is a branch, or nothing to merge; every job has a row in the ledger."""

    number: int
    #: a row for every job, by its number
    ledger: Mapping[int, LedgerRow]
    branch: str = ""
    #: its URL; "": none was opened
    pull_request: str = ""
    #: what went wrong and did not stop it
    problems: tuple[str, ...] = ()
    #: the last merged commit
    head: str = ""
    #: what a reader of the branch should know
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PartialWanted(BatchEvent):
    """A partial integration was requested: of the jobs that are over, while the rest is at work."""

    author: str = ""
    #: requested by its profile, not by a person
    automatic: bool = False


@dataclass(frozen=True, slots=True)
class PartialEvent(BatchEvent):
    #: partial and final integrations share one sequence of numbers
    number: int


@dataclass(frozen=True, slots=True)
class PartialStarted(PartialEvent):
    """A partial integration began."""

    #: the jobs that were over at its start; jobs that end later are not added
    jobs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PartialResumed(PartialEvent):
    """The same partial integration continues after a restart or a failure."""


@dataclass(frozen=True, slots=True)
class PartialFailed(PartialEvent):
    """A partial integration failed and will be retried."""

    detail: str
    retry_at: float


@dataclass(frozen=True, slots=True)
class PartialEnded(PartialEvent):
    """A partial integration is complete."""

    branch: str = ""
    #: its URL; "": none was opened
    pull_request: str = ""
    #: what went wrong and did not stop it
    problems: tuple[str, ...] = ()
    #: the last merged commit
    head: str = ""
    #: the number of jobs with work on the branch, and of those left for the final integration
    merged: int = 0
    left: int = 0
    #: what a reader of the branch should know
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BatchFinished(BatchEvent):
    """The batch is over."""

    #: a row for every job, for a batch that was cancelled and so never integrated
    ledger: Mapping[int, LedgerRow] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BatchSealed(BatchEvent):
    """It is finished and all its agents are put away: it leaves memory; its summary and events stay readable."""


# --- jobs


@dataclass(frozen=True, slots=True)
class JobCancelled(JobEvent):
    """The job was cancelled, by a person or with its batch."""

    author: str = ""


@dataclass(frozen=True, slots=True)
class JobRetried(JobEvent):
    """A person requested another attempt for a job that is over."""

    author: str = ""


@dataclass(frozen=True, slots=True)
class JobRequeued(JobEvent):
    """It goes back to the queue, because its last attempt ended in a way that can be retried."""

    why: str
    ready_at: float
    #: whether it uses one of the retries
    counts: bool = True


@dataclass(frozen=True, slots=True)
class JobReady(JobEvent):
    """The back-off of a requeued job is over."""


@dataclass(frozen=True, slots=True)
class JobEnded(JobEvent):
    """The job is over; `outcome` says how."""

    outcome: str
    detail: str = ""


# --- attempts


@dataclass(frozen=True, slots=True)
class LaunchStarted(AttemptEvent):
    """Journalled before `mngr create` runs, so that the agent can be found by its id after a crash."""

    agent_id: str
    agent_name: str
    pool: str
    provider: str
    host: str = ""
    new_host: bool = False


@dataclass(frozen=True, slots=True)
class LaunchSucceeded(AttemptEvent):
    """The agent was launched and runs."""

    host_id: str
    #: found alive after a restart
    adopted: bool = False


@dataclass(frozen=True, slots=True)
class LaunchFailed(AttemptEvent):
    """`mngr create` failed, or a restart interrupted it before there was an agent."""

    #: how mngr failed (`ports.MngrReason`), or "interrupted"
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class LaunchInterrupted(AttemptEvent):
    """After a restart the agent was found but does not run: its creation was cut short, or it has ended."""

    host_id: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class AgentMoved(AttemptEvent):
    """A listing shows it on a host with another id than `mngr create` returned."""

    host_id: str


@dataclass(frozen=True, slots=True)
class WorkPublished(AttemptEvent):
    """The agent published its work."""


@dataclass(frozen=True, slots=True)
class AgentVanished(AttemptEvent):
    """The agent ended without publishing."""

    detail: str = ""


@dataclass(frozen=True, slots=True)
class TimeRanOut(AttemptEvent):
    """The agent exceeded the time limit of its job."""


@dataclass(frozen=True, slots=True)
class AgentFellQuiet(AttemptEvent):
    """It shows no activity: for a short while, and it waits for input; or for the whole stall time."""

    #: the time of its last sign of activity
    since: float
    waits: bool = False


@dataclass(frozen=True, slots=True)
class AgentStirred(AttemptEvent):
    """It shows activity again."""


@dataclass(frozen=True, slots=True)
class NudgeStarted(AttemptEvent):
    """The agent is being nudged."""

    #: "waiting", "silent", "parked" or "budget"
    reason: str


@dataclass(frozen=True, slots=True)
class AgentNudged(AttemptEvent):
    """It was told what is missing, or the message could not be delivered."""

    delivered: bool = True
    detail: str = ""


@dataclass(frozen=True, slots=True)
class AgentStalled(AttemptEvent):
    """It was nudged and still did nothing."""

    detail: str = ""


@dataclass(frozen=True, slots=True)
class JobParked(AttemptEvent):
    """Its agent asks for permission, which only a person can grant."""

    question: str = ""


@dataclass(frozen=True, slots=True)
class JobUnparked(AttemptEvent):
    """Its agent no longer asks for permission."""


@dataclass(frozen=True, slots=True)
class AgentHindered(AttemptEvent):
    """The last entry of its transcript is a refusal by its model's provider; `problem` "": it is served again."""

    #: "limit", "overload", "login" or "credit"
    problem: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class UsageCounted(AttemptEvent):
    """The usage of an attempt so far: totals, not increments. `input` excludes `cached`."""

    input: int = 0
    output: int = 0
    cached: int = 0
    tool_calls: int = 0
    errors: int = 0
    model: str = ""


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


@dataclass(frozen=True, slots=True)
class WorkPutBack(AttemptEvent):
    """Common runs could not settle the claim: it is verified again, in a smaller group or alone."""

    #: the size of the largest group that it may be in
    most: int = 1
    detail: str = ""


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


@dataclass(frozen=True, slots=True)
class ReleaseStarted(AttemptEvent):
    """The agent's work is safe, and the daemon began to put the agent away."""


@dataclass(frozen=True, slots=True)
class AgentReleased(AttemptEvent):
    """The agent was destroyed, or stopped and kept."""

    kept: bool = False
    #: for an agent whose launch was not confirmed: the work that was rescued, as in WorkRescued
    head: str = ""
    commits: int = 0
    unsaved: str = ""
    clone: str = ""


@dataclass(frozen=True, slots=True)
class ReleaseFailed(AttemptEvent):
    """The agent could not be put away now; it will be retried."""

    detail: str
    retry_at: float


_ABSTRACT = (Event, BatchEvent, PartialEvent, JobEvent, AttemptEvent)

#: every concrete event, by its kind
KINDS: Mapping[str, type[Event]] = {
    cls.kind: cls
    for cls in globals().values()
    if isinstance(cls, type) and issubclass(cls, Event) and cls not in _ABSTRACT
}
