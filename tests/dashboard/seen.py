"""The dashboard on a real port, over a real loop and journal; what the loop asks for is done by nobody."""

import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from supervisor.adapters.git.store import GitStore
from supervisor.adapters.layout import Layout
from supervisor.adapters.logs.device import AgentLogs
from supervisor.adapters.logs.panes import Panes
from supervisor.adapters.memory import MemoryAgents
from supervisor.adapters.recordings.kept import KeptRecordings
from supervisor.adapters.sqlite.journal import open_journal
from supervisor.control.desk import Desk
from supervisor.control.server import serving
from supervisor.daemon.loop import Loop
from supervisor.dashboard.serving import Dashboard
from supervisor.model.effect import Effect
from supervisor.model.event import Event
from supervisor.model.state import State
from supervisor.observe.snapshot import seal
from supervisor.observe.stream import Stream
from supervisor.ports import Journal, SealedBatch
from supervisor.publication.kept_files import KeptFiles
from supervisor.settings import Settings, load, resolve
from supervisor.tasks import beside
from supervisor.transcripts.redact import Redactor
from tests.flow.world import World


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Seen:
    home: Path
    port: int
    loop: Loop
    desk: Desk
    journal: Journal
    dashboard: Dashboard
    asked: list[Effect] = field(default_factory=list)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def api(self) -> Path:
        return self.home / "ctl.sock"

    @property
    def state(self) -> State:
        return self.loop.state

    def token(self, author: str = "ann") -> str:
        return str(self.dashboard.invite(author)["token"])

    def door(self, author: str = "ann") -> str:
        """An address that lets a browser in."""
        return f"{self.origin}/login?token={self.token(author)}"

    def happens(self, *events: Event) -> None:
        for event in events:
            self.loop.inbox.tell(event)

    def browser(self, **headers: str) -> httpx.AsyncClient:
        """What is not a browser, but may say that it is one."""
        return httpx.AsyncClient(base_url=self.origin, headers=headers, trust_env=False, timeout=20)

    @asynccontextmanager
    async def logged_in(self, author: str = "ann") -> AsyncIterator[httpx.AsyncClient]:
        async with self.browser() as client:
            answer = await client.get("/login", params={"token": self.token(author)})
            assert answer.status_code == 200, answer.text
            yield client


@asynccontextmanager
async def seen(
    home: Path, world: World | None = None, *, has_port: bool = True, sealed: Sequence[SealedBatch] = ()
) -> AsyncIterator[Seen]:
    async with beside() as tasks:
        (home / "state").mkdir(exist_ok=True)
        logs = AgentLogs(Layout(home / "state"), MemoryAgents(home), Redactor(), Panes({}), tasks)
        journal = open_journal(home / "state" / "journal.sqlite3")
        try:
            if world is not None:
                await journal.append(world.events, sealed)
            settings = _settings(home, free_port() if has_port else 0)
            there = _made(settings, journal, logs, world)
            tasks.start_soon(there.loop.run)
            async with serving(there.desk, settings.socket), there.dashboard.serving(there.desk):
                yield there
        finally:
            await logs.close()
            await journal.close()


def _settings(home: Path, port: int) -> Settings:
    places = f'state_dir = "{home}/state"\nsocket = "{home}/ctl.sock"\n'
    (home / "config.toml").write_text(f'{places}[dashboard]\nport = {port}\n[[pools]]\nname = "local"\nslots = 4\n')
    return load(home / "config.toml")


def _made(settings: Settings, journal: Journal, logs: AgentLogs, world: World | None) -> Seen:
    asked, dashboard = list[Effect](), Dashboard(settings)
    store, layout = GitStore(settings.state_dir), Layout(settings.state_dir)
    state = State(journal.installation) if world is None else world.state
    loop = Loop(state, journal, lambda: desk.clock(), asked.append, seal)
    stream = Stream(journal, loop.caught_up)
    loop.watch(stream.notify)

    async def reload() -> bool:
        return False

    desk = Desk(
        state=lambda: loop.state,
        ask=loop.inbox.ask,
        journal=journal,
        store=store,
        stream=stream,
        logs=logs,
        files=lambda: KeptFiles(layout, Redactor()),
        recordings=lambda: KeptRecordings(layout, Redactor()),
        profile=lambda name: resolve(settings, name),
        reload=reload,
        invite=dashboard.invite,
    )
    return Seen(settings.state_dir.parent, settings.dashboard.port, loop, desk, journal, dashboard, asked)
