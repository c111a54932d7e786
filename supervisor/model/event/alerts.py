"""Events of alerts."""

from dataclasses import dataclass

from supervisor.model.event.subjects import Event


@dataclass(frozen=True, slots=True)
class AlertRaised(Event):
    """Something happens that a person should know of now."""

    #: the same for as long as the problem lasts
    id: str
    #: the kind of its rule
    rule: str
    #: a batch, a job, a schedule, or "" for the queue
    subject: str
    message: str


@dataclass(frozen=True, slots=True)
class AlertResolved(Event):
    """The problem of an alert is over."""

    id: str
    rule: str
    subject: str
    message: str
    why: str = ""
