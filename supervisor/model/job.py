"""A job: one test node id to be worked on, and why its last attempt ended."""

from dataclasses import dataclass
from enum import StrEnum

from supervisor.model.attempt import AttemptKey, ref_of
from supervisor.model.outcome import Outcome
from supervisor.model.usage import NOTHING, Usage
from supervisor.model.verdict import UNJUDGED, Verdict

#: the number of the job that makes one branch of a batch, where that needs judgement
INTEGRATOR = 0


class JobState(StrEnum):
    QUEUED = "queued"
    LAUNCHING = "launching"
    RUNNING = "running"
    #: its agent waits for a human
    PARKED = "parked"
    #: its work is being brought home, or what is left of it, and its agent is being put away
    COLLECTING = "collecting"
    VERIFYING = "verifying"
    DONE = "done"
    CANCELLED = "cancelled"

    @property
    def is_over(self) -> bool:
        return self in (JobState.DONE, JobState.CANCELLED)


#: a job has an agent then, or is about to have one; later its work is looked after by the daemon alone
AT_WORK = (JobState.LAUNCHING, JobState.RUNNING, JobState.PARKED)


@dataclass(frozen=True, slots=True)
class Saved:
    """The work of one attempt: under a ref of the daemon's own, with its agent, which is kept, or both."""

    attempt: int
    #: under the attempt's own ref; "" where nothing could be taken
    head: str = ""
    commits: int = 0
    #: it was not published, but found
    rescued: bool = False
    #: what could not be taken, and so is only with the agent; "" where all was
    unsaved: str = ""
    #: the agent that is kept, and where its clone is, if that is on this machine
    agent: str = ""
    clone: str = ""

    def ref(self, batch: str, job: int) -> str:
        """ "": nothing of it could be taken."""
        return ref_of(AttemptKey(batch, job, self.attempt), rescued=self.rescued) if self.head else ""

    @property
    def reach(self) -> str:
        """How to get at the agent that is kept; "" where none is."""
        if not self.agent:
            return ""
        return f"its clone is {self.clone}" if self.clone else f"`mngr connect {self.agent}`"

    def where(self, batch: str, job: int) -> str:
        parts = [f"kept under {self.ref(batch, job)}"] if self.head else []
        if self.unsaved:
            kept = f"the agent {self.agent} is kept ({self.reach})"
            parts.append(f"{kept} for what could not be taken: {self.unsaved}")
        return ", and ".join(parts)


@dataclass(frozen=True, slots=True)
class Brought:
    """What was brought home of a job's last attempt."""

    #: what the agent says of its work, as an outcome; "" where it published nothing
    claim: str = ""
    #: the last of its commits, and how many there are
    head: str = ""
    commits: int = 0


@dataclass(frozen=True, slots=True)
class Setbacks:
    """What went wrong on the way, for deciding whether and when the job goes again."""

    #: retries that crashes and stalls have used up; limits, lost logins and restarts use none
    retries: int = 0
    #: launches that failed in a row
    launches: int = 0
    #: why its agent's provider refuses to serve it, while that is the provider's last word: "limit", "overload",
    #: "login" or "credit"
    hindrance: str = ""
    #: attempts that ended so
    hindrances: int = 0


@dataclass(frozen=True, slots=True)
class Times:
    """When it came where; None: not yet."""

    launched: float | None = None
    published: float | None = None
    collected: float | None = None
    ended: float | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """What is known of one job. `ending` is how its last attempt ended, until that is settled."""

    number: int
    test: str
    state: JobState = JobState.QUEUED
    attempts: int = 0
    #: of the last attempt
    agent: str = ""
    pool: str = ""
    ending: "Ending | None" = None
    outcome: Outcome | None = None
    #: one sentence on the outcome, or on what the agent waits for
    detail: str = ""
    brought: Brought = Brought()
    verdict: Verdict = UNJUDGED
    #: the work of all its attempts, oldest first
    saved: tuple[Saved, ...] = ()
    setbacks: Setbacks = Setbacks()
    times: Times = Times()
    #: of all its attempts
    usage: Usage = NOTHING

    @property
    def brings_work(self) -> bool:
        """What was only rescued is kept for a person, and so is the work of a job that was cancelled."""
        return bool(self.brought.head and self.brought.claim) and self.outcome is not Outcome.CANCELLED

    @property
    def kept(self) -> tuple[Saved, ...]:
        """The work of all its attempts. An older version remembered a job's last work only."""
        if self.saved or not self.brought.head:
            return self.saved
        return (Saved(self.attempts, self.brought.head, self.brought.commits, rescued=not self.brought.claim),)

    def where(self, batch: str) -> str:
        """Where its work is kept: one sentence for each attempt that has some."""
        return "; ".join(each.where(batch, self.number) for each in self.kept)


class How(StrEnum):
    """How an attempt ended. Not the job's outcome: that also weighs retries and verification."""

    PUBLISHED = "published"
    #: its process is gone without having published
    VANISHED = "vanished"
    TIMED_OUT = "timed-out"
    STALLED = "stalled"
    #: the provider of its model let it down: a limit, an overload, a lost login
    HINDERED = "hindered"
    #: `mngr create` did not give an agent
    UNLAUNCHED = "unlaunched"
    #: the daemon went down in the middle of the launch
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
