"""A batch of the rehearsal on the real mngr, each agent inside of its walls, comes to what it comes to without."""

from pathlib import Path

import pytest

from supervisor.model import event as ev
from supervisor.model.ledger import Fate
from supervisor.walled.orders import agent_walls_lack
from tests.agents.test_proof_real import CHEAT, CLEAN, FIX, SEEDS, rehearsal
from tests.daemon.sandbox import running

pytestmark = [pytest.mark.real, pytest.mark.proof, pytest.mark.timeout(300)]


async def test_a_batch_with_walls(tmp_path: Path) -> None:
    if lacks := await agent_walls_lack():
        pytest.skip(f"no walls can be built here: {lacks}")
    async with rehearsal(tmp_path, FIX, CLEAN, CHEAT) as made:
        made.profile |= {"agent_walls": "require"}
        async with running(made) as here:
            await here.submit()
            await here.finished(timeout=240)

            found = {made.tests[event.job - 1]: event for event in here.of(ev.WorkVerified)}
            assert {test: event.outcome for test, event in found.items()} == {
                test: SEEDS.get(test, {"expected": {"outcome": "clean"}})["expected"]["outcome"]
                for test in made.tests
            }
            assert found[FIX].verification == found[CLEAN].verification == "verified"
            [integrated] = here.of(ev.IntegrationEnded)
            ledger = {made.tests[job - 1]: row for job, row in integrated.ledger.items()}
            assert (ledger[FIX].fate, ledger[CHEAT].fate) == (Fate.MERGED, Fate.REJECTED)
            assert {event.job for event in here.of(ev.LaunchSucceeded)} == {0, 1, 2, 3}, "the integrator, too"
