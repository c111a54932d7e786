"""The clock is set while agents are at work: nobody's time runs out, and nothing waits for a day that was already."""

import time
from pathlib import Path

import pytest

from supervisor.daemon.clock import SteadyClock
from supervisor.model import event as ev
from tests.daemon.sandbox import running
from tests.daemon.test_strays import stage
from tests.waiting import until

DAY = 86_400.0


class Wall:
    """A clock that is set by the test."""

    def __init__(self) -> None:
        self.set_by = 0.0

    def __call__(self) -> float:
        return time.time() + self.set_by


def test_it_follows_what_passes_and_small_steps_but_no_jump_while_something_waits() -> None:
    wall, passed, waits = [1000.0], [5.0], [True]
    clock = SteadyClock(lambda: wall[0], lambda: passed[0], is_waiting=lambda: waits[0])
    wall[0], passed[0] = 1010.0, 15.0
    assert clock() == 1010.0
    wall[0] = 1000.0
    assert clock() == 1000.0, "a small step is followed"
    for jump in (DAY, -2 * DAY):
        wall[0] = 1000.0 + jump
        assert clock() == 1000.0
    passed[0] += 7
    assert clock() == 1007.0
    waits[0] = False
    assert clock() == 1000.0 - 2 * DAY
    waits[0] = True
    assert clock() == 1000.0 - 2 * DAY, "and is the time from then on"


@pytest.mark.proof
@pytest.mark.parametrize("jumps", [(DAY, -2 * DAY), (-DAY, DAY)], ids=["forward and back", "back and forward"])
async def test_agents_are_neither_ended_nor_kept_waiting(tmp_path: Path, jumps: tuple[float, float]) -> None:
    wall = Wall()
    profile = {"env": {"WORK_SECONDS": "2", "DIES": "1"}, "job_timeout_seconds": 600}
    async with stage(tmp_path, jobs=2, profile=profile) as made, running(made, clock=wall) as here:
        await here.submit()
        await until("they work", lambda: len(here.live()) == 2, 60)
        wall.set_by = jumps[0]
        await until("one goes again, as its agent died", lambda: here.of(ev.JobRequeued), 60)
        wall.set_by += jumps[1]
        await here.finished()
        assert not here.of(ev.TimeRanOut)
        assert [event.outcome for event in here.of(ev.JobEnded)] == ["improved", "improved"]
