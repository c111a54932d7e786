"""What the API needs of the daemon: boot fills it in."""

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Protocol

from anyio import fail_after
from fastapi import Depends
from fastapi import Request as HttpRequest

from supervisor.errors import Refused
from supervisor.model.attempt import AttemptKey
from supervisor.model.batch import Batch, Profile
from supervisor.model.event import Event
from supervisor.model.request import Request
from supervisor.model.state import State
from supervisor.observe.report import AttemptFiles, NoFiles
from supervisor.observe.stream import Stream
from supervisor.ports import Journal, Logs, Store


class Branches(Protocol):
    """The branches of batches, and how that stands now which they were made on."""

    async def moved(self, repo: str, start: str, base: str, branch: str) -> str:
        """What came after a base on the branch `start` that it was taken from, and whether the branch that was made
        on it merges with that, in a sentence; "" for nothing."""
        ...

    async def onto(self, batch: Batch, sha: str) -> dict[str, Any]:
        """Makes a batch's branch again on another commit; asked again, how that stands. Raises Refused."""
        ...


class NoBranches:
    async def moved(self, repo: str, start: str, base: str, branch: str) -> str:
        return ""

    async def onto(self, batch: Batch, sha: str) -> dict[str, Any]:
        raise Refused("this daemon makes no branches", hint="")


async def _nothing(key: AttemptKey) -> None:
    return None


#: How long the daemon may take to write down what a request changes.
ASK_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Desk:
    state: Callable[[], State]
    #: the events a request led to, once they are safe on disk; raises Refused
    ask: Callable[[Request], Awaitable[list[Event]]]
    journal: Journal
    store: Store
    stream: Stream
    logs: Logs
    #: by name, as configured now; raises NoSuchThing
    profile: Callable[[str], Profile]
    #: read the configuration again; False when nothing is new. Raises Misconfigured, and the last good one stays
    reload: Callable[[], Awaitable[bool]]
    #: reads what is kept of attempts, for one report
    files: Callable[[], AttemptFiles] = NoFiles
    #: for `version` and `doctor`: the daemon's version, state directory, mngr
    facts: Mapping[str, Any] = field(default_factory=dict)
    #: for `doctor`: the settings that the daemon runs with, where they come from, and its PATH and user
    configuration: Callable[[], Mapping[str, Any]] = dict
    #: what a writer's attempt came to, as JSON
    proposal: Callable[[AttemptKey], Awaitable[str | None]] = _nothing
    #: providers that can't be reached, and why
    problems: Callable[[], Mapping[str, str]] = dict
    #: agents of this installation that nobody knows, by id, and what a person may do about them
    strays: Callable[[], Mapping[str, str]] = dict
    #: what the state directory takes, when it was last counted
    disk: Callable[[], Mapping[str, Any] | None] = lambda: None
    branches: Branches = field(default_factory=NoBranches)
    clock: Callable[[], float] = time.time

    async def asked(self, request: Request) -> list[Event]:
        with fail_after(ASK_SECONDS):
            return await self.ask(request)


def _desk(request: HttpRequest) -> Desk:
    desk: Desk = request.app.state.desk
    return desk


TheDesk = Annotated[Desk, Depends(_desk)]
