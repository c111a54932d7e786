"""Everything that the core can order, in the imperative. `began` is journalled before the shell acts."""

from dataclasses import dataclass

from supervisor.model.attempt import Attempt, AttemptKey
from supervisor.model.event import Event, NudgeStarted


@dataclass(frozen=True, slots=True)
class Effect:
    began: Event


@dataclass(frozen=True, slots=True)
class Note(Effect):
    """Journal `began` and do nothing else: a decision, or a timer that expired."""


@dataclass(frozen=True, slots=True)
class Launch(Effect):
    attempt: Attempt


@dataclass(frozen=True, slots=True)
class Nudge(Effect):
    """Send the agent a message. If it asks for permission, first answer no."""

    began: NudgeStarted
    attempt: Attempt
    text: str
    asks: bool = False


@dataclass(frozen=True, slots=True)
class Collect(Effect):
    """Fetch what the agent published; with `rescue`, whatever it left."""

    attempt: Attempt
    rescue: bool


@dataclass(frozen=True, slots=True)
class Verify(Effect):
    """Verify these claims of one batch, in one slot: of a remote pool, or of this machine."""

    keys: tuple[AttemptKey, ...]
    pool: str = ""


@dataclass(frozen=True, slots=True)
class Abandon(Effect):
    """End the verification of the group of this name: no claim waits for it."""

    key: AttemptKey


@dataclass(frozen=True, slots=True)
class RunAtBase(Effect):
    """Run these files at the base of their batch, in one slot: a group of its survey."""

    batch: str
    number: int
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LeaveBase(Effect):
    """End the run of a group of a survey: it is no longer needed."""

    batch: str
    number: int


@dataclass(frozen=True, slots=True)
class Release(Effect):
    attempt: Attempt


@dataclass(frozen=True, slots=True)
class Clear(Effect):
    """Delete what finished batches left, once its retention time is over."""


@dataclass(frozen=True, slots=True)
class Revise(Effect):
    """Revert the dropped commits on the branch of a batch, and put back those that are no longer dropped."""

    batch: str
    number: int


@dataclass(frozen=True, slots=True)
class Integrate(Effect):
    batch: str
    number: int


@dataclass(frozen=True, slots=True)
class IntegrateSoFar(Effect):
    """Integrate only these jobs, which are over, and do not wait for the others."""

    batch: str
    number: int
    jobs: tuple[int, ...]
