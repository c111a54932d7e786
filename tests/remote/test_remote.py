"""Pools on remote hosts: the real mngr's ssh provider, against an sshd on loopback."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from supervisor.model import event as ev
from supervisor.observe.snapshot import queue
from tests.daemon.sandbox import Running, Sandbox, box, running
from tests.lives import Life, lives
from tests.remote.sshd import PROVIDER, Box, boxes
from tests.waiting import until

pytestmark = [pytest.mark.real, pytest.mark.timeout(400)]

#: A call to a host takes a second or two, and more on a busy machine.
PATIENCE_SECONDS = 180.0


@asynccontextmanager
async def far(
    folder: Path, *, jobs: int, slots: int = 4, local: int = 0, mngr: dict[str, Any] | None = None, **env: str
) -> AsyncIterator[tuple[Sandbox, list[Box]]]:
    """A build box with two ssh hosts, and maybe slots of its own for the overflow."""
    settings = {
        "mngr": mngr or {"list_seconds": 2},
        "pools": [
            {"name": "remote", "provider": PROVIDER, "hosts": ["box1", "box2"], "slots": slots},
            {"name": "local", "slots": local},
        ],
    }
    profile: dict[str, Any] = {"pools": ["remote", "local"], "integrator": False, "env": env}
    async with box(folder, jobs=jobs, settings=settings, profile=profile) as made:
        with boxes(folder / "ssh", made.configuration.mngr_home, "box1", "box2") as hosts:
            yield made, hosts


async def finished(here: Running) -> None:
    await here.finished(timeout=PATIENCE_SECONDS)


def outcomes(here: Running) -> list[str]:
    return [event.outcome for event in here.of(ev.JobEnded)]


async def test_a_batch_ends_as_it_does_at_home(tmp_path: Path) -> None:
    """Agents are spread evenly over the hosts, their work comes home, and nothing of them stays there."""
    async with far(tmp_path, jobs=4) as (made, hosts), running(made) as here:
        await here.submit()
        await finished(here)

        assert outcomes(here) == ["improved"] * 4
        assert Counter(event.host for event in here.of(ev.LaunchStarted)) == {"box1": 2, "box2": 2}
        assert all(event.commits == 1 and event.head for event in here.of(ev.WorkCollected))
        assert not [left for host in hosts for left in host.state_dirs()]


@pytest.mark.proof
async def test_what_the_hosts_do_not_carry_overflows_to_this_machine(tmp_path: Path) -> None:
    async with far(tmp_path, jobs=8, slots=2, local=2, WORK_SECONDS="3") as (made, _), running(made) as here:
        await here.submit()
        await finished(here)

        assert outcomes(here) == ["improved"] * 8
        assert {event.pool for event in here.of(ev.LaunchStarted)} == {"remote", "local"}
        assert len(here.of(ev.LaunchStarted)) == 8


@pytest.mark.proof
async def test_an_agent_that_dies_far_away_is_rescued_there(tmp_path: Path) -> None:
    """The listing misses it; its uncommitted work is brought home, and the next attempt does the job."""
    async with far(tmp_path, jobs=1, DIES="1") as (made, _), running(made) as here:
        await here.submit()
        await finished(here)

        [rescued] = here.of(ev.WorkRescued)
        assert (rescued.attempt, rescued.commits) == (1, 2)
        [collected] = here.of(ev.WorkCollected)
        assert collected.attempt == 2
        assert outcomes(here) == ["improved"]


@pytest.mark.proof
async def test_a_restart_finds_its_agents_far_away(tmp_path: Path) -> None:
    async with far(tmp_path, jobs=2, WORK_SECONDS="20") as (made, _):
        async with running(made) as here:
            await here.submit()
            await until("both work", lambda: len(here.live()) == len(lives(made.lives)) == 2, PATIENCE_SECONDS)
        before = lives(made.lives)
        assert all(map(Life.is_alive, before))

        async with running(made) as again:
            assert len(again.live()) == 2
            await finished(again)

            assert outcomes(again) == ["improved"] * 2
            assert lives(made.lives) == before


async def test_hosts_that_cannot_be_reached(tmp_path: Path) -> None:
    """Their agents are unknown, not lost; work goes on here, people are told, and in the end nothing is missing."""
    async with far(tmp_path, jobs=6, slots=2, local=2, WORK_SECONDS="5") as (made, hosts), running(made) as here:
        await here.submit()
        await until("two work far away", lambda: far_away(here) == 2, PATIENCE_SECONDS)
        for host in hosts:
            await asyncio.to_thread(host.stop)
        await until("people are told", lambda: "can't be reached" in here.daemon.watch.problems.get(PROVIDER, ""), 60)
        [told] = [entry for entry in attention(here) if entry["kind"] == "provider"]
        assert told["provider"] == PROVIDER
        await until("all others are done", lambda: len(here.of(ev.JobEnded)) == 4, PATIENCE_SECONDS)
        assert far_away(here) == 2

        for host in hosts:
            await asyncio.to_thread(host.start)
        await finished(here)

        assert outcomes(here) == ["improved"] * 6
        assert not here.of(ev.AgentVanished, ev.OrphanDestroyed)
        assert not [event for event in here.of(ev.JobRequeued) if event.counts]
        assert not here.daemon.watch.problems


@pytest.mark.proof
async def test_hosts_that_go_away_while_agents_are_made_there(tmp_path: Path) -> None:
    """Nobody knows how far it got: what is there is put away before the job goes again, and no job fails of it."""
    async with far(tmp_path, jobs=4, WORK_SECONDS="3") as (made, hosts), running(made) as here:
        await here.submit()
        await until("agents are being made", lambda: any(projects(host) for host in hosts), PATIENCE_SECONDS)
        for host in hosts:
            await asyncio.to_thread(host.stop)
        await until("a launch has failed", lambda: here.of(ev.LaunchFailed), PATIENCE_SECONDS)
        for host in hosts:
            await asyncio.to_thread(host.start)
        await finished(here)

        assert not [event for event in here.of(ev.LaunchFailed) if event.reason == "refused"]
        assert outcomes(here) == ["improved"] * 4
        assert not [event for event in here.of(ev.JobRequeued) if event.counts]
        assert "double" not in made.lives.read_text()
        assert not [left for host in hosts for left in host.state_dirs()]


@pytest.mark.proof
async def test_one_host_down_does_not_blind_the_other(tmp_path: Path) -> None:
    """mngr lists a provider's hosts together or not at all; what is published is seen all the same."""
    async with far(tmp_path, jobs=2, WORK_SECONDS="15") as (made, hosts), running(made) as here:
        await here.submit()
        await until("both work", lambda: far_away(here) == 2, PATIENCE_SECONDS)
        [there] = [attempt.key.job for attempt in here.live() if attempt.host == "box2"]
        await asyncio.to_thread(hosts[0].stop)
        await until("box2's is seen", lambda: [e.job for e in here.of(ev.WorkPublished)] == [there], PATIENCE_SECONDS)
        assert here.daemon.watch.problems

        await asyncio.to_thread(hosts[0].start)
        await finished(here)

        assert outcomes(here) == ["improved"] * 2
        assert len(here.of(ev.LaunchStarted)) == 2


def far_away(here: Running) -> int:
    return sum(attempt.provider == PROVIDER for attempt in here.live())


def projects(host: Box) -> list[Path]:
    """The work directories that mngr has made there."""
    return list((host.folder / "host" / "projects").glob("*"))


def attention(here: Running) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = queue(here.state, time.time(), here.daemon.watch.problems)["attention"]
    return found
