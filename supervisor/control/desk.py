"""What the API needs from the daemon; filled in by `boot`."""

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Protocol

from anyio import fail_after
from fastapi import Depends
from fastapi import Request as HttpRequest

from supervisor.adapters.recordings.kept import Shown
from supervisor.control.rebuilding import Rebuilding
from supervisor.errors import Refused
from supervisor.foresight.reach import Code, Reached
from supervisor.model.attempt import AttemptKey
from supervisor.model.batch import Batch
from supervisor.model.event import Event
from supervisor.model.policy import Policy
from supervisor.model.profile import Profile
from supervisor.model.request import Request
from supervisor.model.schedule import Schedule
from supervisor.model.state import State
from supervisor.observe.metrics.meters import Meters
from supervisor.observe.report import AttemptFiles, NoFiles
from supervisor.observe.stream import Stream
from supervisor.ports import Journal, Logs, Store


class Branches(Protocol):
    """The branches of batches, compared with the branches that they started from."""

    async def moved(self, repo: str, start: str, base: str, branch: str) -> str:
        """A sentence that says how far the branch `start` has moved on since `base`, and whether the batch's branch
        still merges with it; "" if it has not moved."""
        ...

    async def onto(self, batch: Batch, sha: str) -> dict[str, Any]:
        """Rebuild a batch's branch on another commit; repeated, report the progress. Raises Refused."""
        ...


class NoBranches:
    async def moved(self, repo: str, start: str, base: str, branch: str) -> str:
        return ""

    async def onto(self, batch: Batch, sha: str) -> dict[str, Any]:
        raise Refused("this daemon makes no branches", hint="")


async def _nothing(key: AttemptKey) -> None:
    return None


def _no_dashboard(author: str) -> Mapping[str, Any]:
    raise Refused("this daemon serves no dashboard", hint="")


class Known(Protocol):
    """What is known of tests and of the code that they reach."""

    def reached(self, key: AttemptKey) -> Reached | None:
        """What the test of an attempt reached when it was verified; None: it is not known. It blocks."""
        ...

    async def code(self, repo: Path, rev: str) -> Code:
        """A commit of a person's repository. Raises GitFailed."""
        ...


class NothingKnown:
    def reached(self, key: AttemptKey) -> Reached | None:
        return None

    async def code(self, repo: Path, rev: str) -> Code:
        raise Refused("this daemon reads no commits", hint="")


class Recordings(Protocol):
    """What is kept of the terminals that tests used. It blocks."""

    def all(self, key: AttemptKey, test: str) -> list[Shown]: ...

    def content(self, key: AttemptKey, test: str, of: str, number: int) -> bytes | None: ...


class NoRecordings:
    def all(self, key: AttemptKey, test: str) -> list[Shown]:
        return []

    def content(self, key: AttemptKey, test: str, of: str, number: int) -> bytes | None:
        return None


#: The deadline for journalling the events of a request.
ASK_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Desk:
    state: Callable[[], State]
    #: the events that a request caused, once they are safe on disk; raises Refused
    ask: Callable[[Request], Awaitable[list[Event]]]
    journal: Journal
    store: Store
    stream: Stream
    logs: Logs
    #: the profile of this name in the current configuration; raises NoSuchThing
    profile: Callable[[str], Profile]
    #: reload the configuration; False if it has not changed. Raises Misconfigured and keeps the last good one
    reload: Callable[[], Awaitable[bool]]
    #: reads the kept files of attempts, for one report
    files: Callable[[], AttemptFiles] = NoFiles
    recordings: Callable[[], Recordings] = NoRecordings
    #: for `version` and `doctor`: the daemon's version, state directory, mngr
    facts: Mapping[str, Any] = field(default_factory=dict)
    #: for `doctor`: the settings that the daemon runs with, where they come from, and its PATH and user
    configuration: Callable[[], Mapping[str, Any]] = dict
    #: the proposal of a writer's attempt, as JSON
    proposal: Callable[[AttemptKey], Awaitable[str | None]] = _nothing
    #: providers that can't be reached, and why
    problems: Callable[[], Mapping[str, str]] = dict
    #: agents of this installation that belong to no attempt, by id, and what a person may do about them
    strays: Callable[[], Mapping[str, str]] = dict
    #: the data policy of the repository with this path
    policy: Callable[[str], Policy | None] = lambda repo: None
    #: who is told of alerts, by name, and what has come of it
    receivers: Callable[[], Mapping[str, Any]] = dict
    #: what has come of the traces that a collector is told; None: none is configured
    telemetry: Callable[[], Mapping[str, Any] | None] = lambda: None
    #: batches that are submitted at their time
    schedules: Callable[[], Iterable[Schedule]] = tuple
    #: the size of the state directory when it was last measured
    disk: Callable[[], Mapping[str, Any] | None] = lambda: None
    known: Known = field(default_factory=NothingKnown)
    rebuilding: Rebuilding = field(default_factory=Rebuilding)
    #: what was counted for `/metrics`
    meters: Meters = field(default_factory=Meters)
    branches: Branches = field(default_factory=NoBranches)
    #: lets a user look at the dashboard: where it is, and a token that is good for once; raises Refused
    invite: Callable[[str], Mapping[str, Any]] = _no_dashboard
    clock: Callable[[], float] = time.time

    async def asked(self, request: Request) -> list[Event]:
        with fail_after(ASK_SECONDS):
            return await self.ask(request)


def _desk(request: HttpRequest) -> Desk:
    desk: Desk = request.app.state.desk
    return desk


TheDesk = Annotated[Desk, Depends(_desk)]
