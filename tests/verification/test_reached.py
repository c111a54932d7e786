"""What a test reaches is noted when it is verified. A change of that selects it again, and no other change does."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from supervisor.adapters.git.store import GitStore
from supervisor.adapters.layout import Layout
from supervisor.foresight.reach import Reached, changed
from supervisor.model.attempt import AttemptKey
from supervisor.model.job import Brought, Job
from supervisor.rehearsal import lay_out
from supervisor.verification.evidence.inquiry import telling
from supervisor.verification.judge import opened_judge
from supervisor.verification.reached.commit import committed
from supervisor.verification.reached.noting import NotingJudge, kept
from supervisor.verification.reached.tracing import traced
from supervisor.verification.trials.running import tracing_lacks
from supervisor.verification.trials.runs import Instruments
from supervisor.verification.trials.trial import Trials
from tests.agent_clone import git
from tests.verification.arena import APP, DOUBLE, TESTS, Arena, arena, write

PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "supervisor.e2e.plugin")
SHOP = "tests/e2e/test_shopping.py::test_shopping_with_all_in_stock"
NEW = "tests/e2e/test_stock.py::test_new_makes_an_empty_pantry"
AGAIN = "tests/e2e/test_stock.py::test_a_second_new_is_refused"


@asynccontextmanager
async def pantry(folder: Path) -> AsyncIterator[Arena]:
    """The tool that agents rehearse on."""
    repo, store = folder / "pantry", GitStore(folder / "state")
    lay_out(repo)
    base = git(repo, "rev-parse", "HEAD")
    await store.snapshot(repo, base, "b")
    yield Arena(folder, store, Trials(store, folder / "state"), repo, base)


async def noted(here: Arena, *tests: str, **profile: Any) -> dict[str, Reached]:
    """As their verification at the base leaves it."""
    layout = Layout(here.folder / "state")
    short = {"verify_runs": 1, "evidence_factor": 0} | profile
    batch = here.batch(*tests, select="changed", pytest=PYTEST, **short)
    judge = NotingJudge(await opened_judge(here.store, layout), here.store, layout, here.trials)
    found = {}
    for number, test in enumerate(tests, 1):
        verdict = await judge.verify(batch, Job(number, test, attempts=1, brought=Brought("clean")))
        assert verdict.verification == "verified", verdict
        reached = kept(layout, AttemptKey("b", number, 1))
        assert reached is not None
        found[test] = reached
    return found


async def selected(here: Arena, reached: dict[str, Reached], **edits: tuple[str, str]) -> dict[str, str]:
    """Which tests go again after these edits, with the reason."""
    for path, (old, new) in edits.items():
        file = here.repo / path
        text = file.read_text()
        assert old in text, f"{old!r} is not in {path}"
        file.write_text(text.replace(old, new))
    now = await committed(here.store, here.repo, write(here.repo, {}))
    git(here.repo, "reset", "-q", "--hard", here.base)
    return {test: why for test, each in reached.items() if (why := changed(each, now))}


async def test_an_edit_of_one_function_selects_the_tests_that_reach_it_also_through_subprocesses(
    tmp_path: Path,
) -> None:
    """The tests start the tool through a shell."""
    async with pantry(tmp_path) as here:
        reached = await noted(here, SHOP, NEW, AGAIN)
        assert [each.unknown for each in reached.values()] == ["", "", ""]

        async def after(path: str, old: str, new: str) -> set[str]:
            return set(await selected(here, reached, **{path: (old, new)}))

        assert await after("pantry/items.py", "def missing(", "# a comment\n\n\ndef missing(") == set()
        assert await after("README.md", "pantry", "larder") == set()
        assert await after("pantry/store.py", "def path(", "def path(\n    ") == set(), "only its format"
        store = (here.repo / "pantry/store.py").read_text()
        create = store[store.index("def create(") :].split("\n\n\n")[0]
        assert await after("pantry/store.py", create, create + "\n    return None") == {NEW, AGAIN}
        items = (here.repo / "pantry/items.py").read_text()
        missing = items[items.index("def missing(") :].split("\n\n\n")[0]
        assert await after("pantry/items.py", missing, missing + "\n    return None") == {SHOP}
        assert await after("pantry/items.py", '"""', '"""Now: ') == {SHOP, NEW, AGAIN}, "all import the module"
        assert await after("tests/e2e/stock.json", "{", "{ ") == {SHOP, AGAIN}, "a file that `cp` copies"
        assert await after("tests/e2e/conftest.py", 'e2e.run(f"cp', 'e2e.run(f"cp -v') == {SHOP, AGAIN}
        assert await after("tutorial.sh", "# every pantry begins empty", "# any pantry begins empty") == {NEW, AGAIN}


TOOL = {
    "tool.py": (
        "import json\nimport os\n\n\ndef used():\n    return 1\n\n\ndef unused():\n    return 2\n\n\n"
        "def listed():\n    return sorted(os.listdir(os.path.dirname(os.path.abspath(__file__)) + '/data'))\n\n\n"
        "def told():\n    try:\n"
        "        import told_elsewhere\n    except ImportError:\n        return 0\n    return 1\n"
    ),
    "data/a.json": "{}",
    "sum.awk": "{ n += $1 }\n",
    "script": "#!/usr/bin/env python3\ndef used():\n    return 1\n\n\ndef unused():\n    return 2\n\n\nused()\n",
    "test_tool.py": (
        "import subprocess\nimport sys\n\nimport tool\n\n\ndef test_used():\n    assert tool.used()\n\n\n"
        "def test_listed():\n    assert tool.listed()\n\n\ndef test_told():\n    assert tool.told() in (0, 1)\n\n\n"
        "def test_other():\n    assert subprocess.run(['awk', '-f', 'sum.awk', 'data/a.json']).returncode == 0\n\n\n"
        "def test_script():\n    assert subprocess.run(['./script']).returncode == 0\n\n\n"
        "def test_blind():\n    assert subprocess.run([sys.executable, '-I', 'tool.py']).returncode == 0\n"
    ),
}
USED, LISTED, TOLD, OTHER, BLIND, SCRIPT = (
    f"test_tool.py::test_{name}" for name in ("used", "listed", "told", "other", "blind", "script")
)


async def test_what_is_new_or_can_t_be_known_is_run(tmp_path: Path) -> None:
    files: dict[str, str | bytes | None] = dict(TOOL)
    async with arena(tmp_path, files) as here:
        reached = await noted(here, USED, LISTED, TOLD)

        async def after(added: dict[str, str | bytes | None]) -> dict[str, str]:
            now = await committed(here.store, here.repo, write(here.repo, added))
            git(here.repo, "reset", "-q", "--hard", here.base)
            return {test: why for test, each in reached.items() if (why := changed(each, now))}

        assert await after({"README.md": "a tool"}) == {}
        assert await after({"data/b.json": "{}"}) == {LISTED: "what is in data changed"}
        assert await after({"told_elsewhere.py": ""}) == {TOLD: "told_elsewhere.py changed"}
        assert await after({"unrelated.py": "", "docs/x.md": ""}) == {}
        assert set(await after({"conftest.py": ""})) == {USED, LISTED, TOLD}
        assert set(await after({"tool.py": None})) == {USED, LISTED, TOLD}
        assert set(await after({"tool.py": "def used(:"})) == {USED, LISTED, TOLD}


async def test_of_programs_that_are_not_watched_from_inside_the_kernel_tells_the_files(tmp_path: Path) -> None:
    """Of a Python without our probe, too: then what matters is the whole file."""
    if lacks := await tracing_lacks():
        pytest.skip(f"nobody is told here what is opened: {lacks}")
    async with arena(tmp_path, dict(TOOL)) as here:
        reached = await noted(here, OTHER, BLIND)
        assert [each.unknown for each in reached.values()] == ["", ""]
        assert await selected(here, reached, **{"sum.awk": ("$1", "$2")}) == {OTHER: "sum.awk changed"}
        assert await selected(here, reached, **{"data/a.json": ("{", "{ ")}) == {OTHER: "data/a.json changed"}
        assert await selected(here, reached, **{"tool.py": ("return 2", "return 4")}) == {BLIND: "tool.py changed"}


async def test_of_a_script_of_python_it_is_known_which_functions_it_ran_whatever_its_name_is(tmp_path: Path) -> None:
    async with arena(tmp_path, dict(TOOL)) as here:
        (here.repo / "script").chmod(0o755)
        here.base = write(here.repo, {})
        await here.store.snapshot(here.repo, here.base, "b")
        reached = await noted(here, SCRIPT)
        assert await selected(here, reached, script=("return 2", "return 3")) == {}
        assert await selected(here, reached, script=("return 1", "return 3")) == {SCRIPT: "script::used changed"}


async def test_where_the_kernel_does_not_tell_such_programs_make_it_unknown(tmp_path: Path) -> None:
    """As in another pool, where nothing is traced: only the probe's notes are there."""
    async with arena(tmp_path, dict(TOOL)) as here, here.trial() as trial:
        run = await trial.run(OTHER, instruments=Instruments(plugins=telling()))
        code = await committed(here.store, here.repo, here.base)
        reached = await asyncio.to_thread(traced, run.folder / "plugins", OTHER, code)
        assert reached.unknown == "it starts awk, which can't be watched"


