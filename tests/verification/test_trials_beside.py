"""Runs of one trial at the same time, and views: its checkout in the state of another commit."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import anyio

from supervisor.verification.trials.runs import PLAIN, Instruments, Run
from tests.agent_clone import git
from tests.verification.arena import Files, arena

#: waits for the other run, and says where it is and what its environment holds
MEETING = """\
import json, os, time
from pathlib import Path

with open({into!r}, "a") as file:
    print(json.dumps([os.getcwd(), *sorted(os.environ)]), file=file)
deadline = time.monotonic() + 60
while len(Path({into!r}).read_text().splitlines()) < 2 and time.monotonic() < deadline:
    time.sleep(0.01)
Path("left").touch(exist_ok=False)
"""


async def test_runs_at_the_same_time_find_the_same_places_and_not_each_other(tmp_path: Path) -> None:
    """Also one in another view: nothing tells it from the other."""
    into = tmp_path / "notes" / "seen"
    tests = f"import app\n\n\ndef test_met():\n    assert len(open({str(into)!r}).readlines()) == 2\n"
    app, found = MEETING.format(into=str(into)), dict[str, Run]()

    async def run(name: str, instruments: Instruments) -> None:
        found[name] = await trial.run("test_app.py::test_met", instruments=instruments)

    work: Files = {"app.py": app}
    files: Files = {"app.py": "raise SystemError\n", "test_app.py": tests}
    async with arena(tmp_path, files) as here, here.trial(work) as trial, anyio.create_task_group() as runs:
        runs.start_soon(run, "plain", PLAIN)
        view = await trial.view(here.commit({"app.py": f"{app}# another\n"}))
        runs.start_soon(run, "view", Instruments(view=view))

    assert [found[name].why_not for name in ("plain", "view")] == ["", ""]
    one, other = [json.loads(line) for line in into.read_text().splitlines()]
    assert one == other


BASE: Files = {
    "app.py": "1\n",
    "pyproject.toml": "[project]\nname = 'a'\n\n[tool.pytest.ini_options]\naddopts = '-q'\n",
    "kept.pyc": b"base",
    "gone.txt": "x\n",
    "test_app.py": "def test_it():\n    pass\n",
}
ONE: Files = {"app.py": "one\n", "of_one/new.py": "1\n", "gone.txt": None, "kept.pyc": b"one", "made.pyc": b"x"}
OTHER: Files = {
    "app.py": "other\n",
    "pyproject.toml": "[project]\nname = 'other'\n\n[tool.pytest.ini_options]\naddopts = '-x'\n",
    "new/deep/file.txt": "2\n",
    "kept.pyc": b"other",
    "new.pyc": b"x",
    "pytest.ini": "[pytest]\n",
}
NOT_COMPARED = (".git/objects", ".git/config", ".git/index")


def found(checkout: Path) -> dict[str, tuple[int, bytes]]:
    """Each file and folder."""
    every = {str(each.relative_to(checkout)): each for each in checkout.rglob("*")}
    return {
        path: (each.stat().st_mode, each.read_bytes() if each.is_file() else b"")
        for path, each in every.items()
        if not path.startswith(NOT_COMPARED)
    }


def without_times(files: Mapping[str, tuple[int, bytes]]) -> dict[str, tuple[int, bytes]]:
    """git's log has the time at which a commit was checked out."""
    return {path: (mode, re.sub(rb"> \d+ ", b"> ", content)) for path, (mode, content) in files.items()}


def status_of(checkout: Path) -> str:
    """What git says; the checkout belongs to the user inside the walls."""
    return git(checkout, "-c", "safe.directory=*", "status", "--porcelain")


async def test_a_view_is_what_a_trial_of_its_commit_is(tmp_path: Path) -> None:
    """Also to git: pytest's settings and byte code are the base's, whatever is prepared."""
    async with arena(tmp_path, BASE) as here:
        one, other = here.commit(ONE), here.commit(OTHER)
        async with here.trials.trial(here.batch(), other, "t") as trial, trial.stage() as stage:
            wanted, status = found(stage.copy), status_of(stage.copy)
        async with here.trials.trial(here.batch(), one, "t") as trial:
            seen = Instruments(view=await trial.view(other))
            async with trial.stage(instruments=seen) as stage:
                assert without_times(found(stage.copy)) == without_times(wanted)
                assert status_of(stage.copy) == status
            assert (await trial.view(one)).laid == {}
