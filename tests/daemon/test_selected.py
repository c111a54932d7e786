"""A batch that selects by change leaves behind what its tests reached, and the next one skips them by it."""

import asyncio
import sys
from pathlib import Path

import pytest

from supervisor.adapters.layout import Layout
from supervisor.foresight.reach import changed
from supervisor.model import event as ev
from supervisor.model.attempt import AttemptKey
from supervisor.model.request import Submit
from supervisor.rehearsal import lay_out
from supervisor.verification.reached.noting import KnownCode
from tests.daemon.sandbox import box, running

pytestmark = pytest.mark.real

NEW = "tests/e2e/test_stock.py::test_new_makes_an_empty_pantry"
AGAIN = "tests/e2e/test_stock.py::test_a_second_new_is_refused"
PYTEST = (
    "env",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1",
    sys.executable,
    "-m",
    "pytest",
    "-q",
    "-p",
    "supervisor.e2e.plugin",
)


async def test_what_verified_tests_reach_is_kept_with_their_attempts(tmp_path: Path) -> None:
    profile = {"agent": "rehearsal", "command": [], "pytest": PYTEST, "select": "changed", "verify_runs": 1}
    async with box(tmp_path, jobs=1, slots=2, profile=profile) as made, running(made) as here:
        repo = tmp_path / "pantry"
        await asyncio.to_thread(lay_out, repo)
        facts = await here.devices.store.inspect(repo)
        await here.devices.store.snapshot(repo, facts.head_sha, "batch")
        submit = Submit("batch", str(repo), facts.head_sha, (NEW, AGAIN), made.work()[1])
        await here.daemon.loop.inbox.ask(submit)
        await here.finished()

        known = KnownCode(Layout(made.configuration.state_dir))
        code = await known.code(repo, "HEAD")
        for event in here.of(ev.WorkVerified):
            reached = known.reached(AttemptKey("batch", event.job, event.attempt))
            assert reached is not None, event
            assert (reached.unknown, changed(reached, code)) == ("", "")
            assert {"main", "new"} <= reached.functions["pantry/cli.py"].keys()
