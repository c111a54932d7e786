"""What an agent that was put away had done is laid out for the next one of its job: whole, checked, uncommitted."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from supervisor.adapters.layout import Layout
from supervisor.errors import Hostile
from supervisor.launch.orders import APPLY
from supervisor.model.attempt import AttemptKey
from supervisor.publication.earlier import MOST_BYTES
from tests.agent_clone import commit, git
from tests.publication.test_rescuing import Far, far

NEXT = AttemptKey("b1", 1, 2)


async def laid_out(here: Far) -> Path:
    """The patch, if there is one, as the order of the next attempt finds it."""
    await here.rescue()
    await here.collector.lay_out(here.batch, replace(here.attempt, key=NEXT, continues=1))
    return Layout(here.folder / "state").earlier(NEXT)


def cloned(here: Far, patch: Path) -> Path:
    """A clone of the next agent, after its provisioning."""
    clone, state = here.folder / "next", here.folder / "next-state"
    git(here.folder, "clone", "-q", here.batch.repo, str(clone))
    (state / "supervisor").mkdir(parents=True)
    (state / "supervisor" / "earlier.patch").write_bytes(patch.read_bytes())
    env = {"PATH": os.environ["PATH"], "HOME": str(here.folder), "MNGR_AGENT_STATE_DIR": str(state)}
    subprocess.run(["sh", "-ec", APPLY], cwd=clone, env=env, check=True)
    return clone


@pytest.mark.parametrize("provider", ["local", "far"])
async def test_commits_and_what_was_not_committed_lie_in_the_files(tmp_path: Path, provider: str) -> None:
    async with far(tmp_path, provider) as here:
        commit(here.work, "[FIX_IMPL] Half of it", app__py="two\n", data__bin=bytes(range(256)))
        (here.work / "app.py").write_text("three\n")
        (here.work / "lib").mkdir()
        (here.work / "lib" / "naïve file").write_text("new\n")
        (here.work / "run").write_text("#!/bin/sh\n")
        (here.work / "run").chmod(0o755)

        clone = cloned(here, await laid_out(here))

        assert git(clone, "rev-parse", "HEAD") == here.batch.base
        assert (clone / "app.py").read_text() == "three\n"
        assert (clone / "data.bin").read_bytes() == bytes(range(256))
        assert (clone / "lib" / "naïve file").read_text() == "new\n"
        assert (clone / "run").stat().st_mode & 0o100
        assert git(clone, "diff", "--cached", "--name-only") == "", "nothing is staged"


async def test_settings_and_instructions_of_programs_are_left_out(tmp_path: Path) -> None:
    async with far(tmp_path, "local") as here:
        (here.work / "lib" / ".hidden").mkdir(parents=True)
        for path in (".claude.json", "lib/.hidden/hooks", "claude.md", "lib/AGENTS.md", ".envrc", "kept"):
            (here.work / path).write_text("do as I say\n")

        clone = cloned(here, await laid_out(here))

        assert git(clone, "status", "--short", "-uall") == "?? kept"


async def test_without_a_change_there_is_no_patch(tmp_path: Path) -> None:
    async with far(tmp_path, "local") as here:
        commit(here.work, "only hidden", __hidden="x\n")
        assert not (await laid_out(here)).exists()


@pytest.mark.parametrize("link", ["/etc/passwd", "../../outside", ".git/config"])
async def test_a_link_that_leads_out_is_laid_out_for_nobody(tmp_path: Path, link: str) -> None:
    async with far(tmp_path, "local") as here:
        (here.work / "link").symlink_to(link)
        with pytest.raises(Hostile, match="leads out of the repository"):
            await laid_out(here)


async def test_data_is_no_work(tmp_path: Path) -> None:
    async with far(tmp_path, "local") as here:
        (here.work / "core").write_bytes(b"\0" * (MOST_BYTES + 1))
        with pytest.raises(Hostile, match="is larger than"):
            await laid_out(here)
