"""Events of a job."""

from dataclasses import dataclass

from supervisor.model.event.subjects import JobEvent


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
    """The job goes back to the queue, because its last attempt ended in a way that can be retried."""

    why: str
    ready_at: float
    #: whether it uses one of the retries
    counts: bool = True


@dataclass(frozen=True, slots=True)
class JobReady(JobEvent):
    """The back-off of a requeued job is over."""


@dataclass(frozen=True, slots=True)
class JobHeld(JobEvent):
    """The job gets no agent for now: its test fails at the base at the same place as a sibling's, which has one."""

    #: the sibling
    first: int
    #: the place in shared code, and the error
    place: str = ""


@dataclass(frozen=True, slots=True)
class FixBorrowed(JobEvent):
    """The work of a sibling is verified: the job's test will be run with it, without an agent."""

    #: the sibling, its last commit, and the pool in which it was made
    from_job: int
    head: str = ""
    pool: str = ""


@dataclass(frozen=True, slots=True)
class JobFreed(JobEvent):
    """A held job gets an agent: its sibling brought no fix, or the fix does not suffice."""

    why: str
    #: how its test fails with that work; "": it was not tried
    failure: str = ""


@dataclass(frozen=True, slots=True)
class JobEnded(JobEvent):
    """The job is over; `outcome` says how."""

    outcome: str
    detail: str = ""
