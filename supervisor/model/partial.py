"""A partial integration: of the jobs that are over, while stragglers are still at work."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Partial:
    """A partial integration in progress."""

    number: int
    #: the jobs that were over at its start: a restart continues with the same ones
    jobs: tuple[int, ...]
    #: why its last try failed; it will be retried
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class SoFar:
    """The result of the last partial integration."""

    number: int
    #: the number of jobs that were over, and of those with work on the branch
    jobs: int
    merged: int = 0
    #: "": nothing was merged, or the branch could not be created
    branch: str = ""
    head: str = ""
    pull_request: str = ""
    problems: tuple[str, ...] = ()

    def told(self, submitted: int) -> str:
        """`supervisor/k3f9x, 12 of 20 jobs`."""
        where = ", ".join(place for place in (self.branch, self.pull_request) if place) or "nothing could be merged"
        return f"{where}, {self.jobs} of {submitted} jobs"
