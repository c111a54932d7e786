"""Every job of a batch as one letter, which the page draws as a cell, and the stages of cells. Pure."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from supervisor.model.batch import Batch
from supervisor.model.job import Job, JobState
from supervisor.model.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Kind:
    """What a cell can be."""

    letter: str
    name: str
    words: str


@dataclass(frozen=True, slots=True)
class Stage:
    name: str
    title: str
    kinds: tuple[Kind, ...]

    @property
    def letters(self) -> str:
        return "".join(kind.letter for kind in self.kinds)


STAGES = (
    Stage(
        "look",
        "Needs a look",
        (
            Kind("P", "parked", "waits for a person"),
            Kind("B", "blocked", "blocked"),
            Kind("X", "failed", "failed"),
            Kind("Y", "flaky", "flaky"),
            Kind("L", "lost", "stalled or lost"),
        ),
    ),
    Stage(
        "work",
        "At work",
        (
            Kind("w", "working", "working"),
            Kind("h", "hindered", "refused by its model's provider"),
            Kind("l", "launching", "starting"),
        ),
    ),
    Stage("check", "Being checked", (Kind("v", "verifying", "verifying"), Kind("c", "collecting", "brought home"))),
    Stage(
        "done",
        "Done",
        (
            Kind("F", "fixed", "fixed"),
            Kind("S", "fixed-by-sibling", "fixed by a sibling"),
            Kind("I", "improved", "improved"),
            Kind("C", "clean", "nothing to do"),
        ),
    ),
    Stage("wait", "Waiting", (Kind("q", "waiting", "waiting"), Kind("s", "held", "held for a sibling"))),
    Stage("gone", "Cancelled", (Kind("K", "cancelled", "cancelled"),)),
)
KINDS = {kind.letter: kind for stage in STAGES for kind in stage.kinds}

_STATES = {
    JobState.QUEUED: "q",
    JobState.HELD: "s",
    JobState.LAUNCHING: "l",
    JobState.RUNNING: "w",
    JobState.PARKED: "P",
    JobState.COLLECTING: "c",
    JobState.VERIFYING: "v",
    JobState.CANCELLED: "K",
}
_OUTCOMES = {
    Outcome.FIXED: "F",
    Outcome.IMPROVED: "I",
    Outcome.CLEAN: "C",
    Outcome.FIXED_BY_SIBLING: "S",
    Outcome.BLOCKED: "B",
    Outcome.FAILED: "X",
    Outcome.TIMED_OUT: "L",
    Outcome.STALLED: "L",
    Outcome.LOST: "L",
    Outcome.CANCELLED: "K",
}


def letter(job: Job) -> str:
    if job.state is JobState.RUNNING and job.setbacks.hindrance:
        return "h"
    if job.state is not JobState.DONE:
        return _STATES[job.state]
    if job.verdict.verification == "flaky":
        return "Y"
    return _OUTCOMES.get(job.outcome or Outcome.FAILED, "X")


def letters(batch: Batch) -> str:
    """One letter for each job, in the order of their numbers."""
    found = [_STATES[batch.untouched]] * len(batch.tests)
    for number, job in batch.touched.items():
        found[number - 1] = letter(job)
    return "".join(found)


def changed(batch: Batch, numbers: Iterable[int]) -> list[tuple[int, str]]:
    return [(number, letter(batch.job(number))) for number in sorted(set(numbers)) if 1 <= number <= len(batch.tests)]


def counted(cells: str) -> dict[str, int]:
    """How many cells there are of each kind, by its name."""
    found = Counter(cells)
    return {kind.name: found[kind.letter] for kind in KINDS.values()}
