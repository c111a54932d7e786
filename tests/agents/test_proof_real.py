"""The rehearsal on the real mngr: what its agents claim is believed as far as it is true."""

import asyncio
import json
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from supervisor.model import event as ev
from supervisor.model.ledger import Fate
from supervisor.model.profile import Profile
from supervisor.rehearsal import DEFECTS, lay_out
from tests.below import end_below
from tests.daemon.sandbox import Sandbox, running

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

SEEDS: dict[str, Any] = json.loads(DEFECTS.read_text())["tests"]
FIX = "tests/e2e/test_tags.py::test_untag_takes_a_tag_off"
CLEAN = "tests/e2e/test_tags.py::test_tags_are_kept_in_order"
[LEANING] = [test for test, seed in SEEDS.items() if seed["expected"].get("verification") == "unverified"]
[CHEAT] = [test for test, seed in SEEDS.items() if seed["expected"].get("verification") == "refused: skip"]


@dataclass
class Rehearsal(Sandbox):
    tests: tuple[str, ...] = ()

    def work(self) -> tuple[tuple[str, ...], Profile]:
        profile = {
            "agent": "rehearsal",
            "pytest": [sys.executable, "-m", "pytest", "-q", "-p", "supervisor.e2e.plugin"],
            "env": {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            "keep_agents": "none",
            **self.profile,
        }
        return self.tests, msgspec.convert(profile, Profile)


@asynccontextmanager
async def rehearsal(folder: Path, *tests: str) -> AsyncIterator[Rehearsal]:
    """Its repository, and at the end neither agents nor files."""
    await asyncio.to_thread(lay_out, folder / "repo")
    made = Rehearsal(folder, tests=tests, slots=2)
    try:
        yield made
    finally:
        await asyncio.to_thread(made.tmux.end)
        await asyncio.to_thread(end_below, folder)
        await asyncio.to_thread(shutil.rmtree, folder, True)


async def test_a_fix_is_verified_one_that_needs_earlier_runs_is_not_and_a_cheat_is_refused(tmp_path: Path) -> None:
    """And each of them is in the ledger with its reason, by the words that the rehearsal expects."""
    async with rehearsal(tmp_path, FIX, CLEAN, LEANING, CHEAT) as made, running(made) as here:
        await here.submit()
        await here.finished(timeout=240)

        found = {made.tests[event.job - 1]: event for event in here.of(ev.WorkVerified)}
        assert {test: event.outcome for test, event in found.items()} == {
            test: SEEDS.get(test, {"expected": {"outcome": "clean"}})["expected"]["outcome"] for test in made.tests
        }
        assert (found[FIX].verification, found[FIX].passed, found[FIX].failed_before) == ("verified", 2, True)
        assert found[CLEAN].verification == "verified"
        assert (found[LEANING].verification, found[LEANING].runs, found[LEANING].passed) == ("unverified", 2, 0)
        assert f"{found[CHEAT].verification}: {found[CHEAT].reason}".startswith("refused: skip: ")

        [integrated] = here.of(ev.IntegrationEnded)
        ledger = {made.tests[job - 1]: row for job, row in integrated.ledger.items()}
        assert ledger[LEANING].fate is Fate.REJECTED
        assert ledger[CHEAT].fate is Fate.REJECTED
        assert "skip" in ledger[CHEAT].detail
        assert ledger[LEANING].commits
        assert ledger[FIX].fate is not Fate.REJECTED
        prompt = made.folder / "state" / "batches" / "batch" / "attempts" / "1-1" / "prompt.md"
        assert FIX in prompt.read_text()
