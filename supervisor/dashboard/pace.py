"""How fast a batch goes, and when it will be done. Pure."""

from dataclasses import dataclass

from supervisor.dashboard.series import Series, ends_at
from supervisor.model.batch import Batch, BatchState
from supervisor.model.job import JobState
from supervisor.observe.snapshot import rfc3339


@dataclass(frozen=True, slots=True)
class Pace:
    per_hour: float | None
    ends_at: str | None


def pace(batch: Batch, series: Series | None, now: float) -> Pace:
    if series is None or batch.state not in (BatchState.QUEUED, BatchState.RUNNING):
        return Pace(None, None)
    over = batch.count(JobState.DONE) + batch.count(JobState.CANCELLED)
    speed = series.per_hour(now)
    return Pace(speed, rfc3339(ends_at(len(batch.tests) - over, speed, now)))