async def test_what_a_setup_has_made_comes_from_nobody_knows_what(tmp_path: Path) -> None:
    files: dict[str, str | bytes | None] = {
        "part.sh": "echo 1\n",
        "test_built.py": (
            "import subprocess\n\n\ndef test_it():\n    subprocess.run('./built', check=True)\n\n\n"
            "def test_environment():\n    subprocess.run(['env-of-mine/bin/python', '-c', ''], check=True)\n\n\n"
            "def test_history():\n    subprocess.run(['git', 'log', '-1'], check=True)\n"
        ),
    }
    async with arena(tmp_path, files) as here:
        setup = "(echo '#!/bin/sh'; cat part.sh) > built; chmod +x built; python3 -m venv --without-pip env-of-mine"
        tests = [f"test_built.py::test_{name}" for name in ("it", "environment", "history")]
        reached = await noted(here, *tests, setup=setup)
        assert [each.unknown for each in reached.values()] == [
            "it uses built, which is not in the commit",
            "",
            "it reads the repository's history",
        ]


async def test_since_a_commit_only_what_changed_after_it_counts(tmp_path: Path) -> None:
    files: dict[str, str | bytes | None] = dict(TOOL)
    async with arena(tmp_path, files) as here:
        text = str(TOOL["tool.py"])
        older = write(here.repo, {"tool.py": text.replace("return 1\n\n\ndef unused", "return 3\n\n\ndef unused")})
        git(here.repo, "reset", "-q", "--hard", here.base)
        reached = await noted(here, USED, LISTED)
        now, then = await committed(here.store, here.repo, here.base), await committed(here.store, here.repo, older)
        assert {test: changed(each, now, then) for test, each in reached.items()} == {
            USED: "tool.py::used changed",
            LISTED: "",
        }


