"""What a batch leaves goes when its time is over: on the real mngr, with an agent that was kept."""

from pathlib import Path

import pytest

from supervisor.model import event as ev
from tests.daemon.sandbox import box, running
from tests.waiting import until

pytestmark = pytest.mark.real


async def test_a_kept_agent_goes_when_its_time_is_over_and_its_work_is_in_a_ref(tmp_path: Path) -> None:
    async with box(tmp_path, jobs=1, settings={"keep": {"days": 1e-9}}, profile={"keep_agents": "all"}) as made:
        async with running(made) as here:
            await here.submit()
            await here.finished()
            await until("what is left is cleared away", lambda: here.of(ev.ClearingEnded), 60)
            [cleared] = here.of(ev.ClearingEnded)
            agents = (await here.devices.agents.list("local")).agents

        assert [event.kept for event in here.of(ev.AgentReleased)] == [True]
        assert (cleared.forgotten, len(cleared.agents), cleared.problems) == (("batch",), 1, ())
        assert agents == ()
        assert not (tmp_path / "state" / "batches" / "batch").exists()
