"""Where a run is: fresh each time, prepared once, with the base's settings, and like an agent's own."""

import json
import re
import sys
import venv
from pathlib import Path

import pytest

from supervisor.adapters.layout import Layout
from supervisor.launch.orders import ContractOrders
from supervisor.model.attempt import Attempt, AttemptKey
from supervisor.verification.evidence.laying import Content
from supervisor.verification.inspecting import write_advice
from supervisor.verification.trials.runs import Instruments
from tests.verification.arena import APP, DOUBLE, PYTEST, TESTS, TEXT, Arena, arena
from tests.verification.staying import Stayer

#: where pytest is installed
PACKAGES = Path(pytest.__file__).parent.parent
FIXED = APP.replace(" + 1", "")
#: of a run, what it finds and what it leaves
LEAVING = """\
import json, os, sys
from pathlib import Path

places = [Path.cwd(), Path.home(), Path(os.environ["TMPDIR"])]
seen = [[str(each), sorted(file.name for file in each.iterdir() if not file.name.startswith("."))] for each in places]
with open({into!r}, "a") as file:
    print(json.dumps(seen), file=file)
for each in places:
    (each / "left").touch()
"""


def exists(path: str | Path) -> bool:
    return Path(path).exists()


def seen_by(note: Path) -> list[list[tuple[str, list[str]]]]:
    return [json.loads(line) for line in note.read_text().splitlines()]


async def test_each_run_is_in_fresh_places(tmp_path: Path) -> None:
    """What a run leaves in its checkout, at home or for a while, no other finds; but the paths are the same."""
    note = tmp_path / "notes" / "seen"
    async with arena(tmp_path) as here, here.trial({"app.py": LEAVING.format(into=str(note)) + FIXED}) as trial:
        runs = [await trial.run(TEXT) for _ in range(2)]

        assert all(run.passed for run in runs), runs[0].why_not
        (checkout, home, temporary), (again, home_again, temporary_again) = seen_by(note)
        assert checkout == again
        assert home == home_again
        assert home[1] == temporary[1] == temporary_again[1] == []
        assert not exists(temporary[0])
        assert not exists(trial.places.home)


async def test_nothing_but_a_trial_knows_that_it_is_one(tmp_path: Path) -> None:
    """Command, names of variables and of places are those of agents."""
    note = tmp_path / "notes" / "seen"
    telling = (
        "import json, os\nfrom pathlib import Path\n"
        f"Path({str(note)!r}).write_text(json.dumps([dict(os.environ), os.getcwd(),\n"
        "    [Path(f'/proc/{pid}/cmdline').read_text() for pid in (os.getpid(), os.getppid())]]))\n"
    )
    async with arena(tmp_path) as here:
        run = await here.run({"app.py": telling + FIXED})
        order = ContractOrders(Layout(tmp_path / "other"), "here", None, write_advice).order(
            here.batch(),
            Attempt(
                AttemptKey("b", 1, 1), "agent-" + "0" * 32, "sv-b-1-1", "local", "local", "localhost", False, 0.0
            ),
        )

    env, cwd, argv = json.loads(note.read_text())
    ours = {name for name in {**order.env, **order.state_dir_env} if name not in here.profile.env}
    # The reporter takes what is its own for itself, in agents' runs as well.
    assert ours - {"SUPERVISOR_REPORTS", "PYTHONPATH", "PYTEST_PLUGINS"} <= set(env)
    assert env["SUPERVISOR_RUN"] == run.command == order.env["SUPERVISOR_RUN"]
    mngrs = {name for name in env if name.startswith("MNGR_")}
    assert mngrs >= {"MNGR_AGENT_ID", "MNGR_AGENT_NAME", "MNGR_AGENT_STATE_DIR", "MNGR_AGENT_WORK_DIR"}
    here_itself = re.compile(f"{re.escape(str(tmp_path))}|{re.escape(str(Path(__file__).parents[2]))}")
    for text in (*env, *env.values(), cwd, *argv):
        assert not re.search("verif|trial|judg|keeper", here_itself.sub("", text)), text


