"""Every verb explains itself with an example that works; looking at help costs nothing heavy."""

import asyncio
import re
import sys
from pathlib import Path

import pytest

from supervisor.cli.main import VERBS
from supervisor.model.job import JobState
from tests.cli.running import BIN, ctl, environment
from tests.control.served import served
from tests.waiting import until

EXAMPLE = re.compile(r"Example: +(supervisorctl .*)")
#: of these, pages of their own; the demo's example is run in tests/install, on the real mngr; `top` needs a terminal,
#: which it has in test_top
ELSEWHERE = ("config", "tutorial", "demo", "top")
PAGES = [verb for verb in VERBS if verb not in ELSEWHERE] + ["config check", "config show"]
#: their examples end when the batch does
UNTIL_OVER = {"wait", "follow", "drain", *(AFTERWARDS := ("replay", "review"))}
HEAVY = {"httpx", "pydantic", "fastapi", "uvicorn", "structlog", "rich.console", "pygit2", "sqlite3"}
FIRST_IS_FIXED = {"tests/test_it.py::test_one": "fixed"}
#: what this machine lacks is no mistake of the example
MAY_FIND_PROBLEMS = {"doctor"}


@pytest.mark.parametrize("page", PAGES)
async def test_the_example_of_every_verb_can_be_run(tmp_path: Path, page: str) -> None:
    help_text = (await ctl(tmp_path, *page.split(), "--help")).out
    example = EXAMPLE.search(help_text)
    assert example is not None, help_text
    async with served(tmp_path, otherwise="fixed" if page in UNTIL_OVER else "") as api:
        api.player.outcomes |= FIRST_IS_FIXED if page == "integrate" else {}
        await api.submit("tests/test_it.py::test_one", "tests/test_it.py::test_two[c]", batch="k3f9x")
        if page == "integrate":
            await until("something is done", lambda: api.loop.state.batches["k3f9x"].count(JobState.DONE))
        if page in AFTERWARDS:
            await until("it is over", lambda: "k3f9x" not in api.loop.state.batches)
        more = {"SUPERVISOR_SOCKET": str(api.socket), "SUPERVISOR_STATE_DIR": str(tmp_path / "state")}
        running = await asyncio.create_subprocess_exec(
            *("bash", "-c", example[1]),
            cwd=api.repo if page in ("submit", "plan") else tmp_path,
            env=environment(tmp_path, **more),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await running.communicate()
        assert running.returncode in ({0, 1} if page in MAY_FIND_PROBLEMS else {0}), err.decode()
        assert out or "> " in example[1]


async def test_the_first_page_names_every_verb_and_the_exit_codes(tmp_path: Path) -> None:
    shown = (await ctl(tmp_path, "--help")).out
    assert [verb for verb in VERBS if not re.search(rf"^  {verb} ", shown, re.M)] == []
    assert "Exit codes: 0 done as asked" in shown


@pytest.mark.parametrize("verb", ["status", "jobs", "events", "cancel", "wait", "version"])
async def test_a_plain_verb_imports_nothing_heavy(tmp_path: Path, verb: str) -> None:
    """The speed of it is measured in bench/; this is what makes it so."""
    code = (
        f"import sys; from supervisor.cli.main import Verbs; Verbs().get_command(None, {verb!r}); print(*sys.modules)"
    )
    running = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, verb, stdout=asyncio.subprocess.PIPE, env=environment(tmp_path)
    )
    loaded = set((await running.communicate())[0].decode().split())
    assert loaded & HEAVY == set()


async def test_the_same_programs_under_names_that_nothing_else_has(tmp_path: Path) -> None:
    for name in ("supervisorctl", "agent-supervisorctl", "supervisord", "agent-supervisord"):
        assert (await ctl(tmp_path, "--help", program=BIN / name)).code == 0
