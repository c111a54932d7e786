"""The keys of schedules."""

import os
from datetime import time
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field

from supervisor.model.schedule import Schedule
from supervisor.settings.values import AbsolutePath, Name, Words, time_of_day, timezone_name

WEEK = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

type Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]


def _several(said: object) -> object:
    return (said,) if isinstance(said, str) else said


class ScheduleTable(BaseModel, frozen=True, extra="forbid"):
    """Submit a batch at its time, by the daemon itself. There can be several `[[schedules]]`."""

    #: a name of its own
    name: Name
    #: a checkout of the repository; its tests are collected there, by the daemon's user
    repo: AbsolutePath
    #: what is collected, as for `submit`; empty: what pytest collects by itself
    paths: Words = ()
    #: the profile of the batch
    profile: str = "default"
    #: the time of day, such as "22:00", or several
    at: Annotated[
        tuple[Annotated[str, AfterValidator(time_of_day)], ...], BeforeValidator(_several), Field(min_length=1)
    ]
    #: the days of the week, such as ["mon", "fri"]
    days: Annotated[tuple[Day, ...], Field(min_length=1)] = WEEK  # type: ignore[assignment]
    #: the time zone of `at`, such as Europe/Berlin; empty: this machine's
    timezone: Annotated[str, AfterValidator(lambda name: name and timezone_name(name))] = ""
    #: as for `submit --priority`
    priority: Annotated[int, Field(ge=-1000, le=1000)] = 0
    #: `false`: not now
    enabled: bool = True


def schedules(tables: tuple[ScheduleTable, ...], local_timezone: str) -> tuple[Schedule, ...]:
    return tuple(_schedule(table, local_timezone) for table in tables if table.enabled)


def _schedule(table: ScheduleTable, local_timezone: str) -> Schedule:
    return Schedule(
        name=table.name,
        repo=os.path.realpath(table.repo),
        profile=table.profile,
        paths=table.paths,
        at=tuple(time.fromisoformat(each.zfill(5)) for each in table.at),
        days=frozenset(WEEK.index(day) for day in table.days),
        timezone=table.timezone or local_timezone,
        priority=table.priority,
    )
