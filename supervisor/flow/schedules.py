"""When batches are submitted automatically: at local times of the week, once for each time, across clock changes.

Theory of operation. A time that has come is due until its submission begins or it is skipped; of several that came
while the daemon was down only the last is due. A second batch of a profile in a repository waits while one is at
work, or its pull request is open, but not for longer than `LONGEST_WAIT_SECONDS`, and not beyond the next time.

At a clock change, a time that does not exist comes an hour later by the new clock; of a time that occurs twice, the
first one counts.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from supervisor.errors import ImpossibleTransition
from supervisor.model import event as ev
from supervisor.model.schedule import Run, Schedule
from supervisor.model.state import State

LONGEST_WAIT_SECONDS = 6 * 3600.0
#: days to search: a schedule has a time in each week
_WEEK = 8


def next_at(schedule: Schedule, now: float) -> float:
    """The next time of the schedule after `now`."""
    return next(at for at in _times(schedule, now, 0, _WEEK) if at > now)


def last_at(schedule: Schedule, after: float, until: float) -> float | None:
    """The last time of the schedule after `after`, up to and including `until`; None: there is none."""
    return max((at for at in _times(schedule, until, -_WEEK, 0) if after < at <= until), default=None)


def _times(schedule: Schedule, around: float, first: int, last: int) -> Iterator[float]:
    zone = ZoneInfo(schedule.timezone)
    today = datetime.fromtimestamp(around, zone).date()
    # A time that does not exist may belong to the day before, so one more day is searched.
    for day in (today + timedelta(days=number) for number in range(first - 1, last + 2)):
        if day.weekday() in schedule.days:
            for at in sorted(schedule.at):
                yield datetime.combine(day, at, zone).astimezone(UTC).timestamp()


def due(state: State, schedule: Schedule, now: float) -> float | None:
    """The time that is due; None: none is. A time whose submission was interrupted by a restart is still due."""
    if (run := state.schedules.get(schedule.name)) is None:
        return None
    return run.last if run.begun else last_at(schedule, run.last, now)


def is_too_late(schedule: Schedule, planned_at: float, now: float, waits_since: float) -> bool:
    """Whether a waiting time is skipped. After downtime, it counts as waiting only since the daemon started."""
    return now - max(planned_at, waits_since) > LONGEST_WAIT_SECONDS


def at_work(state: State, schedule: Schedule) -> str:
    """Why the schedule waits for a batch of the same profile and repository; "": it does not."""
    for batch in state.batches.values():
        if (batch.repo, batch.profile.name) == (schedule.repo, schedule.profile) and batch.finished_at is None:
            return f"batch {batch.id} of profile {schedule.profile} is not over"
    return ""


# --- what has happened


def on_configured(state: State, event: ev.SchedulesConfigured) -> State:
    runs = state.schedules
    for name in runs:
        if name not in event.names:
            runs = runs.delete(name)
    for name in event.names:
        if name not in runs:
            runs = runs.set(name, Run(last=event.at))
    return replace(state, schedules=runs)


def _run(state: State, event: ev.ScheduleEvent) -> Run:
    if (run := state.schedules.get(event.name)) is None:
        raise ImpossibleTransition(f"{event.kind} of {event.name}, which is no schedule")
    return run


def _with(state: State, event: ev.ScheduleEvent, run: Run) -> State:
    return replace(state, schedules=state.schedules.set(event.name, run))


def on_started(state: State, event: ev.ScheduleStarted) -> State:
    return _with(state, event, replace(_run(state, event), last=event.planned_at, begun=True, held=""))


def on_ended(state: State, event: ev.ScheduleEnded) -> State:
    run = _run(state, event)
    batch = event.batch_id or run.batch
    return _with(state, event, replace(run, last=event.planned_at, begun=False, batch=batch, problem=event.detail))


def on_held(state: State, event: ev.ScheduleHeld) -> State:
    run = _run(state, event)
    if run.held == event.why:
        raise ImpossibleTransition(f"schedule {event.name} already waits for that")
    return _with(state, event, replace(run, held=event.why))


def on_skipped(state: State, event: ev.ScheduleSkipped) -> State:
    run = replace(_run(state, event), last=event.planned_at, begun=False, held="", problem=event.why)
    return _with(state, event, run)


APPLIED: Mapping[type[ev.Event], Callable[..., State]] = {
    ev.SchedulesConfigured: on_configured,
    ev.ScheduleStarted: on_started,
    ev.ScheduleEnded: on_ended,
    ev.ScheduleHeld: on_held,
    ev.ScheduleSkipped: on_skipped,
}
