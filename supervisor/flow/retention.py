"""What is kept of finished batches, and for how long: the oldest go first, work that nobody has merged goes last.

A batch that was sealed leaves a folder (logs, what its agents published), refs, kept agents and its events. All of
that goes when its time is over. Where there are too many batches, or their state is too large, the oldest go earlier,
but for the refs of work that was never merged.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from supervisor.model import event as ev
from supervisor.model.agenda import Item
from supervisor.model.ledger import Fate
from supervisor.model.state import State

CLEAR: Item = ("clear",)
#: After a start the daemon has better things to do.
FIRST_LOOK_SECONDS = 300.0
DAY, MEGABYTE = 86_400.0, 2**20

_MERGED = (Fate.MERGED, Fate.DUPLICATE)


@dataclass(frozen=True, slots=True)
class Limits:
    #: how long anything is kept of a finished batch
    days: float = 60
    #: of how many batches more than their unmerged work is kept
    batches: int = 200
    #: the same, by the size of the state directory
    megabytes: int = 20_000


@dataclass(frozen=True, slots=True)
class Remains:
    """What is left of one sealed batch."""

    batch: str
    finished_at: float
    #: of its folder; None: that is gone already
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Going:
    remains: Remains
    #: its time is over: work that was never merged goes, too
    expired: bool


def going(remains: Iterable[Remains], size: int, limits: Limits, now: float) -> list[Going]:
    """What goes now, the oldest first. `size` is the state directory's; the youngest goes by its age alone."""
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
    """When the next of them is too old, or a day later where there is anything at all; 0: never."""
    ends = [each.finished_at + limits.days * DAY for each in remains]
    return max(now + DAY, min(ends)) if ends else 0.0


@dataclass(frozen=True, slots=True)
class Ended:
    """What a sealed batch came to, as far as its refs are concerned."""

    #: a person has its branch, or had it
    landed: bool
    #: how many attempts each job had, and the fate of the last one's work
    attempts: Mapping[int, int]
    fates: Mapping[int, str | None]


def is_missed(name: tuple[str, ...], ended: Ended) -> bool:
    """Whether a ref of a batch may hold work that is nowhere else: `("3", "1")` is the first attempt's of job 3."""
    match name:
        case ("base",) | ("landed", *_):
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
