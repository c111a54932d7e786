"""Everything the core can ask for, in the imperative. `began` is journalled before the shell does it."""

from dataclasses import dataclass

from supervisor.model.attempt import Attempt
from supervisor.model.event import Event


@dataclass(frozen=True, slots=True)
class Effect:
    began: Event


@dataclass(frozen=True, slots=True)
class Note(Effect):
    """Nothing to do but to write it down: a decision, or the clock's word."""


@dataclass(frozen=True, slots=True)
class Launch(Effect):
    attempt: Attempt


@dataclass(frozen=True, slots=True)
class Nudge(Effect):
    """Tell the agent what is missing; one that asks for permission is first answered with no."""

    attempt: Attempt
    text: str
    asks: bool = False


@dataclass(frozen=True, slots=True)
class Collect(Effect):
    """Bring home what was published; with `rescue`, whatever is there."""

    attempt: Attempt
    rescue: bool


@dataclass(frozen=True, slots=True)
class Verify(Effect):
    batch: str
    job: int
    attempt: int


@dataclass(frozen=True, slots=True)
class Release(Effect):
    attempt: Attempt


@dataclass(frozen=True, slots=True)
class Clear(Effect):
    """Away with what has been kept of finished batches for long enough."""


@dataclass(frozen=True, slots=True)
class Integrate(Effect):
    batch: str
    number: int


@dataclass(frozen=True, slots=True)
class IntegrateSoFar(Effect):
    """Of these jobs alone, which are over: nobody waits for the others."""

    batch: str
    number: int
    jobs: tuple[int, ...]
