"""A thousand agents on other hosts: what does the build box pay for each, and how soon is work brought home?

    python -m bench.agents [--agents 100 1000] [--hosts 20] [--seconds 70] [--life 300]

The daemon is the real one. Agents are folders that `bench/far_mngr` makes, and no processes: each publishes once in
`--life` seconds, and another one follows it. Measured: the daemon's own processor time, memory and descriptors, its
calls of mngr, and the time from a publication to its collection. Calls take as long as those of mngr do (they
sleep), but for the creates of the beginning. What mngr itself takes is not burnt but modelled: the number of calls
by what each takes from a warm mngr of 0.3.0, and 35 ms for each agent that is listed. That is what an agent on this
machine takes; for hosts behind ssh it is an upper bound. While all hosts answer, a listing falls due every 300 s: a
shorter run sees none. Commands on hosts are run here, and count for nobody.
"""

import argparse
import asyncio
import io
import logging
import random
import resource
import shutil
import tarfile
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from bench.jobs import resident_megabytes
from bench.lateness import loop_lags
from supervisor.adapters.layout import PUBLISHED
from supervisor.boot import daemon, opened
from supervisor.model.attempt import Attempt, Stage
from supervisor.model.event import Event, WorkCollected, WorkPublished
from supervisor.model.profile import Profile
from supervisor.model.request import Submit
from supervisor.model.state import State
from supervisor.rehearsal.generate import generate
from supervisor.settings import Settings

MNGR = Path(__file__).with_name("far_mngr")
BATCH, PROVIDER = "bench", "far"
#: processor seconds of a call to a warm mngr, and for each agent that it is about; a plain one where it streams
COSTS = {
    "list": (0.13, 0.035),
    "exec": (0.05, 0.0),
    "watch": (0.05, 0.0),
    "rsync": (0.34, 0.0),
    "create": (0.19, 0.0),
    "destroy": (0.05, 0.08),
    "event": (1.0, 0.0),
    "follow": (1.0, 0.0),
    "observe": (0.7, 0.0),
}
#: of each process that stays: a follower or an observer is a whole mngr, a call under way a fork of the warm one
PLAIN_MEGABYTES, FORK_MEGABYTES = 100, 30

#: all programs run, wherever one looks
TMUX = '#!/bin/sh\nfor agent in agent-*; do echo "$agent 1 0"; done\n'


def descriptors() -> int:
    return len([*Path("/proc/self/fd").iterdir()])


def megabytes_of_calls() -> int:
    """What the calls under way would hold: those that stream have become `sleep`, see `far_mngr`."""
    told = [each.read_text().split() for each in Path("/proc/self/task").glob("*/children")]
    total = 0
    for pid in [pid for pids in told for pid in pids]:
        with suppress(OSError):
            streams = Path(f"/proc/{pid}/comm").read_text().strip() == "sleep"
            total += PLAIN_MEGABYTES if streams else FORK_MEGABYTES
    return total


