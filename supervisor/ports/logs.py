"""The logs of agents while they work."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from supervisor.model.attempt import Attempt, AttemptKey
from supervisor.model.share import WindowShare
from supervisor.model.usage import NOTHING, Usage


@dataclass(frozen=True, slots=True)
class Sight:
    """What an agent's own files show about it now. None: unknown on this machine."""

    #: the time of its last sign of activity
    active_at: float | None = None
    #: its turn is over, or it never reported one
    waits: bool | None = None
    #: an answer or a refusal of its model was seen at least once
    heard: bool | None = None
    #: it asks for permission
    asks: bool | None = None
    usage: Usage = NOTHING
    #: why its model's provider refuses to serve it now (`Hindrance`); "": it does not
    problem: str = ""
    detail: str = ""
    #: of that refusal: when it serves again (0: unknown), for which models it does not ("": all), and when it said so
    until: float = 0.0
    model: str = ""
    refused_at: float = 0.0
    #: what its provider reported of the windows of its account; a window may appear several times
    windows: tuple[WindowShare, ...] = ()


@dataclass(frozen=True, slots=True)
class LogPiece:
    #: each is one JSON object
    lines: tuple[str, ...]
    #: the position to continue from
    next: int


class Logs(Protocol):
    """The output of agents: one stream of lines per attempt, with secrets masked."""

    def watch(self, attempts: Mapping[AttemptKey, Attempt]) -> None:
        """Replace the set of attempts to read; each is read until it is finished."""
        ...

    def learn(self, env: Mapping[str, str]) -> None:
        """Learn the environment of agents: the secrets in it are masked from now on."""
        ...

    def sight(self, key: AttemptKey) -> Sight | None: ...

    async def active_at(self, attempt: Attempt) -> float | None:
        """Ask the agent's host when the agent was last active. Raises DeviceFailed."""
        ...

    async def finish(self, attempt: Attempt, *, published: bool) -> Usage:
        """Read the rest of the log before the agent is put away, and return its total usage. Idempotent."""
        ...

    async def read(self, key: AttemptKey, after: int = 0) -> LogPiece:
        """Complete lines from a position of the stream; none if nothing is there yet."""
        ...

    async def close(self) -> None: ...
