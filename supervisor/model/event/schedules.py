"""Events of schedules. `planned_at` is the time that was due."""

from dataclasses import dataclass

from supervisor.model.event.subjects import Event


@dataclass(frozen=True, slots=True)
class SchedulesConfigured(Event):
    """The schedules that there are; a new one begins with its next time."""

    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ScheduleEvent(Event):
    name: str
    planned_at: float


@dataclass(frozen=True, slots=True)
class ScheduleStarted(ScheduleEvent):
    """Its time has come, and its tests are collected and submitted."""


@dataclass(frozen=True, slots=True)
class ScheduleEnded(ScheduleEvent):
    """Its batch is submitted, or could not be."""

    batch_id: str = ""
    #: why there is no batch
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ScheduleHeld(ScheduleEvent):
    """Its time has come and it waits."""

    why: str


@dataclass(frozen=True, slots=True)
class ScheduleSkipped(ScheduleEvent):
    """It has waited for too long, or until its next time: this one is left out."""

    why: str