def publication() -> bytes:
    """Of an agent that found nothing to change."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, text in (("outcome.json", b'{"schema_version": 1, "changes": {}}'), ("meta.json", b"{}")):
            member = tarfile.TarInfo(name)
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text))
    return packed.getvalue()


@dataclass
class Fleet:
    """Some agents, and their measurements."""

    folder: Path
    agents: int
    hosts: int
    seconds: float
    life: float
    state: State | None = None
    lags: list[float] = field(default_factory=list)
    _filled: asyncio.Event = field(default_factory=asyncio.Event)
    #: by agent's job: when its publication was there, was noticed, and was collected
    published: dict[int, float] = field(default_factory=dict)
    noticed: dict[int, float] = field(default_factory=dict)
    collected: dict[int, float] = field(default_factory=dict)
    cpu: float = 0.0
    wall: float = 0.0
    ended: float = 0.0
    filling: float = 0.0
    megabytes: float = 0.0
    descriptors: int = 0
    mngrs: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    modelled: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    @property
    def settings(self) -> Settings:
        names = [f"box{number}" for number in range(self.hosts)]
        pools = [{"name": "far", "provider": PROVIDER, "hosts": names, "slots": self.agents}]
        mngr = {"command": str(MNGR), "warm": False}
        given = {"state_dir": self.folder / "state", "socket": self.folder / "ctl.sock", "pools": pools, "mngr": mngr}
        return Settings.model_validate(given)

    @property
    def far(self) -> Path:
        return self.settings.mngr_home / ".mngr" / "far"

    def note(self, state: State, events: Iterable[Event]) -> None:
        self.state = state
        if len(self.live) >= self.agents:
            self._filled.set()
        for event in events:
            if isinstance(event, WorkPublished):
                self.noticed[event.job] = time.time()
            elif isinstance(event, WorkCollected):
                self.collected[event.job] = time.time()

    @property
    def live(self) -> list[Attempt]:
        attempts = self.state.attempts.values() if self.state is not None else ()
        return [attempt for attempt in attempts if attempt.stage is Stage.LIVE]

    async def go(self) -> None:
        (self.far / "bin").mkdir(parents=True)
        (self.far / "bin" / "tmux").write_text(TMUX)
        (self.far / "bin" / "tmux").chmod(0o755)
        repo, spare = self.folder / "repo", int(self.agents * self.seconds / self.life) + 4
        jobs = self.agents + spare
        await asyncio.to_thread(generate, repo, jobs)
        async with opened(self.settings) as devices:
            supervisor = daemon(self.settings, devices)
            running = asyncio.create_task(supervisor.run())
            await supervisor.ready.wait()
            supervisor.loop.watch(self.note)
            base = (await devices.store.inspect(repo)).head_sha
            await devices.store.snapshot(repo, base, BATCH)
            tests = tuple(f"tests/test_from_{n // 25 * 25:05}.py::test_{n:05}" for n in range(jobs))
            profile = Profile(agent="command", command=("x",), pools=("far",), verify_runs=0, integrator=False)
            began = time.monotonic()
            await supervisor.loop.inbox.ask(Submit(BATCH, str(repo), base, tests, profile))
            await self._filled.wait()
            self.filling = time.monotonic() - began
            await self._measured()
            supervisor.stop()
            await running

    async def _measured(self) -> None:
        (self.far / "begun").touch()
        (self.far / "calls").write_text("")
        publishing = asyncio.create_task(self._publish())
        lateness = asyncio.create_task(loop_lags(self.lags, 0.1))
        used, began = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
        while time.monotonic() - began < self.seconds:
            await asyncio.sleep(0.5)
            self.megabytes = max(self.megabytes, resident_megabytes())
            self.mngrs = max(self.mngrs, megabytes_of_calls())
            self.descriptors = max(self.descriptors, descriptors())
        now = resource.getrusage(resource.RUSAGE_SELF)
        self.cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
        self.wall, self.ended = time.monotonic() - began, time.time()
        for task in (publishing, lateness):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        for line in (self.far / "calls").read_text().splitlines():
            verb, about = line.split()
            self.calls[verb] += 1
            fixed, each = COSTS.get(verb, (0.3, 0.0))
            self.modelled[verb] += fixed + each * int(about)

    async def _publish(self) -> None:
        """As many a second as there are agents in a life, at random moments, of agents in random order."""
        order, packed = random.Random(7), publication()
        while True:
            await asyncio.sleep(order.expovariate(self.agents / self.life))
            waiting = [attempt for attempt in self.live if attempt.key.job not in self.published]
            if not waiting:
                continue
            chosen = order.choice(waiting)
            place = self.far / chosen.host / "agents" / chosen.agent_id / PUBLISHED
            place.with_suffix(".partial").write_bytes(packed)
            place.with_suffix(".partial").rename(place)
            self.published[chosen.key.job] = time.time()

    def found(self) -> Iterator[tuple[str, str, str]]:
        share = self.agents * self.wall / 3600
        hourly = 3600 / self.wall
        own, model = self.cpu / share, sum(self.modelled.values()) / share
        lists = self.calls["list"]
        yield "CPU of the daemon, s per agent and hour", f"{own:.2f}", "measured"
        yield "CPU of mngr's calls, s per agent and hour", f"{model:.1f}", "modelled"
        yield "  of it listings", f"{self.modelled['list'] / share:.1f}", "modelled"
        yield "listings per hour", f"{lists * hourly:.0f}", "measured; 12 are due while all hosts answer"
        yield "calls per publication", f"{self.calls.total() / max(1, len(self.published)):.1f}", "measured"
        yield "memory of the daemon, MB", f"{self.megabytes:.0f}", "measured"
        yield "memory of mngr's calls at most, MB", f"{self.mngrs}", "modelled"
        yield "descriptors", f"{self.descriptors}", "measured"
        yield "lag of the event loop p99, ms", f"{1000 * at(self.lags, 0.99):.0f}", "measured"
        yield "publications / collected", f"{len(self.published)} / {len(self.collected)}", "measured"
        for name, ends in (("noticed", self.noticed), ("collected", self.collected)):
            waits = [ends.get(job, self.ended) - since for job, since in self.published.items()]
            yield f"published to {name} p50, s", f"{at(waits, 0.5):.1f}", "measured; at least, for what still waits"
            yield f"published to {name} p99, s", f"{at(waits, 0.99):.1f}", "measured; the same"
        yield "time to launch them all, s", f"{self.filling:.0f}", "no host, no model"
        yield "calls", " ".join(f"{verb}:{count}" for verb, count in sorted(self.calls.items())), ""


def at(values: Iterable[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else -1.0


def measured(agents: int, hosts: int, seconds: float, life: float) -> Fleet:
    folder = Path(tempfile.mkdtemp(prefix="sv-agents-", dir="/tmp"))
    try:
        fleet = Fleet(folder, agents, hosts, seconds, life)
        asyncio.run(fleet.go())
        return fleet
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agents", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--hosts", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=70)
    parser.add_argument("--life", type=float, default=300)
    options = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    fleets = [measured(agents, options.hosts, options.seconds, options.life) for agents in options.agents]
    print(f"{'agents':>44}  " + "".join(f"{fleet.agents:>12}" for fleet in fleets))
    for rows in zip(*(fleet.found() for fleet in fleets), strict=True):
        if (name := rows[0][0]) != "calls":
            print(f"{name:>44}  " + "".join(f"{value:>12}" for _, value, _ in rows) + f"   {rows[0][2]}", flush=True)
        else:
            for fleet, (_, value, _) in zip(fleets, rows, strict=True):
                print(f"{f'calls at {fleet.agents}':>44}  {value}", flush=True)


if __name__ == "__main__":
    main()
