"""A job: one test node id to be worked on, and why its last attempt ended."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from supervisor.model.evidence import Evidence
from supervisor.model.outcome import Outcome
from supervisor.model.usage import NOTHING, Usage

type Verification = Literal[
    "",  # not yet, or by a release that did not say
    "verified",  # every clean run passed, and nothing beside it broke
    "flaky",  # some of the runs passed
    "unverified",  # no run passed, something beside it broke, or nobody claims that it works
    "refused",  # by policy
    "not-needed",  # there is no work to verify, or verification is switched off
]

#: the number of the job that makes one branch of a batch, where that needs judgement
INTEGRATOR = 0

#: what may not be merged
UNPROVEN: frozenset[str] = frozenset({"flaky", "unverified", "refused"})


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


@dataclass(frozen=True, slots=True)
class Job:
    """What is known of one job. `ending` is how its last attempt ended, until that is settled."""

    number: int
    test: str
    state: JobState = JobState.QUEUED
    attempts: int = 0
    #: retries that crashes and stalls have used up; limits, lost logins and restarts use none
    retries_used: int = 0
    #: launches that failed in a row
    failed_launches: int = 0
    #: what its agent's provider said no with, while that is the last word: "limit", "overload", "login" or
    #: "credit"
    hindrance: str = ""
    #: attempts that ended so
    hindered: int = 0
    ending: "Ending | None" = None
    outcome: Outcome | None = None
    #: one sentence on the outcome
    detail: str = ""
    #: what the agent says of its work, as an outcome; after verification, what is true of it
    claim: str = ""
    #: the last commit that was brought home, and how many there are
    head: str = ""
    commits: int = 0
    #: what became of the claim; why, in a sentence; and the clean runs of the test
    verification: Verification = ""
    reason: str = ""
    runs: int = 0
    passed: int = 0
    #: whether the test failed before the work; None: unknown
    failed_before: bool | None = None
    #: commits whose kind is not what they say, with the kind that their diff shows
    relabelled: Mapping[str, str] = field(default_factory=dict)
    #: sentences for the reviewer about what no machine can decide, and what runs have shown
    doubts: tuple[str, ...] = ()
    evidence: Evidence | None = None
    #: of all its attempts, oldest first
    saved: tuple[Saved, ...] = ()
    agent: str = ""
    pool: str = ""
    launched_at: float | None = None
    published_at: float | None = None
    collected_at: float | None = None
    ended_at: float | None = None
    #: of all its attempts
    usage: Usage = NOTHING


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
