"""A job: one test node id to work on, and how its last attempt ended."""

from dataclasses import dataclass
from enum import StrEnum

from supervisor.model.attempt import AttemptKey, ref_of
from supervisor.model.outcome import Outcome
from supervisor.model.siblings import Fix
from supervisor.model.usage import NOTHING, Usage
from supervisor.model.verdict import UNJUDGED, Verdict

#: the number of the job that merges a batch into one branch, where that needs judgement
INTEGRATOR = 0


class JobState(StrEnum):
    QUEUED = "queued"
    #: it waits for the work of a sibling, whose agent may fix its test as well
    HELD = "held"
    LAUNCHING = "launching"
    RUNNING = "running"
    #: its agent waits for a person
    PARKED = "parked"
    #: its work is being collected or rescued, and its agent put away
    COLLECTING = "collecting"
    VERIFYING = "verifying"
    DONE = "done"
    CANCELLED = "cancelled"

    @property
    def is_over(self) -> bool:
        return self in (JobState.DONE, JobState.CANCELLED)


#: states in which a job has an agent at work or starting; afterwards only the daemon handles its work
AT_WORK = (JobState.LAUNCHING, JobState.RUNNING, JobState.PARKED)


@dataclass(frozen=True, slots=True)
class Saved:
    """Where the work of one attempt is: under a ref of the daemon, with its kept agent, or both."""

    attempt: int
    #: under the attempt's own ref; "": nothing could be collected
    head: str = ""
    commits: int = 0
    #: rescued, not published
    rescued: bool = False
    #: what could not be rescued, and so is only with the agent; "": nothing
    unsaved: str = ""
    #: the kept agent, and the path of its clone if that is on this machine
    agent: str = ""
    clone: str = ""

    def ref(self, batch: str, job: int) -> str:
        """The ref of its commits; "": nothing could be collected."""
        return ref_of(AttemptKey(batch, job, self.attempt), rescued=self.rescued) if self.head else ""

    @property
    def reach(self) -> str:
        """How to reach the kept agent; "": none is kept."""
        if not self.agent:
            return ""
        return f"its clone is {self.clone}" if self.clone else f"`mngr connect {self.agent}`"

    def where(self, batch: str, job: int) -> str:
        parts = [f"kept under {self.ref(batch, job)}"] if self.head else []
        if self.unsaved:
            kept = f"the agent {self.agent} is kept ({self.reach})"
            parts.append(f"{kept} for what could not be rescued: {self.unsaved}")
        return ", and ".join(parts)


@dataclass(frozen=True, slots=True)
class Brought:
    """What was collected of a job's last attempt."""

    #: the agent's claim about its work, as an outcome; "": it published nothing
    claim: str = ""
    #: its last commit, and the number of its commits
    head: str = ""
    commits: int = 0


@dataclass(frozen=True, slots=True)
class Setbacks:
    """What went wrong so far: it decides whether and when the job is retried."""

    #: retries used by crashes and stalls; limits, lost logins and restarts use none
    retries: int = 0
    #: consecutive failed launches
    launches: int = 0
    #: why the model's provider refuses to serve its agent now (`Hindrance`), and since when
    hindrance: str = ""
    hindered_at: float = 0.0
    #: the number of attempts that ended with a hindrance
    hindrances: int = 0
    #: why it was last requeued
    why: str = ""


@dataclass(frozen=True, slots=True)
class Times:
    """When the job reached each point; None: not yet."""

    launched: float | None = None
    published: float | None = None
    collected: float | None = None
    ended: float | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """One job. `ending` is how its last attempt ended, until the job is requeued or over."""

    number: int
    test: str
    state: JobState = JobState.QUEUED
    attempts: int = 0
    #: of the last attempt
    agent: str = ""
    pool: str = ""
    account: str = ""
    ending: "Ending | None" = None
    outcome: Outcome | None = None
    #: one sentence: why it ended so, or what its agent waits for
    detail: str = ""
    brought: Brought = Brought()
    verdict: Verdict = UNJUDGED
    #: the work of all its attempts, oldest first
    saved: tuple[Saved, ...] = ()
    setbacks: Setbacks = Setbacks()
    #: the attempt whose rescued work the next one begins with; 0: none
    continues: int = 0
    #: the work of a sibling that is tried on its test, or was
    borrowed: Fix | None = None
    times: Times = Times()
    #: of all its attempts
    usage: Usage = NOTHING

    @property
    def brings_work(self) -> bool:
        """Whether it has work to integrate. Rescued work and that of a cancelled job are only kept for a person."""
        return bool(self.brought.head and self.brought.claim) and self.outcome is not Outcome.CANCELLED

    @property
    def is_on_trial(self) -> bool:
        """Whether its test is run with the work of a sibling, and no agent is needed so far."""
        return self.state is JobState.VERIFYING and self.borrowed is not None and not self.borrowed.why_not

    @property
    def kept(self) -> tuple[Saved, ...]:
        """The work of all its attempts. Journals of older versions record only a job's last work."""
        if self.saved or not self.brought.head:
            return self.saved
        return (Saved(self.attempts, self.brought.head, self.brought.commits, rescued=not self.brought.claim),)

    def where(self, batch: str) -> str:
        """Where its work is kept: one sentence for each attempt that has some."""
        return "; ".join(each.where(batch, self.number) for each in self.kept)


class How(StrEnum):
    """How an attempt ended. The job's outcome also depends on retries and verification."""

    PUBLISHED = "published"
    #: its process ended without publishing
    VANISHED = "vanished"
    TIMED_OUT = "timed-out"
    STALLED = "stalled"
    #: its model's provider refused to serve it: a limit, an overload, a lost login
    HINDERED = "hindered"
    #: `mngr create` failed
    UNLAUNCHED = "unlaunched"
    #: the daemon stopped during the launch
    INTERRUPTED = "interrupted"
    #: it published what can't be accepted
    REFUSED = "refused"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Ending:
    how: How
    #: one sentence
    detail: str = ""
    #: for UNLAUNCHED, the reason in mngr's words (`ports.MngrReason`)
    reason: str = ""
