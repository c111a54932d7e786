"""Retention of finished batches: the oldest are cleared first, and their unmerged work last.

A sealed batch leaves a folder (logs and publications), refs, kept agents and events. All of that is deleted after the
retention time. If there are too many batches, or the state directory is too large, the oldest are cleared earlier,
except the refs of unmerged work.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from supervisor.model import event as ev
from supervisor.model.agenda import Item
from supervisor.model.ledger import Fate
from supervisor.model.state import State

CLEAR: Item = ("clear",)
#: delay of the first check after a start, when the daemon is busy
FIRST_LOOK_SECONDS = 300.0
DAY, MEGABYTE = 86_400.0, 2**20

_MERGED = (Fate.MERGED, Fate.DUPLICATE)


@dataclass(frozen=True, slots=True)
class Limits:
    #: retention time of a finished batch
    days: float = 60
    #: maximum number of batches of which more than unmerged work is kept
    batches: int = 200
    #: maximum size of the state directory
    megabytes: int = 20_000


@dataclass(frozen=True, slots=True)
class Remains:
    """What is still kept of one sealed batch."""

    batch: str
    finished_at: float
    #: size of its folder; None: already deleted
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Going:
    remains: Remains
    #: its retention time is over: unmerged work is deleted, too
    expired: bool


def going(remains: Iterable[Remains], size: int, limits: Limits, now: float) -> list[Going]:
    """The batches to clear now, oldest first. `size` is that of the state directory.

    The youngest batch is cleared only when its retention time is over."""
    left = sorted(remains, key=lambda each: each.finished_at)
    folders, found = sum(each.size is not None for each in left), []
    for each in left:
        expired = now - each.finished_at > limits.days * DAY
        crowded = folders > limits.batches or size > limits.megabytes * MEGABYTE
        if expired or (crowded and each.size is not None and each is not left[-1]):
            found.append(Going(each, expired))
            folders, size = folders - (each.size is not None), size - (each.size or 0)
    return found


def next_look(remains: Iterable[Remains], limits: Limits, now: float) -> float:
    """The time of the next check: when the next retention time is over, but at least a day from now; 0: never."""
    ends = [each.finished_at + limits.days * DAY for each in remains]
    return max(now + DAY, min(ends)) if ends else 0.0


@dataclass(frozen=True, slots=True)
class Ended:
    """The result of a sealed batch, as far as its refs are concerned."""

    #: its branch was created in a person's repository
    landed: bool
    #: the number of attempts of each job, and the fate of the last one's work
    attempts: Mapping[int, int]
    fates: Mapping[int, str | None]


def is_missed(name: tuple[str, ...], ended: Ended) -> bool:
    """Whether a ref of a batch may hold the only copy of some work. `("3", "1")` is the ref of job 3, attempt 1."""
    match name:
        case ("base",) | ("landed", *_) | ("reviewed", *_):
            return False
        case ("integrated", *_):
            return not ended.landed
        case (job, attempt) if job.isdigit() and attempt.isdigit():
            is_last = ended.attempts.get(int(job)) == int(attempt)
            return not (ended.landed and is_last and ended.fates.get(int(job)) in _MERGED)
        case _:
            return True


def on_started(state: State, event: ev.ClearingStarted) -> State:
    return state.drop(CLEAR)


def on_ended(state: State, event: ev.ClearingEnded) -> State:
    return state.put(CLEAR, event.again_at) if event.again_at and CLEAR not in state.agenda.times else state


APPLIED: Mapping[type[ev.Event], Callable[..., State]] = {
    ev.ClearingStarted: on_started,
    ev.ClearingEnded: on_ended,
}
