"""One broken fixture fails six tests: the daemon pays one agent, and its fix does for the five others."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from supervisor.model import event as ev
from supervisor.model.job import JobState
from supervisor.model.profile import Profile
from supervisor.model.request import Submit
from supervisor.observe.why import explain
from supervisor.rehearsal import commit_all
from tests.agent_clone import git
from tests.daemon.sandbox import Running, Sandbox, box, running
from tests.waiting import until

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]

AGENT = Path(__file__).with_name("shop_agent")
CONFTEST = "import pytest\n\nfrom shop import SHELF\n\n\n@pytest.fixture\ndef pears():\n    return SHELF['pears']\n"
SHOP = 'SHELF = {"apples": 3}\nTILL = None\n'
TEST = "def test_{name}(pears):\n    assert pears\n\n\n"
TILL = "def test_till(pears):\n    assert shop.TILL == 0\n"
PLACE = "tests/conftest.py:8 in pears: KeyError: 'pears'"
NAMES = ("sold", "bought", "counted", "weighed", "eaten", "thrown")


@dataclass
class Shop:
    box: Sandbox
    repo: Path
    prompts: Path
    #: where it is, agents may begin
    gate: Path

    async def submit(self, here: Running, *tests: str) -> None:
        facts = await here.devices.store.inspect(self.repo)
        await here.devices.store.snapshot(self.repo, facts.head_sha, "batch")
        nodes = tuple(f"tests/test_shop.py::test_{name}" for name in tests)
        submit = Submit("batch", str(self.repo), facts.head_sha, nodes, self.profile)
        await here.daemon.loop.inbox.ask(submit)

    @property
    def profile(self) -> Profile:
        wanted: dict[str, Any] = {
            "agent": "command",
            "command": [str(AGENT)],
            "pytest": ["env", "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1", sys.executable, "-m", "pytest", "-q"],
            "python_path": ["."],
            "env": {"PROMPTS": str(self.prompts), "MAY_GO": str(self.gate)},
            "survey": "full",
            "hold_siblings": True,
            "evidence_factor": 0,
            "integrator": False,
            "keep_agents": "none",
        }
        return msgspec.convert(wanted, Profile)


@asynccontextmanager
async def shop(folder: Path) -> AsyncIterator[Shop]:
    async with box(folder, slots=8) as made:
        found = Shop(made, folder / "shop", folder / "prompts", folder / "may-go")
        found.prompts.mkdir()
        await asyncio.to_thread(_lay_out, found.repo)
        yield found


def _lay_out(repo: Path) -> None:
    (repo / "tests").mkdir(parents=True)
    (repo / "shop.py").write_text(SHOP)
    (repo / ".gitignore").write_text("__pycache__/\n.pytest_cache/\n")
    (repo / "tests" / "conftest.py").write_text(CONFTEST)
    tests = "import shop\n\n\n" + "".join(TEST.format(name=name) for name in NAMES) + TILL
    (repo / "tests" / "test_shop.py").write_text(tests)
    commit_all(repo, "A shop without pears")


def launched(here: Running) -> list[int]:
    return [event.job for event in here.of(ev.LaunchStarted)]


def outcomes(here: Running) -> dict[int, str]:
    return {event.job: event.outcome for event in here.of(ev.JobEnded)}


async def held(here: Running, count: int) -> None:
    def are_held() -> bool:
        batch = here.state.batches.get("batch")
        return batch is not None and batch.count(JobState.HELD) == count

    await until(f"{count} jobs are held", are_held, 120)


async def test_one_fixture_that_breaks_six_tests_costs_one_agent(tmp_path: Path) -> None:
    async with shop(tmp_path) as made, running(made.box) as here:
        await made.submit(here, *NAMES)
        await held(here, 5)
        assert here.state.batches["batch"].job(2).detail == f"held for batch.1: both fail at {PLACE}"
        why = explain(here.state, "batch.2", here.daemon.loop.state.batches["batch"].created_at).text
        assert why.startswith("batch.2 is held for a sibling, batch.1.")
        made.gate.touch()
        await here.finished(timeout=300)

        assert launched(here) == [1]
        assert outcomes(here) == {1: "fixed", **dict.fromkeys(range(2, 7), "fixed-by-sibling")}
        [ended] = here.of(ev.IntegrationEnded)
        assert {number: (row.fate, row.detail) for number, row in ended.ledger.items()} == {
            1: ("merged", ""),
            **dict.fromkeys(range(2, 7), ("empty", "its test passes with the work of batch.1")),
        }
        assert "pears" in await asyncio.to_thread(git, made.repo, "show", f"{ended.branch}:shop.py")


async def test_after_a_restart_it_is_the_same_and_who_needs_more_gets_an_agent(tmp_path: Path) -> None:
    async with shop(tmp_path) as made:
        async with running(made.box) as here:
            await made.submit(here, *NAMES[:2], "till")
            await held(here, 2)
            await until("the first one works", lambda: len(here.live()) == 1, 120)
        async with running(made.box) as here:
            assert here.state.batches["batch"].count(JobState.HELD) == 2
            made.gate.touch()
            await here.finished(timeout=300)
            assert outcomes(here) == {1: "fixed", 2: "fixed-by-sibling", 3: "fixed"}
            assert [event.job for event in here.of(ev.LaunchStarted)] == [3]
        prompt = (made.prompts / "batch.3").read_text()
        assert "The work of `batch.1` is verified" in prompt
        assert "does not suffice" not in (made.prompts / "batch.1").read_text()
