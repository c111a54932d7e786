"""What agents say while they work."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from supervisor.model.attempt import Attempt, AttemptKey
from supervisor.model.usage import NOTHING, Usage


@dataclass(frozen=True, slots=True)
class Sight:
    """What an agent's own files tell of it now. None: it can't be told from here."""

    #: its last sign of activity
    active_at: float | None = None
    #: its turn is over, or it never said that it has one
    waits: bool | None = None
    #: it asks for permission
    asks: bool | None = None
    usage: Usage = NOTHING
    #: what its model's provider said no with, where that is the last word: "limit", "overload", "login" or "credit"
    problem: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class LogPiece:
    #: each is one JSON object
    lines: tuple[str, ...]
    #: where to go on
    next: int


class Logs(Protocol):
    """What agents write, as one stream of lines per attempt, without secrets."""

    def watch(self, attempts: Mapping[AttemptKey, Attempt]) -> None:
        """These are all there are now: read them until they are finished."""
        ...

    def learn(self, env: Mapping[str, str]) -> None:
        """What agents get in their environment; the secrets among it are masked from now on."""
        ...

    def sight(self, key: AttemptKey) -> Sight | None: ...

    async def active_at(self, attempt: Attempt) -> float | None:
        """Ask the agent's host when it was last active. Raises DeviceFailed."""
        ...

    async def finish(self, attempt: Attempt, *, published: bool) -> Usage:
        """Before it is put away: read the last of it. What it has taken in all; asked again, it says the same."""
        ...

    async def read(self, key: AttemptKey, after: int = 0) -> LogPiece:
        """Whole lines from a place in the stream on; none where there is nothing yet."""
        ...

    async def close(self) -> None: ...
