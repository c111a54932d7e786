"""A seed, an uncited block and a stale citation, through the real queue and mngr, to a person's branch."""

import asyncio
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from supervisor.adapters.private_tmux import PrivateTmux
from supervisor.rehearsal import lay_out
from tests.agent_clone import git
from tests.below import end_below
from tests.cli.running import Ran, ctl, environment
from tests.waiting import until
from tests.zygote import programs

pytestmark = [pytest.mark.real, pytest.mark.timeout(540)]

CONFIG = """\
state_dir = "{folder}/state"
socket = "{folder}/ctl.sock"

[[pools]]
name = "local"
slots = 2

[profiles.default]
agent = "rehearsal"
pytest = ["{python}", "-m", "pytest", "-q", "-p", "supervisor.e2e.plugin"]
env = {{ PYTEST_DISABLE_PLUGIN_AUTOLOAD = "1" }}
keep_agents = "none"
"""
COMPANY, NEIGHBOURS = "# Eating in company", "# Sharing a pantry with the neighbours"
LOG = "tests/e2e/test_exchange.py::test_log_tells_the_last_steps"


@dataclass(frozen=True)
class Team:
    """A person at a checkout of the pantry, with a daemon beside it."""

    folder: Path

    @property
    def repo(self) -> Path:
        return self.folder / "pantry"

    @property
    def tutorial(self) -> str:
        return (self.repo / "tutorial.sh").read_text()

    async def ctl(self, *words: str, code: int = 0) -> Ran:
        who = {"GIT_AUTHOR_NAME": "ann", "GIT_COMMITTER_NAME": "ann", "EMAIL": "ann@example.invalid"}
        # The target's pytest names its one plugin, and loads no other.
        done = await ctl(self.folder, *words, cwd=self.repo, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", **who)
        assert done.code == code, done
        return done

    async def writes(self, *words: str) -> str:
        """The batch of a `tutorial` verb, when it is over."""
        batch = (await self.ctl("--json", "tutorial", *words)).json["batch"]
        await ctl(self.folder, "wait", batch)
        return str(batch)

    def commit(self, message: str) -> None:
        git(self.repo, "add", "--all")
        git(self.repo, "commit", "-q", "-m", message)


@asynccontextmanager
async def team() -> AsyncIterator[Team]:
    """With nothing left at the end: no agent, no daemon, no file."""
    folder = Path(tempfile.mkdtemp(prefix="sv-writing-", dir="/tmp"))  # a socket's path may not be long
    here = Team(folder)
    try:
        await asyncio.to_thread(lay_out, here.repo)
        config = folder / "config.toml"
        config.write_text(CONFIG.format(folder=folder, python=sys.executable))
        with (folder / "daemon.log").open("wb") as log:
            words = [str(programs() / "supervisord"), "--config", str(config)]
            daemon = await asyncio.create_subprocess_exec(*words, env=environment(folder), stdout=log, stderr=log)
        try:
            await until("the daemon listens", (folder / "ctl.sock").exists, 60)
            yield here
        finally:
            daemon.terminate()
            await daemon.wait()
    finally:
        await asyncio.to_thread(PrivateTmux.below(folder / "state" / "tmux").end)
        await asyncio.to_thread(end_below, folder)
        await asyncio.to_thread(shutil.rmtree, folder, True)


async def test_what_writers_write_is_proven_and_taken_by_command() -> None:
    """A seed is filled, a block gets two tests, a stale citation follows; each counts when it is taken."""
    async with team() as here:
        await seeds_are_filled_and_taken(here)
        # The block that was accepted has no test yet; and the tutorial is right now about `log`, its test is not.
        tutorial = here.repo / "tutorial.sh"
        tutorial.write_text(here.tutorial.replace("pantry log --last 2", "pantry log --limit 2"))
        here.commit("A block on company, and the option that log has")
        await the_tests_are_brought_up_to_it(here)


async def seeds_are_filled_and_taken(here: Team) -> None:
    before = here.tutorial
    batch = await here.writes("fill", "tutorial.sh")
    rows = (await here.ctl("--json", "jobs", batch)).json["rows"]
    assert [row["outcome"] for row in rows] == ["fixed", "blocked"]
    assert here.tutorial == before
    assert git(here.repo, "branch", "--format=%(refname:short)") == "main"

    shown = (await here.ctl("tutorial", "fill", "tutorial.sh", "--review", batch)).out
    assert "+pantry list --tag party" in shown
    assert "    rice  2.0 kg" in shown
    report = (await here.ctl("--json", "tutorial", "fill", "tutorial.sh", "--report", batch)).json["rows"]
    assert {row["command"] for row in report} == {"pantry cook --help", "pantry --help", "pantry import --help"}
    assert (await here.ctl("tutorial", "fill", "tutorial.sh", "--accept", f"{batch}.2", code=4)).out == ""
    assert here.tutorial == before

    accept = ["--json", "tutorial", "fill", "tutorial.sh", "--accept", f"{batch}.1"]
    assert (await here.ctl(*accept)).json["changed"] is True
    assert f"{COMPANY}\npantry new\npantry add rice" in here.tutorial
    assert (await here.ctl(*accept)).json["changed"] is False
    assert NEIGHBOURS in here.tutorial


async def the_tests_are_brought_up_to_it(here: Team) -> None:
    batch = await here.writes("sync", "tutorial.sh", "--tests", "tests/e2e")
    rows = (await here.ctl("--json", "jobs", batch)).json["rows"]
    assert [row["test"].partition(":")[0] for row in rows] == ["stale", "block"]
    assert rows[0]["test"] == f"stale:{LOG}"
    assert [row["outcome"] for row in rows] == ["fixed", "improved"]

    (here.repo / "notes").write_text("not committed")
    take = ["--json", "tutorial", "sync", "tutorial.sh", "--accept", batch]
    assert "uncommitted work" in (await here.ctl(*take, code=4)).json["error"]["message"]
    (here.repo / "notes").unlink()

    done = (await here.ctl(*take)).json
    assert (done["taken"], done["left"], done["changed"]) == ([f"{batch}.1", f"{batch}.2"], [], True)
    assert len(git(here.repo, "log", "-2", "--format=%s").splitlines()) == 2
    assert git(here.repo, "status", "--porcelain") == ""
    check = (await here.ctl("tutorial", "check", "tutorial.sh", "--tests", "tests/e2e", "--json")).json
    [proof] = [each["tests"] for each in check["by_block"] if "test_company.py" in str(each)]
    assert sorted(each["label"] for each in proof) == ["happy", "unhappy"]
    assert check["stale"] == []
    assert (await here.ctl(*take)).json["changed"] is False
