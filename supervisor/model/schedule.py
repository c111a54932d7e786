"""Schedules: batches that the daemon submits at planned times."""

from dataclasses import dataclass
from datetime import time


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule as configured."""

    name: str
    repo: str
    profile: str
    #: what is submitted, as arguments of `submit`
    paths: tuple[str, ...]
    #: local times of day
    at: tuple[time, ...]
    #: Monday is 0
    days: frozenset[int]
    timezone: str
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Run:
    """What happened at a schedule's last time."""

    #: the last time that is settled, or for which a submission began; at first, when the schedule became known
    last: float
    #: its submission has begun, and has not ended
    begun: bool = False
    #: the batch of the last submission
    batch: str = ""
    #: why its last time brought no batch
    problem: str = ""
    #: why the time that is due has to wait
    held: str = ""
