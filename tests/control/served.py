"""The API on a real socket, over a real loop; devices are played, so that a test says how each job goes."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from anyio.abc import TaskGroup

from supervisor.adapters.git.store import GitStore
from supervisor.adapters.layout import Layout
from supervisor.adapters.logs.device import AgentLogs
from supervisor.adapters.logs.panes import Panes
from supervisor.adapters.memory import MemoryAgents
from supervisor.adapters.memory_journal import MemoryJournal
from supervisor.adapters.recordings.kept import KeptRecordings
from supervisor.control.client import Client
from supervisor.control.desk import Desk
from supervisor.control.server import serving
from supervisor.daemon.loop import Loop
from supervisor.errors import DeviceFailed
from supervisor.model import event as ev
from supervisor.model.batch import Batch
from supervisor.model.effect import Clear, Collect, Effect, Integrate, IntegrateSoFar, Launch, Release, Verify
from supervisor.model.ledger import Fate, LedgerRow
from supervisor.model.request import Configure
from supervisor.model.state import State
from supervisor.observe.snapshot import seal
from supervisor.observe.stream import Stream
from supervisor.ports import SealedBatch
from supervisor.publication.kept_files import KeptFiles
from supervisor.settings import load, pool_specs, resolve
from supervisor.tasks import beside
from supervisor.transcripts.redact import Redactor
from supervisor.verification.reached.noting import KnownCode
from tests.agent_clone import commit, git

CONFIG = """
[profiles.nowhere]
pytest = ["/nowhere/python", "-m", "pytest"]
[profiles.frugal]
budget_tokens = 1000
[profiles.hasty]
test_timeout_seconds = 0.5
[profiles.by-case]
per = "case"
[profiles.pending]
select = "failed"
[profiles.bare]
pytest = ["python3", "-S", "-m", "pytest"]
"""


#: the last commit of an agent that fixed its test
HEAD = "c0de" * 10


@dataclass
class Player:
    """Does at once what is asked of the devices. An agent ends when its test has an outcome in `outcomes`."""

    tell: Callable[[ev.Event], None]
    batch: Callable[[str], Batch]
    outcomes: dict[str, str] = field(default_factory=dict)
    #: what every other test ends with; "": its agent goes on working
    otherwise: str = ""
    #: of integrations
    problems: tuple[str, ...] = ()
    #: the last commit of each agent that fixed its test
    head: str = HEAD
    #: what verification finds of each test
    failed_before: bool | None = None
    #: merging takes an agent's judgement: asked for once
    needs_judgement: bool = False
    #: of the branch: its last commit, and the commits of each job
    branch_head: str = ""
    merged: dict[int, tuple[str, ...]] = field(default_factory=dict)
    #: does what others are asked for; None: nobody does
    otherwise_asked: Callable[[Effect], None] | None = None

    def perform(self, effect: Effect) -> None:
        at = effect.began.at
        match effect:
            case Launch():
                self.tell(ev.LaunchSucceeded(at, *effect.attempt.key, host_id="host"))
                self._end(effect, at)
            case Collect():
                key = effect.attempt.key
                claim = self._outcome(key.batch, key.job) or "fixed"
                head = self.head if claim == "fixed" else ""
                done = ev.WorkRescued(at, *key) if effect.rescue else ev.WorkCollected(at, *key, claim, head=head)
                self.tell(done)
            case Verify():
                for key in effect.keys:
                    outcome = self._outcome(key.batch, key.job) or "fixed"
                    self.tell(ev.WorkVerified(at, *key, outcome=outcome, failed_before=self.failed_before))
            case Clear():
                self.tell(ev.ClearingEnded(at))
            case Release():
                self.tell(ev.AgentReleased(at, *effect.attempt.key))
            case Integrate() if self.needs_judgement:
                self.needs_judgement = False
                self.tell(ev.JudgementWanted(at, effect.batch, effect.number, why="2 conflicts"))
            case IntegrateSoFar():
                branch = f"supervisor/{effect.batch}"
                merged = len(effect.jobs)
                ended = ev.PartialEnded(
                    at, effect.batch, effect.number, branch, problems=self.problems, merged=merged
                )
                self.tell(ended)
            case Integrate():
                self.tell(self._integrated(effect, at))
            case _:
                self._else(effect)

    def _integrated(self, effect: Integrate, at: float) -> ev.IntegrationEnded:
        jobs = range(1, len(self.batch(effect.batch).tests) + 1)
        return ev.IntegrationEnded(
            at,
            effect.batch,
            effect.number,
            ledger={number: LedgerRow(Fate.MERGED, commits=self.merged.get(number, ())) for number in jobs},
            branch=f"supervisor/{effect.batch}",
            problems=self.problems,
            head=self.branch_head,
        )

    def _else(self, effect: Effect) -> None:
        if self.otherwise_asked is not None:
            self.otherwise_asked(effect)

    def _end(self, effect: Launch, at: float) -> None:
        key = effect.attempt.key
        if self._outcome(key.batch, key.job):
            self.tell(ev.WorkPublished(at, *key))

    def _outcome(self, batch: str, job: int) -> str:
        return self.outcomes.get(self.batch(batch).tests[job - 1], self.otherwise)


class FullDisk(MemoryJournal):
    """Takes nothing any more once it is full."""

    is_full = False

    async def append(self, events: Sequence[ev.Event], sealed: Sequence[SealedBatch] = ()) -> int:
        if self.is_full:
            raise DeviceFailed("the journal can't be written: no space left on device", hint="make room on its disk")
        return await super().append(events, sealed)


@dataclass
class Served:
    socket: Path
    repo: Path
    loop: Loop
    journal: FullDisk
    desk: Desk
    player: Player

    @property
    def client(self) -> Client:
        return Client(self.socket)

    async def call[T](self, call: Callable[[Client], T]) -> T:
        """The client blocks, as it does for a person."""
        return await asyncio.to_thread(call, self.client)

    async def submit(self, *tests: str, **more: object) -> str:
        body = {"repo": str(self.repo), "base": git(self.repo, "rev-parse", "HEAD"), "tests": list(tests), **more}
        answer = await self.call(lambda client: client.post("/v1/submit", body))
        return str(answer["batch"])

    async def finish(self, batch: str) -> None:
        """Let all agents that work come to their end."""
        for attempt in list(self.loop.state.attempts.values()):
            if attempt.key.batch == batch:
                self.loop.inbox.tell(ev.WorkPublished(self.desk.clock(), *attempt.key))


def a_repo(home: Path, files: Mapping[str, str] | None = None) -> Path:
    repo = home / "target"
    repo.mkdir()
    git(repo, "init", "-q", "-b", "main")
    commit(repo, "first", README__md="a target\n")
    for name, text in (files or {"tests/test_it.py": TESTS}).items():
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text(text)
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", "tests")
    return repo


TESTS = """\
import pytest

