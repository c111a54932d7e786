"""Every event of the journal, with its fields."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from manual import comments
from supervisor.model import event

#: what `events` shows of each, beside its own fields
BASES = (event.Event, event.BatchEvent, event.JobEvent, event.AttemptEvent)


@dataclass(frozen=True, slots=True)
class Told:
    kind: str
    about: str
    #: "batch", "job", "attempt", or "" for the daemon
    of: str
    fields: tuple[tuple[str, str], ...]


def all_events() -> tuple[Told, ...]:
    return tuple(_told(cls) for cls in _kinds())


def _kinds() -> Iterator[type[event.Event]]:
    """In the order in which the module has them; those that others only inherit from are none."""
    classes = [cls for cls in vars(event).values() if isinstance(cls, type)]
    parents = {parent for cls in classes for parent in cls.__bases__}
    yield from (cls for cls in classes if issubclass(cls, event.Event) and cls not in parents)


def _told(cls: type[event.Event]) -> Told:
    common = {each.name for base in BASES for each in fields(base)}
    own = [each.name for each in fields(cls) if each.name not in common]
    said = {name: text for base in reversed(cls.__mro__) for name, text in _said(base).items()}
    return Told(cls.kind, _about(cls), _of(cls), tuple((name, said.get(name, "")) for name in own))


def _said(cls: type[Any]) -> dict[str, str]:
    return dict(comments.of(cls)) if cls.__module__.startswith(f"{event.__name__}.") else {}


def _about(cls: type) -> str:
    """A dataclass without a docstring has its signature as one."""
    text = " ".join((cls.__doc__ or "").split())
    return "" if text.startswith(f"{cls.__name__}(") else text


def _of(cls: type) -> str:
    for base, name in ((event.AttemptEvent, "attempt"), (event.JobEvent, "job"), (event.BatchEvent, "batch")):
        if issubclass(cls, base):
            return name
    return ""
