"""An integration of what is done so far, while stragglers are still at work."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Partial:
    """One that has begun and not ended."""

    number: int
    #: those that were over when it began: a restart goes on with the same ones
    jobs: tuple[int, ...]
    #: why it failed, and is tried again later
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class SoFar:
    """What the last one came to."""

    number: int
    #: how many jobs were over, and of how many the work is on the branch
    jobs: int
    merged: int = 0
    #: "": nothing was merged, or it could not be made
    branch: str = ""
    head: str = ""
    pull_request: str = ""
    problems: tuple[str, ...] = ()

    def told(self, submitted: int) -> str:
        """`supervisor/k3f9x, 12 of 20 jobs`."""
        where = ", ".join(place for place in (self.branch, self.pull_request) if place) or "nothing could be merged"
        return f"{where}, {self.jobs} of {submitted} jobs"