def test_one():
    pass

@pytest.mark.parametrize("word", ["a b", "c"])
def test_two(word):
    pass
"""


@asynccontextmanager
async def served(home: Path, *, otherwise: str = "", slots: int = 4) -> AsyncIterator[Served]:
    async with beside() as tasks:
        (home / "state").mkdir(exist_ok=True)
        logs = AgentLogs(Layout(home / "state"), MemoryAgents(home), Redactor(), Panes({}), tasks)
        try:
            async with _served(home, logs, tasks, otherwise, slots) as api:
                yield api
        finally:
            await logs.close()


@asynccontextmanager
async def _served(home: Path, logs: AgentLogs, tasks: TaskGroup, otherwise: str, slots: int) -> AsyncIterator[Served]:
    config = home / "config.toml"
    config.write_text(CONFIG + f'[[pools]]\nname = "local"\nslots = {slots}\n')
    settings = load(config)
    journal = FullDisk()
    stream = Stream(journal, lambda: loop.caught_up())
    loop: Loop
    player = Player(
        lambda event: loop.inbox.tell(event), lambda batch: loop.state.batches[batch], otherwise=otherwise
    )
    loop = Loop(State(journal.installation), journal, lambda: desk.clock(), player.perform, seal)
    loop.watch(stream.notify)

    async def reload() -> bool:
        return bool(await loop.inbox.ask(Configure(pool_specs(load(config)))))

    desk = Desk(
        state=lambda: loop.state,
        ask=loop.inbox.ask,
        journal=journal,
        store=GitStore(home / "state"),
        stream=stream,
        logs=logs,
        files=lambda: KeptFiles(Layout(home / "state"), Redactor()),
        recordings=lambda: KeptRecordings(Layout(home / "state"), Redactor()),
        profile=lambda name: resolve(settings, name),
        reload=reload,
        known=KnownCode(Layout(home / "state")),
        facts={"version": "0", "state_dir": str(home / "state")},
        invite=lambda author: {"token": "once", "reader_token": "often", "port": 8600, "socket": f"{home}/ctl.web"},
    )
    socket = home / "ctl.sock"
    tasks.start_soon(loop.run)
    await loop.inbox.ask(Configure(pool_specs(settings)))
    async with serving(desk, socket):
        yield Served(socket, a_repo(home), loop, journal, desk, player)