@pytest.mark.proof
async def test_an_environment_that_setup_makes_is_the_checkouts_own(tmp_path: Path) -> None:
    """Its absolute paths, and an editable install in it, lead to what is tried, and not to what was prepared."""
    setup = (
        f"{sys.executable} -m venv --without-pip .venv && "
        "site=$(echo .venv/lib/python3*/site-packages) && "
        f"echo {PACKAGES} > $site/outer.pth && "
        'echo "$PWD/src" > $site/app.pth'
    )
    tests = "import app, sys\n\n\ndef test_place():\n    assert app.WHERE.startswith(sys.prefix.rpartition('/')[0])\n"
    files: dict[str, str | bytes | None] = {
        "src/app.py": "WHERE = __file__\nopen(__file__, 'a').write('BROKEN = 1\\n')\n",
        "test_app.py": tests,
        ".gitignore": ".venv\n",
    }
    async with (
        arena(tmp_path, files) as here,
        here.trial(setup=setup, pytest=(".venv/bin/python", "-m", "pytest")) as t,
    ):
        first, second = [await t.run("test_app.py::test_place") for _ in range(2)]

    assert (first.why_not, second.why_not) == ("", "")
    assert second.session is not None
    assert second.session.modules["app"] == "src/app.py"
    assert second.session.prefix.startswith(str(tmp_path))


async def test_what_setup_leaves_at_home_is_there(tmp_path: Path) -> None:
    test = "from pathlib import Path\n\n\ndef test_home():\n    assert (Path.home() / '.tool').exists()\n"
    async with arena(tmp_path, {"test_app.py": test}) as here:
        run = await here.run(None, "test_app.py::test_home", setup="echo made > ~/.tool")

    assert run.passed, run.why_not


@pytest.mark.proof
async def test_the_caches_of_a_setup_are_the_bases(tmp_path: Path) -> None:
    """They make the next setup quick; what a setup leaves on an agent's work, no other trial gets."""
    setup = (
        "mkdir -p ~/.cache/pip ~/.cache/more; ls ~/.cache/pip > seen; cp seen ~/.cache/more; "
        "touch ~/.cache/pip/$(cat name)"
    )
    works: list[dict[str, str | bytes | None] | None] = [None, {"name": "evil\n"}, None]
    async with arena(tmp_path, {"test_app.py": TESTS, "app.py": APP, "name": "base\n"}) as here:
        seen = []
        for work in works:
            async with here.trial(work, setup=setup) as trial, trial.stage() as stage:
                seen.append((stage.copy / "seen").read_text().split())
                home = stage.copy.parents[2]
                assert not exists(home / ".cache/pip")
                assert exists(home / ".cache/more/seen")

    assert seen == [[], ["base"], ["base"]]


async def test_who_writes_into_what_runs_are_copied_from_is_found_out(tmp_path: Path) -> None:
    """Without walls a run could prepare the next ones so; it is seen even where times are set back."""
    evil = (
        "import os\nfrom pathlib import Path\n"
        "for each in Path(__file__).parents[4].glob('*/.mngr/copies/*/test_app.py'):\n"
        "    if each.parent != Path(__file__).parent:\n        old = each.stat()\n"
        "        each.write_text(each.read_text().replace('== 4', '== 5'))\n"
        "        os.utime(each, ns=(old.st_atime_ns, old.st_mtime_ns))\n"
    )
    async with arena(tmp_path) as here, here.trial({"app.py": evil + APP}, sandbox="off") as trial:
        runs = [await trial.run(TEXT), await trial.run(DOUBLE)]

    assert {run.why_not for run in runs} == {"it wrote into the place that the checkouts of its runs are copied from"}


async def test_what_setup_starts_ends_with_it(tmp_path: Path) -> None:
    async with arena(tmp_path) as here:
        stayer = Stayer(here.notes)
        wait = f"until grep -q held {stayer.note} 2>/dev/null; do sleep 0.02; done"
        async with here.trial(setup=f"setsid -f env -i {stayer.command}; {wait}"):
            assert stayer.is_gone


SETTINGS: dict[str, str | bytes | None] = {
    "pytest.ini": "[pytest]\naddopts = -k text\n",
    "sub/pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-k text'\n",
}


async def test_settings_are_the_bases(tmp_path: Path) -> None:
    """A new file of settings is gone, a changed one is as it was; what else is in it may change."""
    files: dict[str, str | bytes | None] = {
        "app.py": APP,
        "test_app.py": TESTS,
        "tox.ini": "[tox]\n\n[pytest]\naddopts = -ra\n",
        "pyproject.toml": "[project]\nname = 'app'\n",
    }
    async with arena(tmp_path, files) as here:
        changed = {
            **SETTINGS,
            "tox.ini": "[pytest]\naddopts = -k text\n",
            "pyproject.toml": "[project]\nname='new'\n",
        }
        async with here.trial({"app.py": FIXED, **changed}) as trial:
            run = await trial.run(DOUBLE)
            async with trial.stage() as stage:
                assert not (stage.copy / "pytest.ini").exists()
                assert (stage.copy / "pyproject.toml").read_text() == "[project]\nname='new'\n"
        free = await here.run({"app.py": FIXED, **SETTINGS}, allow_paths=("**",), deny_paths=())

    assert run.passed, run.why_not
    assert run.session is not None
    assert (run.session.inipath, run.session.addopts) == ("tox.ini", ("-ra",))
    assert free.why_not == "no test was run"


