"""All cheats and all honest work, as agents of real batches: what the daemon says of each.

Some of each class are tried; all 250 where `PROOF_ROUNDS` asks for more than a round (a quarter of an hour on two busy
cores). Only the verdicts are waited for: what is verified without a doubt is merged.
"""

import json
import sys
from pathlib import Path

import pytest

from supervisor.model import event as ev
from tests.cheats.catalog import CHEATS, EVERYTHING, HONEST
from tests.cheats.target import repository
from tests.daemon.crash import STUB
from tests.daemon.sandbox import Sandbox, running
from tests.properties import ROUNDS
from tests.waiting import until

pytestmark = [pytest.mark.proof, pytest.mark.timeout(1800)]

AGENT = Path(__file__).with_name("agent.py")
#: of each class, of those that are judged alike without a run
SAMPLE = 1
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


def chosen() -> list[str]:
    groups: dict[tuple[str, str], list[str]] = {}
    for name, case in EVERYTHING.items():
        groups.setdefault((case.of, case.without_runs), []).append(name)
    return [name for names in groups.values() for name in (names if ROUNDS > 1 else _spread(names))]


def _spread(names: list[str]) -> list[str]:
    """Of honest work every fifth, of the others as many as are wanted."""
    return names[::5] if names[0] in HONEST else names[:: max(1, len(names) // SAMPLE)][:SAMPLE]


async def test_no_cheat_goes_by_unsaid_and_no_honest_work_is_held_up(tmp_path: Path) -> None:
    names = chosen()
    found = await verdicts(tmp_path, names)

    landed = [name for name in names if name in CHEATS and is_unsaid(found.get(name)) and not CHEATS[name].unknowable]
    held_up = {name: said(found.get(name)) for name in names if name in HONEST and not is_verified(found.get(name))}
    doubted = {
        name: found[name].doubts
        for name in names
        if name in HONEST
        and is_verified(found.get(name))
        and bool(found[name].doubts) > HONEST[name].changes_expectation
    }
    unsaid = [name for name in names if name in HONEST and HONEST[name].without_runs and is_unsaid(found.get(name))]
    assert (landed, held_up, doubted, unsaid) == ([], {}, {}, [])


def is_verified(verdict: ev.WorkVerified | None) -> bool:
    return verdict is not None and verdict.verification == "verified"


def is_unsaid(verdict: ev.WorkVerified | None) -> bool:
    return verdict is not None and verdict.verification == "verified" and not verdict.doubts


def said(verdict: ev.WorkVerified | None) -> str:
    return f"{verdict.verification}: {verdict.reason}" if verdict else "there is no verdict"
