"""Everything that can happen, in the past tense.

Events are journalled: fields are added with a default, never renamed.
`at` is seconds since the epoch. Each event's `kind` is its class name in kebab-case.
"""

# ruff: noqa: F403

from collections.abc import Mapping

from supervisor.model.event.accounts import *
from supervisor.model.event.agents import *
from supervisor.model.event.alerts import *
from supervisor.model.event.batches import *
from supervisor.model.event.daemon import *
from supervisor.model.event.integrations import *
from supervisor.model.event.jobs import *
from supervisor.model.event.reviews import *
from supervisor.model.event.schedules import *
from supervisor.model.event.subjects import AttemptEvent as AttemptEvent
from supervisor.model.event.subjects import BatchEvent as BatchEvent
from supervisor.model.event.subjects import Event as Event
from supervisor.model.event.subjects import JobEvent as JobEvent
from supervisor.model.event.surveys import *
from supervisor.model.event.work import *

_ABSTRACT = (Event, BatchEvent, PartialEvent, JobEvent, AttemptEvent, ScheduleEvent, ReviewEvent)  # noqa: F405

#: every concrete event, by its kind
KINDS: Mapping[str, type[Event]] = {
    cls.kind: cls
    for cls in globals().values()
    if isinstance(cls, type) and issubclass(cls, Event) and cls not in _ABSTRACT
}
