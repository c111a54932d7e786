"""Schedules as data for JSON."""

from collections.abc import Iterable
from typing import Any

from supervisor.flow.schedules import due, next_at
from supervisor.model.schedule import Run, Schedule
from supervisor.model.state import State
from supervisor.observe.snapshot import answer, rfc3339


def schedules(state: State, now: float, known: Iterable[Schedule]) -> dict[str, Any]:
    """The schedules, ordered by their next times."""
    ordered = sorted(known, key=lambda each: (next_at(each, now), each.name))
    return answer(now, rows=[_row(state, each, now) for each in ordered])


def _row(state: State, schedule: Schedule, now: float) -> dict[str, Any]:
    run = state.schedules.get(schedule.name) or Run(last=now)
    return {
        "name": schedule.name,
        "repo": schedule.repo,
        "profile": schedule.profile,
        "paths": list(schedule.paths),
        "at": [f"{at:%H:%M}" for at in schedule.at],
        "days": sorted(schedule.days),
        "timezone": schedule.timezone,
        "next_at": rfc3339(next_at(schedule, now)),
        "due_at": rfc3339(due(state, schedule, now)),
        "submitting": run.begun,
        "held": run.held or None,
        "batch": run.batch or None,
        "problem": run.problem or None,
    }
