"""The whole daemon in this process, on the real mngr, in a directory that leaves nothing behind."""

import asyncio
import shutil
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import msgspec

from supervisor.adapters.private_tmux import PrivateTmux
from supervisor.boot import daemon, opened
from supervisor.daemon.service import Daemon, Devices
from supervisor.model.attempt import Attempt, Stage
from supervisor.model.event import Event
from supervisor.model.profile import Profile
from supervisor.model.request import Submit
from supervisor.model.state import State
from supervisor.rehearsal.generate import generate
from supervisor.settings import Settings
from supervisor.tasks import beside
from tests.below import end_below
from tests.waiting import until
from tests.zygote import mngr

AGENT = Path(__file__).with_name("agent")


@dataclass
class Sandbox:
    """A build box that outlives its daemons."""

    folder: Path
    jobs: int = 2
    slots: int = 10
    settings: dict[str, Any] = field(default_factory=dict)
    profile: dict[str, Any] = field(default_factory=dict)

    @property
    def lives(self) -> Path:
        return self.folder / "lives"

    @property
    def configuration(self) -> Settings:
        return Settings.model_validate(
            {
                "state_dir": self.folder / "state",
                "socket": self.folder / "ctl.sock",
                "pools": [{"name": "local", "slots": self.slots}],
                **self.settings,
                "mngr": {"command": str(mngr()), **self.settings.get("mngr", {})},
            }
        )

    @property
    def tmux(self) -> PrivateTmux:
        """The server that its agents live in."""
        return PrivateTmux.below(self.folder / "state" / "tmux")

    def work(self) -> tuple[tuple[str, ...], Profile]:
        tests = tuple(f"tests/test_from_{n // 25 * 25:05}.py::test_{n:05}" for n in range(self.jobs))
        env = {"LIVES": str(self.lives), **self.profile.get("env", {})}
        plain: dict[str, Any] = {
            "agent": "command",
            "command": [str(AGENT)],
            "pytest": [sys.executable, "-c", "pass"],
        }
        plain |= {
            "keep_agents": "none",
            "verify_runs": 0,
            "integrator": False,
        }  # a program that always passes proves nothing
        return tests, msgspec.convert({**plain, **self.profile, "env": env}, Profile)


@dataclass
class Running:
    """A daemon that runs, and what it has written down since."""

    box: Sandbox
    daemon: Daemon
    devices: Devices
    events: list[Event] = field(default_factory=list)

    @property
    def state(self) -> State:
        return self.daemon.loop.state

    def live(self) -> list[Attempt]:
        return [attempt for attempt in self.state.attempts.values() if attempt.stage is Stage.LIVE]

    async def submit(self, batch: str = "batch", repo: Path | None = None) -> None:
        repo = repo or self.box.folder / "repo"
        facts = await self.devices.store.inspect(repo)
        await self.devices.store.snapshot(repo, facts.head_sha, batch)
        tests, profile = self.box.work()
        await self.daemon.loop.inbox.ask(Submit(batch, str(repo), facts.head_sha, tests, profile))

    async def finished(self, batch: str = "batch", timeout: float = 90) -> None:
        await until(f"{batch} is finished", lambda: batch not in self.state.batches, timeout)

    def of(self, *kinds: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kinds)]


@asynccontextmanager
async def box(folder: Path, **options: Any) -> AsyncIterator[Sandbox]:
    """Its repository, and at the end neither agents nor files."""
    made = Sandbox(folder, **options)
    await asyncio.to_thread(generate, folder / "repo", made.jobs)
    made.lives.touch()
    try:
        yield made
    finally:
        await asyncio.to_thread(made.tmux.end)
        await asyncio.to_thread(end_below, folder)
        await asyncio.to_thread(shutil.rmtree, folder, True)


@asynccontextmanager
async def running(
    made: Sandbox,
    change: Callable[[Devices], Devices] = lambda devices: devices,
    *,
    accept_older: bool = False,
    clock: Callable[[], float] = time.time,
) -> AsyncIterator[Running]:
    """The daemon, from its start to its detaching."""
    async with opened(made.configuration, accept_older=accept_older) as devices:
        devices = change(devices)
        supervisor = daemon(made.configuration, devices, clock)
        ended = anyio.Event()

        async def run() -> None:
            await supervisor.run()
            ended.set()

        async with beside() as tasks:
            tasks.start_soon(run)
            await supervisor.ready.wait()
            here = Running(made, supervisor, devices)

            def note(state: State, events: Iterable[Event]) -> None:
                here.events.extend(events)

            supervisor.loop.watch(note)
            try:
                yield here
            finally:
                supervisor.stop()
                await ended.wait()
