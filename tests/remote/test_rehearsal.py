"""The rehearsal by `--profile remote`: on ssh hosts it comes to what it comes to at home."""

import asyncio
import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from supervisor.model import event as ev
from supervisor.model.request import Submit
from supervisor.rehearsal import DEFECTS, lay_out
from supervisor.settings import Settings, resolve
from tests.below import end_below
from tests.daemon.sandbox import Running, Sandbox, running
from tests.remote.sshd import boxes
from tests.waiting import until

pytestmark = [pytest.mark.real, pytest.mark.proof, pytest.mark.timeout(900)]

REMOTE = Path(__file__).parents[2] / "config" / "remote.toml"

#: A test for each way that an agent can behave and end.
CHOSEN = (
    "test_stock.py::test_add_again_adds_up",  # fixed, in the code
    "test_shopping.py::test_shopping_lists_what_is_missing",  # fixed, in the test
    "test_exchange.py::test_log_tells_the_last_steps",  # fixed, in the tutorial
    "test_shelves.py::test_move_to_another_shelf",  # crashes once
    "test_shelves.py::test_list_one_shelf",  # improved
    "test_exchange.py::test_export_to_csv",  # has to be told to publish
    "test_exchange.py::test_import_into_what_is_there",  # documentation
    "test_cooking.py::test_scan_names_what_is_in_the_tin",  # blocked
    "test_cooking.py::test_cook_for_guests_takes_more",  # gives up
    "test_dates.py::test_suggest_names_what_expires_first",  # leans on what runs leave, says verification
    "test_exchange.py::test_undo_goes_back_step_by_step",  # cheats
    "test_dates.py::test_expired_items_are_marked",  # hangs
    "test_exchange.py::test_import_of_something_else_is_refused",  # falls silent
    "test_cooking.py::test_cook_takes_the_ingredients_out",  # crashes each time
    "test_cooking.py::test_cook_says_what_is_missing",  # crashes with work in its hands
    "test_shopping.py::test_shopping_with_all_in_stock",  # clean
)
TESTS = tuple(f"tests/e2e/{test}" for test in CHOSEN)


def configured(folder: Path) -> Settings:
    """The profile that is shipped, with a pytest and with limits that a rehearsal needs."""
    shipped: dict[str, Any] = tomllib.loads(REMOTE.read_text())
    rehearsal = {
        "agent": "rehearsal",
        "pytest": [sys.executable, "-m", "pytest", "-q", "-p", "supervisor_e2e"],
        "env": {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        "keep_agents": "none",
        "job_timeout_seconds": 120,
        "stall_timeout_seconds": 30,
        "test_timeout_seconds": 60,
    }
    slots = {"local": 0, "remote": 6}  # all of it on the hosts, and not too many at once
    return Settings.model_validate(
        {
            **shipped,
            "state_dir": folder / "state",
            "socket": folder / "ctl.sock",
            "mngr": {"list_seconds": 3},
            "pools": [{**pool, "slots": slots[pool["name"]]} for pool in shipped["pools"]],
            "profiles": {**shipped["profiles"], "default": rehearsal},
        }
    )


async def submitted(here: Running, repo: Path, settings: Settings) -> None:
    facts = await here.devices.store.inspect(repo)
    await here.devices.store.snapshot(repo, facts.head_sha, "batch")
    profile = resolve(settings, "remote")
    await here.daemon.loop.inbox.ask(Submit("batch", str(repo), facts.head_sha, TESTS, profile))


async def test_the_rehearsal_on_ssh_hosts_ends_as_it_does_at_home(tmp_path: Path) -> None:
    known = json.loads(DEFECTS.read_text())
    expected = {test: {**known["default"], **known["tests"].get(test, {})}["expected"]["outcome"] for test in TESTS}
    lay_out(tmp_path / "pantry")
    settings = configured(tmp_path)
    made = Sandbox(tmp_path, settings=settings.model_dump(exclude_unset=True))
    with boxes(tmp_path / "ssh", settings.mngr_home, "box1", "box2") as hosts:
        try:
            async with running(made) as here:
                await submitted(here, tmp_path / "pantry", settings)
                await here.finished(timeout=800)
                await until(
                    "agents and verifiers are put away", lambda: not [a for h in hosts for a in h.state_dirs()]
                )
        finally:
            await asyncio.to_thread(made.tmux.end)
            await asyncio.to_thread(end_below, tmp_path)

        assert {event.pool for event in here.of(ev.LaunchStarted)} == {"remote"}
        ended = {TESTS[event.job - 1]: event.outcome for event in here.of(ev.JobEnded) if event.job}
        assert ended == expected
        assert not [left for host in hosts for left in host.state_dirs()]
