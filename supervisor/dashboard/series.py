"""What a batch used and brought over time, folded from its events: agents, verifications, ended jobs, tokens. Pure.

A batch may have a million events, so the past is kept in a bounded number of points. When there are too many,
each two become one, and time advances in steps twice as long.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from supervisor.model import event as ev
from supervisor.model.attempt import AttemptKey
from supervisor.model.event import AttemptEvent, Event

MOST_POINTS = 720
FIRST_STEP_SECONDS = 5.0
#: throughput is that of the last while
LATELY_SECONDS = 1800.0
#: fewer ended jobs than this say nothing about the rest
FEWEST_ENDED = 5

_FREES_SLOT = (
    *(ev.WorkCollected, ev.WorkRescued, ev.ReleaseStarted, ev.AgentReleased, ev.LaunchFailed, ev.LaunchInterrupted),
)
_ENDS_CHECK = (ev.WorkVerified, ev.WorkPutBack, ev.VerifyAbandoned)


class Point(NamedTuple):
    at: float
    agents: int
    checks: int
    ended: int
    tokens: int


@dataclass(slots=True)
class Series:
    """Mutable: one for each batch that somebody looks at."""

    points: list[Point] = field(default_factory=list)
    step: float = FIRST_STEP_SECONDS
    _agents: set[AttemptKey] = field(default_factory=set)
    #: the group of each claim that is verified: a group has one slot
    _checks: dict[AttemptKey, int] = field(default_factory=dict)
    _ended: set[int] = field(default_factory=set)
    _tokens: dict[AttemptKey, int] = field(default_factory=dict)
    _spent: int = 0

    def heard(self, events: Iterable[Event]) -> None:
        for event in events:
            self._happened(event)
            self._note(event.at)

    def _happened(self, event: Event) -> None:
        if isinstance(event, AttemptEvent):
            self._attempt(event, AttemptKey(event.batch, event.job, event.attempt))
        elif isinstance(event, ev.JobEnded | ev.JobCancelled) and event.job:
            self._ended.add(event.job)
        elif isinstance(event, ev.JobRetried):
            self._ended.discard(event.job)

    def _attempt(self, event: AttemptEvent, key: AttemptKey) -> None:
        if isinstance(event, ev.LaunchStarted):
            self._agents.add(key)
        elif isinstance(event, ev.VerifyStarted):
            self._checks[key] = event.beside or key.job
        elif isinstance(event, ev.UsageCounted):
            tokens = event.input + event.output + event.cached
            self._spent += tokens - self._tokens.get(key, 0)
            self._tokens[key] = tokens
        elif isinstance(event, _FREES_SLOT):
            self._agents.discard(key)
        if isinstance(event, _ENDS_CHECK):
            self._checks.pop(key, None)

    def _note(self, at: float) -> None:
        """The last point of a step is what was true at its end."""
        point = Point(at, len(self._agents), len(set(self._checks.values())), len(self._ended), self._spent)
        if self.points and at < self._start(self.points[-1].at) + self.step:
            self.points[-1] = point
            return
        self.points.append(point)
        if len(self.points) > MOST_POINTS:
            self.step *= 2
            self._thin()

    def _start(self, at: float) -> float:
        return at - at % self.step

    def _thin(self) -> None:
        kept: list[Point] = []
        for point in self.points:
            if kept and self._start(kept[-1].at) == self._start(point.at):
                kept[-1] = point
            else:
                kept.append(point)
        self.points = kept

    # --- what follows from it

    def per_hour(self, now: float) -> float | None:
        """How many jobs end in an hour, by the last half hour; None: too few have."""
        since = now - LATELY_SECONDS
        before = next((point for point in reversed(self.points) if point.at <= since), None)
        first = before or (self.points[0] if self.points else None)
        if first is None or not self.points:
            return None
        ended, seconds = self.points[-1].ended - first.ended, now - max(first.at, since)
        return None if ended < FEWEST_ENDED or seconds <= 0 else ended * 3600 / seconds


def ends_at(left: int, per_hour: float | None, now: float) -> float | None:
    """When the rest will be done at this speed."""
    return now + left * 3600 / per_hour if per_hour and left else None
