"""Events of schedules. `planned_at` is the time that was due."""

from dataclasses import dataclass

from supervisor.model.event.subjects import Event


@dataclass(frozen=True, slots=True)
class SchedulesConfigured(Event):
    """The schedules were configured; a new one begins with its next time."""

    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ScheduleEvent(Event):
    name: str
    planned_at: float


@dataclass(frozen=True, slots=True)
class ScheduleStarted(ScheduleEvent):
    """The time of a schedule has come: its tests are being collected and submitted."""


@dataclass(frozen=True, slots=True)
class ScheduleEnded(ScheduleEvent):
    """The batch of a schedule was submitted, or could not be."""

    batch_id: str = ""
    #: why there is no batch
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ScheduleHeld(ScheduleEvent):
    """The time of a schedule has come, but it waits."""

    why: str


@dataclass(frozen=True, slots=True)
class ScheduleSkipped(ScheduleEvent):
    """A schedule has waited too long, or until its next time: this time is left out."""

    why: str
