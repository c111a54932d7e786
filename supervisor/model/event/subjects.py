"""What every event has: when it happened, and what it happened to."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Event:
    kind: ClassVar[str]
    at: float

    def __init_subclass__(cls) -> None:
        cls.kind = "".join(f"-{c.lower()}" if c.isupper() else c for c in cls.__name__).lstrip("-")


@dataclass(frozen=True, slots=True)
class BatchEvent(Event):
    batch: str


@dataclass(frozen=True, slots=True)
class JobEvent(BatchEvent):
    job: int


@dataclass(frozen=True, slots=True)
class AttemptEvent(JobEvent):
    attempt: int
