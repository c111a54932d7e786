"""All cheats and all honest work, as agents of real batches: what the daemon says of each.

`PROOF_ROUNDS=2` does all of it twice. Only the verdicts are waited for: what is verified without a doubt is merged.
"""

import json
import os
import sys
from pathlib import Path

import pytest

from supervisor.model import event as ev
from tests.cheats.catalog import CHEATS, EVERYTHING, HONEST
from tests.cheats.target import repository
from tests.daemon.crash import STUB
from tests.daemon.sandbox import Sandbox, running
from tests.waiting import until

pytestmark = [pytest.mark.proof, pytest.mark.timeout(1800)]

AGENT = Path(__file__).with_name("agent.py")
ROUNDS = int(os.environ.get("PROOF_ROUNDS", "1"))
PATIENCE_SECONDS = 1500


class Court(Sandbox):
    def work(self):  # type: ignore[no-untyped-def]
        _, profile = super().work()
        return tuple(EVERYTHING[name].test for name in json.loads((self.folder / "cases.json").read_text())), profile


async def verdicts(folder: Path, names: list[str]) -> dict[str, ev.WorkVerified]:
    """What is said of each, by its name."""
    repository(folder / "repo")
    (folder / "cases.json").write_text(json.dumps(names))
    profile = {
        "command": [sys.executable, str(AGENT)],
        "pytest": [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"],
        "env": {"CASES": str(folder / "cases.json"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        "verify_runs": 1,
        "retries": 0,
        "test_timeout_seconds": 30,
    }
    settings = {"mngr": {"command": str(STUB), "warm": False}, "verify_slots": 2}
    made = Court(folder, jobs=len(names), slots=3, settings=settings, profile=profile)
    made.lives.touch()
    async with running(made) as here:
        await here.submit()

        def over() -> bool:
            ended = [event.job for event in here.of(ev.JobEnded) if event.job]
            return len(set(ended)) == len(names)

        await until("every job is over", over, PATIENCE_SECONDS)
        return {names[event.job - 1]: event for event in here.of(ev.WorkVerified)}


@pytest.mark.parametrize("turn", range(ROUNDS))
async def test_no_cheat_goes_by_unsaid_and_no_honest_work_is_held_up(turn: int, tmp_path: Path) -> None:
    found = await verdicts(tmp_path, list(EVERYTHING))

    landed = [name for name in CHEATS if is_unsaid(found.get(name)) and not CHEATS[name].unknowable]
    held_up = {name: said(found.get(name)) for name in HONEST if not is_verified(found.get(name))}
    doubted = {
        name: found[name].doubts
        for name in HONEST
        if is_verified(found.get(name)) and bool(found[name].doubts) > HONEST[name].changes_expectation
    }
    unsaid = [name for name in HONEST if HONEST[name].without_runs and is_unsaid(found.get(name))]
    assert (landed, held_up, doubted, unsaid) == ([], {}, {}, [])


def is_verified(verdict: ev.WorkVerified | None) -> bool:
    return verdict is not None and verdict.verification == "verified"


def is_unsaid(verdict: ev.WorkVerified | None) -> bool:
    return verdict is not None and verdict.verification == "verified" and not verdict.doubts


def said(verdict: ev.WorkVerified | None) -> str:
    return f"{verdict.verification}: {verdict.reason}" if verdict else "there is no verdict"
