"""A mngr that hangs holds up nobody but the agent it was called for."""

import json
from pathlib import Path

from supervisor.model import event as ev
from tests.daemon.crash import STUB
from tests.daemon.sandbox import box, running

#: long enough for everything else to be over before it, short enough to wait for
DEADLINE_SECONDS = 12


async def test_every_other_agent_goes_on(tmp_path: Path) -> None:
    """One create hangs, and lists for a while: the other jobs end first, the hung call ends at its deadline. Its job
    goes again once a listing has shown that no agent was made."""
    mngr = {
        "command": str(STUB),
        "warm": False,
        "call_timeout_seconds": DEADLINE_SECONDS,
        "create_timeout_seconds": DEADLINE_SECONDS,
    }
    async with box(tmp_path, jobs=6, slots=3, settings={"mngr": mngr}) as made:
        stub = tmp_path / "state" / "home" / ".mngr" / "stub"
        stub.mkdir(parents=True)
        rules = [{"verb": "create", "do": "hang", "nth": [1]}, {"verb": "list", "do": "hang", "nth": [1, 2]}]
        (stub / "faults.json").write_text(json.dumps(rules))

        async with running(made) as here:
            await here.submit()
            await here.finished()

            kinds = [type(event) for event in here.events if isinstance(event, ev.LaunchFailed | ev.WorkCollected)]
            assert kinds == [ev.WorkCollected] * 5 + [ev.LaunchFailed, ev.WorkCollected]
            assert [event.reason for event in here.of(ev.LaunchFailed)] == ["timeout"]
            assert [event.outcome for event in here.of(ev.JobEnded)] == ["improved"] * 6