async def test_only_who_selects_by_change_pays_for_it(tmp_path: Path) -> None:
    async with arena(tmp_path, dict(TOOL)) as here:
        layout = Layout(here.folder / "state")
        judge = NotingJudge(await opened_judge(here.store, layout), here.store, layout, here.trials)
        await judge.verify(here.batch(USED), Job(1, USED, attempts=1, brought=Brought("clean")))
        assert kept(layout, AttemptKey("b", 1, 1)) is None


async def test_of_a_fix_it_is_noted_what_the_test_reaches_with_it(tmp_path: Path) -> None:
    """Until the fix is on the base, its test goes again; then it does not."""
    files: dict[str, str | bytes | None] = {"app.py": APP, "test_app.py": TESTS}
    async with arena(tmp_path, files) as here:
        head = here.commit({"app.py": APP.replace("n + n + 1", "n + n")})
        layout = Layout(here.folder / "state")
        judge = NotingJudge(await opened_judge(here.store, layout), here.store, layout, here.trials)
        batch = here.batch(DOUBLE, select="changed", evidence_factor=0)
        verdict = await judge.verify(batch, Job(1, DOUBLE, attempts=1, brought=Brought("fixed", head, 1)))
        reached = kept(layout, AttemptKey("b", 1, 1))
        assert (verdict.verification, reached is not None) == ("verified", True)
        assert reached is not None
        assert changed(reached, await committed(here.store, here.repo, here.base)) == "app.py::double changed"
        git(
            here.repo,
            "fetch",
            "-q",
            str(here.store.bare(here.repo)),
            f"+refs/supervisor/b/1/{head[:8]}:refs/heads/fix",
        )
        assert changed(reached, await committed(here.store, here.repo, "fix")) == ""
