"""The rehearsal's colliding pair on the real mngr: resolved by its integrator, or set aside and named without one."""

import asyncio
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from supervisor.model import event as ev
from supervisor.model.ledger import Fate
from supervisor.model.profile import Profile
from supervisor.rehearsal import lay_out
from tests.below import end_below
from tests.daemon.sandbox import Sandbox, running
from tests.rehearsal.stage import PAIR, SEEDS, clone, failures, git

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

ALIKE = sorted(test for test, seed in SEEDS.items() if seed.get("alike"))


@dataclass
class Night(Sandbox):
    tests: tuple[str, ...] = ()
    integrator: bool = True

    def work(self) -> tuple[tuple[str, ...], Profile]:
        profile = {
            "agent": "rehearsal",
            "pytest": [sys.executable, "-m", "pytest", "-q", "-p", "supervisor.e2e.plugin"],
            "env": {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            "keep_agents": "none",
            "verify_runs": 1,
            "integrator": self.integrator,
            # What evidence shows, and what else is run on a branch, is told elsewhere: here they take a minute.
            "evidence_factor": 0,
            "branch_tests": (),
        }
        return self.tests, msgspec.convert(profile, Profile)


@asynccontextmanager
async def night(folder: Path, *tests: str, integrator: bool) -> AsyncIterator[Night]:
    """Its repository, and at the end neither agents nor files."""
    await asyncio.to_thread(lay_out, folder / "repo")
    made = Night(folder, tests=tests, integrator=integrator, slots=2)
    try:
        yield made
    finally:
        await asyncio.to_thread(made.tmux.end)
        await asyncio.to_thread(end_below, folder)
        await asyncio.to_thread(shutil.rmtree, folder, True)


async def integrated(made: Night) -> ev.IntegrationEnded:
    async with running(made) as here:
        await here.submit()
        await here.finished(timeout=280)
        [ended] = here.of(ev.IntegrationEnded)
        assert isinstance(ended, ev.IntegrationEnded)
        return ended


def failing_on(branch: str, made: Night) -> set[str]:
    """The tests that fail on the branch as a person gets it."""
    checkout = clone(made.folder / "repo", made.folder / "checkout")
    git(checkout, "switch", "--quiet", "--detach", f"origin/{branch}")
    return failures(checkout, *made.tests)


async def test_the_integrator_resolves_the_pair(tmp_path: Path) -> None:
    """All that was claimed fixed passes on the branch, and each fix can be taken back alone."""
    async with night(tmp_path, *PAIR, *ALIKE, integrator=True) as made:
        ended = await integrated(made)
        assert ended.problems == ()
        assert {row.fate for row in ended.ledger.values()} == {Fate.MERGED}
        subjects = git(made.folder / "repo", "log", "--reverse", "--format=%s", f"main..{ended.branch}").splitlines()
        assert [subject.partition("]")[0] for subject in subjects] == ["[TEST/DOC", "[FIX_IMPL", "[FIX_IMPL"]
        assert await asyncio.to_thread(failing_on, ended.branch, made) == set()
        checkout = made.folder / "checkout"
        for fix in git(checkout, "log", "--format=%H", "--grep=^\\[FIX_IMPL\\]", "origin/main..HEAD").splitlines():
            git(checkout, "revert", "--no-edit", fix)
            git(checkout, "reset", "--quiet", "--hard", "HEAD^")


@pytest.mark.proof
async def test_without_an_integrator_one_of_the_pair_is_set_aside_and_named(tmp_path: Path) -> None:
    async with night(tmp_path, *PAIR, integrator=False) as made:
        ended = await integrated(made)
        assert sorted(row.fate for row in ended.ledger.values()) == [Fate.CONFLICT, Fate.MERGED]
        [aside] = [row for row in ended.ledger.values() if row.fate is Fate.CONFLICT]
        assert "pantry/render.py" in aside.detail
        assert "of job" in aside.detail
        assert len(await asyncio.to_thread(failing_on, ended.branch, made)) == 1
