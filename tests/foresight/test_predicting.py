"""The replay beside what happens: real agents on the real mngr."""

import asyncio
import sys
from pathlib import Path

import pytest

from supervisor.cli.collecting import collect
from supervisor.foresight.recording import record
from supervisor.foresight.replay import Other, Replayed, replay
from supervisor.model import event as ev
from supervisor.model.request import SetSlots, Submit
from supervisor.rehearsal import lay_out
from tests.daemon.sandbox import Running, box, running

pytestmark = pytest.mark.real

#: of the plugins that happen to be installed here, none
ALONE = ("env", "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1")

INSTANT_SECONDS = 0.1


def of(here: Running, batch: str) -> list[ev.Event]:
    return [event for event in here.events if not isinstance(event, ev.BatchEvent) or event.batch == batch]


def check_order(found: Replayed, happened: list[ev.Event]) -> None:
    """Two launches whose slots fell free in the same instant have no order."""
    at_once: list[set[tuple[int, int]]] = []
    before = 0.0
    for event in happened:
        if isinstance(event, ev.LaunchStarted):
            if event.at > before + INSTANT_SECONDS:
                at_once.append(set())
            at_once[-1].add((event.job, event.attempt))
            before = event.at
    again = iter((each.job, each.attempt) for each in found.launches)
    assert [{next(again) for _ in each} for each in at_once] == at_once
    assert not list(again)


def replayed(here: Running, batch: str, other: Other, slots: int) -> Replayed:
    recording, state = record(of(here, batch)), here.state
    assert recording is not None
    specs = tuple(ev.PoolSpec(each.name, each.provider, slots) for each in state.configured)
    return replay(recording, ev.PoolsConfigured(0.0, specs, state.verifying.slots), other)


def seconds(events: list[ev.Event]) -> float:
    began = next(event.at for event in events if isinstance(event, ev.BatchSubmitted))
    return next(event.at for event in events if isinstance(event, ev.BatchFinished)) - began


async def test_under_the_same_settings_the_same_launches_in_the_same_order(tmp_path: Path) -> None:
    """Each job is launched twice, because its first agent dies."""
    profile = {"env": {"DIES": "1", "WORK_SECONDS": "0.2"}, "breaker_jobs": 0}
    async with box(tmp_path, jobs=5, slots=2, profile=profile) as made, running(made) as here:
        await here.submit()
        await here.finished()
        happened = of(here, "batch")
        found = replayed(here, "batch", Other(), 2)
        check_order(found, happened)
        assert len(found.launches) == 10
        assert found.guessed == 0
        assert found.ended is not None
        assert abs(found.ended - found.began - seconds(happened)) < 0.05 * seconds(happened)


@pytest.mark.proof
@pytest.mark.timeout(600)
async def test_under_double_slots_it_ends_when_it_is_said_to(tmp_path: Path) -> None:
    profile = {"env": {"WORK_SECONDS": "15"}}
    async with box(tmp_path, jobs=16, slots=2, profile=profile) as made, running(made) as here:
        await here.submit("slow")
        await here.finished("slow", 400)
        found = replayed(here, "slow", Other(slots={"local": 4}), 2)
        assert found.ended is not None
        await here.daemon.loop.inbox.ask(SetSlots("local", 4))
        await here.submit("fast")
        await here.finished("fast", 300)
        predicted, took = found.ended - found.began, seconds(of(here, "fast"))
    print(f"with 2 slots {seconds(of(here, 'slow')):.1f} s; with 4 predicted {predicted:.1f} s, took {took:.1f} s")
    assert abs(predicted - took) < 0.1 * took


@pytest.mark.proof
@pytest.mark.timeout(1800)
async def test_the_rehearsal_is_replayed_in_the_order_of_its_launches(tmp_path: Path) -> None:
    """Its agents fix, improve, die, stall, publish rubbish and run out of time, and one merges their work."""
    pytest_there = (*ALONE, sys.executable, "-m", "pytest", "-q", "-p", "supervisor.e2e.plugin")
    profile = {"agent": "rehearsal", "command": [], "pytest": pytest_there, "verify_runs": 2, "integrator": True}
    profile |= {"job_timeout_seconds": 90, "stall_timeout_seconds": 30, "test_timeout_seconds": 60, "breaker_jobs": 0}
    async with box(tmp_path, jobs=1, slots=6, profile=profile) as made:
        repo = tmp_path / "pantry"
        await asyncio.to_thread(lay_out, repo)
        found = await asyncio.to_thread(collect, repo, pytest_there, ["tests/e2e"], "function", timeout=100)
        async with running(made) as here:
            facts = await here.devices.store.inspect(repo)
            await here.devices.store.snapshot(repo, facts.head_sha, "batch")
            submit = Submit("batch", str(repo), facts.head_sha, tuple(found.tests), made.work()[1])
            await here.daemon.loop.inbox.ask(submit)
            await here.finished(timeout=1600)
            happened = of(here, "batch")
            again = replayed(here, "batch", Other(), 6)
    assert again.ended is not None
    predicted, took = again.ended - again.began, seconds(happened)
    print(f"{len(again.launches)} launches; predicted {predicted:.1f} s, took {took:.1f} s")
    check_order(again, happened)
    assert abs(predicted - took) < 0.02 * took
