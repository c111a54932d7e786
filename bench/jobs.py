"""Batches of scripted agents on the real mngr: how does a whole run compare with its floor?

    python -m bench.jobs [--jobs 100] [--slots 10] [--work 5] [--verify-runs 0]

The floor is the time of a perfect scheduler: (work + 1 s to start, run pytest, commit and pack) x jobs / slots.
CPU time depends on the machine and its load, so the cost of mngr alone is shown next to it: an agent created and
destroyed by plain calls, as without a fork server (2 s on the machine for which the limit of 0.4 was set).
"""

import argparse
import asyncio
import logging
import os
import resource
import shutil
import statistics
import sys
import tempfile
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import structlog

from bench.lateness import loop_lags
from supervisor.adapters.mngr import open_agents
from supervisor.adapters.private_tmux import PrivateTmux, leave_the_users_tmux
from supervisor.boot import daemon, mngr_settings, opened
from supervisor.model.event import BatchFinished, Event, JobEnded, LaunchStarted, WorkCollected, WorkPublished
from supervisor.model.profile import Profile
from supervisor.model.request import Submit
from supervisor.model.state import State
from supervisor.ports import AgentOrder, Place
from supervisor.rehearsal.generate import generate
from supervisor.settings import Settings

AGENT = Path(__file__).with_name("agent")
BATCH = "bench"


def cpu_seconds() -> float:
    """CPU seconds of this process and its ended children, without agents, which are the tmux server's children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def resident_megabytes() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


@dataclass
class Run:
    """One batch and its measurements."""

    folder: Path
    jobs: int
    slots: int
    work: float
    verify_runs: int = 0
    events: list[Event] = field(default_factory=list)
    finished: asyncio.Event = field(default_factory=asyncio.Event)
    peak: float = 0.0
    cpu: float = 0.0
    plain: float = 0.0
    lags: list[float] = field(default_factory=list)

    @property
    def settings(self) -> Settings:
        pools = [{"name": "local", "slots": self.slots}]
        return Settings.model_validate(
            {"state_dir": self.folder / "state", "socket": self.folder / "ctl.sock", "pools": pools}
        )

    @property
    def profile(self) -> Profile:
        return Profile(
            agent="command",
            command=(str(AGENT),),
            pytest=(sys.executable, "-m", "pytest", "-q"),
            env={"BENCH_WORK_SECONDS": f"{self.work:g}", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            verify_runs=self.verify_runs,
            integrator=False,
        )

    def note(self, state: State, events: Iterable[Event]) -> None:
        for event in events:
            self.events.append(event)
            if isinstance(event, BatchFinished):
                self.finished.set()

    async def source(self) -> tuple[Path, tuple[str, ...]]:
        """The repository, and its tests."""
        repo = self.folder / "repo"
        await asyncio.to_thread(generate, repo, self.jobs)
        return repo, tuple(f"tests/test_from_{n // 25 * 25:05}.py::test_{n:05}" for n in range(self.jobs))

    async def go(self) -> None:
        try:
            await self._go()
        finally:
            for tmux in self.folder.glob("*/tmux"):
                PrivateTmux.below(tmux).end()

    async def _go(self) -> None:
        repo, tests = await self.source()
        before = cpu_seconds()
        async with opened(self.settings) as devices:
            supervisor = daemon(self.settings, devices)
            running = asyncio.create_task(supervisor.run())
            await supervisor.ready.wait()
            supervisor.loop.watch(self.note)
            facts = await devices.store.inspect(repo)
            await devices.store.snapshot(repo, facts.head_sha, BATCH)
            await supervisor.loop.inbox.ask(Submit(BATCH, str(repo), facts.head_sha, tests, self.profile))
            await self._watched(running)
            supervisor.stop()
            await running
        self.cpu = cpu_seconds() - before
        await self._plainly(repo)

    async def _plainly(self, repo: Path) -> None:
        """The two calls that every supervisor needs, each as a process."""
        plain = self.settings.model_copy(update={"state_dir": self.folder / "plain"})
        agents = await open_agents(replace(mngr_settings(plain), warm=False))
        await agents.facts()
        before = cpu_seconds()
        here, sleeper = Place("local", "", False), ("sleep", "600")
        order = AgentOrder(f"agent-{uuid.uuid4().hex}", "plain", here, "command", sleeper, repo, "main", "plain")
        await agents.destroy([await agents.create(order)])
        self.plain = cpu_seconds() - before
        await agents.close()

    async def _watched(self, running: asyncio.Task[None]) -> None:
        done = asyncio.create_task(self.finished.wait())
        lateness = asyncio.create_task(loop_lags(self.lags, 0.1))
        while not done.done() and not running.done():
            await asyncio.wait([done, running], timeout=0.5, return_when=asyncio.FIRST_COMPLETED)
            self.peak = max(self.peak, resident_megabytes())
        done.cancel()
        lateness.cancel()
        self.lags.sort()

    def found(self) -> Iterator[tuple[str, float, str]]:
        """Each figure with its target or floor."""
        published = {e.job: e.at for e in self.events if isinstance(e, WorkPublished)}
        collected = {e.job: e.at for e in self.events if isinstance(e, WorkCollected)}
        waits = sorted(at - published[job] for job, at in collected.items())
        launched = [e.at for e in self.events if isinstance(e, LaunchStarted)]
        seconds, floor = max(collected.values()) - min(launched), (self.work + 1) * self.jobs / self.slots
        yield "collected", len(collected), f"of {self.jobs} jobs, by {len(launched)} launches"
        ended = [e.at for e in self.events if isinstance(e, JobEnded)]
        yield "first launch to last end, s", max(ended) - min(launched), f"with verify_runs = {self.verify_runs}"
        yield "first launch to last collection, s", seconds, f"{seconds / floor:.2f} times the floor of {floor:.0f} s"
        yield "published to collected p50, s", statistics.median(waits), "at most 0.5"
        yield "published to collected p99, s", waits[int(len(waits) * 0.99) - 1], "at most 2"
        yield "CPU of orchestration per job, s", self.cpu / self.jobs, "at most 0.4"
        yield "CPU of the same by plain calls, s", self.plain, f"{self.plain / self.cpu * self.jobs:.1f} times ours"
        yield "maximum resident size, MB", self.peak, "under 120"
        yield "lag of the event loop p99, ms", self.lags[int(len(self.lags) * 0.99) - 1] * 1000, "under 50"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=100)
    parser.add_argument("--slots", type=int, default=10)
    parser.add_argument("--work", type=float, default=5)
    parser.add_argument("--verify-runs", type=int, default=0)
    options = parser.parse_args()
    leave_the_users_tmux()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    folder = Path(tempfile.mkdtemp(prefix="sv-bench-", dir="/tmp"))
    try:
        run = Run(folder, options.jobs, options.slots, options.work, options.verify_runs)
        asyncio.run(run.go())
        for name, value, beside in run.found():
            print(f"{name:>36}  {value:8.2f}   {beside}", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