async def test_byte_code_is_nobodys(tmp_path: Path) -> None:
    """What the work brings is gone; what the base has may stay."""
    files: dict[str, str | bytes | None] = {"app.py": APP, "test_app.py": TESTS, "kept.pyc": b"base"}
    async with arena(tmp_path, files) as here:
        brought: dict[str, str | bytes | None] = {"lib/evil.pyc": b"x", "__pycache__/app.cpython-312.pyc": b"x"}
        async with here.trial({**brought, "kept.pyc": b"other"}) as trial, trial.stage() as stage:
            assert list(stage.copy.rglob("*.pyc")) == []
        async with here.trial({"app.py": FIXED}) as trial, trial.stage() as stage:
            assert [each.name for each in stage.copy.rglob("*.pyc")] == ["kept.pyc"]


async def test_what_is_replaced_is_so_in_every_run(tmp_path: Path) -> None:
    async with arena(tmp_path) as here:
        batch, head = here.batch(), here.commit({"app.py": FIXED, "gone.txt": "here\n"})
        replaced = {"app.py": APP.encode(), "gone.txt": None, "new/file.txt": b"new\n"}
        async with here.trials.trial(batch, head, "t", replaced=replaced) as trial:
            runs = [await trial.run(DOUBLE) for _ in range(2)]
            async with trial.stage() as stage:
                assert not (stage.copy / "gone.txt").exists()
                assert (stage.copy / "new/file.txt").read_text() == "new\n"

    assert [run.why_not for run in runs] == ["it fails: assert 5 == 4 (test_app.py:5)"] * 2


@pytest.mark.proof
async def test_instruments_gather_what_a_plain_run_does_not(tmp_path: Path) -> None:
    plugin = (
        "import os\nfrom pathlib import Path\n\n\ndef pytest_sessionfinish(session):\n"
        "    Path(os.environ['SUPERVISOR_EVIDENCE'], 'seen').write_text(os.environ['EXTRA'])\n"
    )

    instruments = Instruments({"gathering": plugin}, {"EXTRA": "more"}, files={"app.py": Content(FIXED.encode())})
    async with arena(tmp_path) as here, here.trial() as trial:
        plain = await trial.run(DOUBLE)
        gathering = await trial.run(DOUBLE, instruments=instruments)
        again = await trial.run(DOUBLE)

        assert (gathering.folder / "seen").read_text() == "more"
    assert [run.passed for run in (plain, gathering, again)] == [False, True, False]


async def test_a_daemon_that_was_killed_leaves_nothing(tmp_path: Path) -> None:
    """The next one finds what it had under way, also outside of its own folder."""
    async with arena(tmp_path) as here, here.trial() as trial, trial.stage() as stage:
        assert exists(stage.env["TMPDIR"])
        await here.trials.forget()
        assert not exists(stage.env["TMPDIR"])
        assert not exists(trial.folder)


def editable(here: Arena, target: str) -> tuple[str, ...]:
    """A Python of the user's own in which the package is installed for editing: it points at their checkout."""
    folder = here.folder / "users"
    venv.create(folder, with_pip=False, symlinks=True)
    [site] = (folder / "lib").glob("python3*/site-packages")
    (site / "outer.pth").write_text(f"{PACKAGES}\n{here.repo / target}\n")
    return (str(folder / "bin" / "python"), *PYTEST[1:])


SRC: dict[str, str | bytes | None] = {
    "src/app.py": APP,
    "tests/test_app.py": TESTS,
}


async def test_what_comes_from_the_users_checkout_does_not_count(tmp_path: Path) -> None:
    """An editable install makes what is broken look right, and what is right look broken."""
    async with arena(tmp_path, SRC) as here:
        python = editable(here, "src")
        node = "tests/test_app.py::test_double"
        stray = await here.run({"src/app.py": FIXED}, node, pytest=python)
        mended = await here.run({"src/app.py": FIXED}, node, pytest=python, python_path=("src",))

    assert stray.why_not.startswith(f"its tests import app from {here.repo}/src/app.py, not from the checkout under")
    assert 'python_path = ["src"]' in stray.why_not
    assert mended.passed, mended.why_not


@pytest.mark.proof
async def test_what_only_subprocesses_would_import_is_seen_as_well(tmp_path: Path) -> None:
    tests = "def test_tool():\n    pass\n"
    async with arena(tmp_path, {**SRC, "tests/test_tool.py": tests}) as here:
        run = await here.run(None, "tests/test_tool.py::test_tool", pytest=editable(here, "src"))

    assert run.why_not.startswith(f"its Python looks for modules in {here.repo}/src, not from the checkout")
