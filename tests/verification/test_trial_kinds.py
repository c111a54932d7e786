"""Every kind of test that a repository may have comes out under the name that it was submitted by."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from tests.verification.arena import APP, DOUBLE, TEXT, Arena, Files, arena

KINDS = {
    "several cases": (
        "test_kinds.py::test_each",
        "import pytest\n\n\n@pytest.mark.parametrize('n', [1, 2, 'a::b[c]'])\ndef test_each(n):\n    assert n\n",
        ["test_kinds.py::test_each[1]", "test_kinds.py::test_each[2]", "test_kinds.py::test_each[a::b[c]]"],
    ),
    "a class": (
        "test_kinds.py::TestIt",
        "class TestIt:\n    def test_one(self):\n        pass\n\n    def test_two(self):\n        pass\n",
        ["test_kinds.py::TestIt::test_one", "test_kinds.py::TestIt::test_two"],
    ),
    "unittest": (
        "test_kinds.py::It::test_one",
        "import unittest\n\n\nclass It(unittest.TestCase):\n    def test_one(self):\n"
        "        with self.subTest(n=1):\n            self.assertTrue(1)\n",
        ["test_kinds.py::It::test_one"],
    ),
    "wrapped": (
        "test_kinds.py::test_wrapped",
        "import functools\nfrom unittest import mock\n\n\ndef deco(f):\n    @functools.wraps(f)\n"
        "    def run(*a, **k):\n        return f(*a, **k)\n    return run\n\n\n"
        "@deco\n@mock.patch('os.getcwd')\ndef test_wrapped(cwd):\n    assert cwd\n",
        ["test_kinds.py::test_wrapped"],
    ),
    "fixtures": (
        "test_kinds.py::test_fixture",
        "import pytest\n\n\n@pytest.fixture\ndef one(tmp_path):\n    yield 1\n\n\n"
        "def test_fixture(one):\n    assert one\n",
        ["test_kinds.py::test_fixture"],
    ),
}


@pytest.mark.proof
@pytest.mark.parametrize("kind", KINDS)
async def test_each_kind_passes_under_its_name(kind: str, tmp_path: Path) -> None:
    node, source, cases = KINDS[kind]
    async with arena(tmp_path, {"test_kinds.py": source}) as here:
        run = await here.run(None, node)

    assert run.passed, run.why_not
    assert sorted(run.cases) == cases
    assert {case.origin for case in run.cases.values()} == {"test_kinds.py"}
    assert {case.name.rpartition(".")[2] for case in run.cases.values()} == {
        each.partition("[")[0].rpartition("::")[2] for each in cases
    }


FAILURES = {
    "by an assertion": ("assert 4 == 3, 'expected 3, got 4'", "AssertionError: expected 3, got 4 (sub/test_f.py:5)"),
    "by an error": ("raise KeyError('x')", "KeyError: 'x' (sub/test_f.py:5)"),
    "by a fixture that is not there": ("pass", "fixture 'nothing' not found"),
    "at its end": ("pass", "ValueError: late (sub/test_f.py:4)"),
}


@pytest.mark.parametrize("how", FAILURES)
async def test_why_not_is_the_message_of_what_failed(how: str, tmp_path: Path) -> None:
    body, said = FAILURES[how]
    fixture = "import pytest\n@pytest.fixture\ndef late():\n    yield; raise ValueError('late')\n"
    argument = {"by a fixture that is not there": "nothing", "at its end": "late"}.get(how, "")
    source = f"def test_f({argument}):\n    {body}\n"
    place = f"\n\n\n{source}" if not argument else fixture + source
    async with arena(tmp_path, {"sub/test_f.py": place}) as here:
        run = await here.run(None, "sub/test_f.py::test_f")

    assert run.why_not == f"it fails: {said}"


async def test_one_of_several_cases_that_fails_or_skips_is_named(tmp_path: Path) -> None:
    cases = "pytest.param(2, marks=pytest.mark.skip(reason='later'))"
    source = f"import pytest\n\n\n@pytest.mark.parametrize('n', [1, {cases}])\ndef test_n(n):\n    assert n == 1\n"
    async with arena(tmp_path, {"test_n.py": source}) as here, here.trial() as trial:
        skips = await trial.run("test_n.py::test_n")
        await trial.run("test_n.py::test_n[1]")
    async with arena_of(tmp_path / "b", {"test_n.py": source.replace(cases, "2")}) as here:
        fails = await here.run(None, "test_n.py::test_n")

    assert (skips.passed, skips.held) == (False, True)
    assert skips.why_not.startswith("test_n.py::test_n[2] was skipped: Skipped: later")
    assert fails.why_not == "test_n.py::test_n[2] fails: assert 2 == 1 (test_n.py:6)"


def arena_of(folder: Path, files: Files) -> AbstractAsyncContextManager[Arena]:
    folder.mkdir()
    return arena(folder, files)


async def test_a_root_of_pytests_below_the_repositorys(tmp_path: Path) -> None:
    """Names are relative to the repository, wherever pytest finds its settings."""
    files: Files = {
        "service/pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-ra'\n",
        "service/tests/test_app.py": "def test_it():\n    pass\n",
    }
    async with arena(tmp_path, files) as here, here.trial() as trial:
        one = await trial.run("service/tests/test_app.py::test_it")
        file = await trial.run("service/tests/test_app.py")

    for run in (one, file):
        assert run.passed, run.why_not
        assert list(run.cases) == ["service/tests/test_app.py::test_it"]
        assert run.session is not None
        assert (run.session.rootdir, run.session.inipath) == ("service", "service/pyproject.toml")


async def test_what_was_selected_at_submit_narrows_no_run_of_a_file(tmp_path: Path) -> None:
    """Nor does what stops at the first failure; other arguments stay."""
    args = ("-k", "double", "-x", "--lf", "-vv", "--tb", "short", "-m", "not slow", "--deselect", TEXT)
    async with arena(tmp_path) as here, here.trial(pytest_args=args) as trial:
        file = await trial.run("test_app.py")
        own = await trial.run(DOUBLE)

    assert {node: case.result for node, case in file.cases.items()} == {DOUBLE: "failed", TEXT: "passed"}
    assert file.command.endswith("-v -v --tb short --maxfail=0 test_app.py")
    assert own.command.endswith(f"-k double -v -v --tb short -m 'not slow' --deselect {TEXT} {DOUBLE}")


@pytest.mark.proof
async def test_options_of_the_repositorys_own(tmp_path: Path) -> None:
    """Several processes, a stop at the first failure, doctests, plugins: none of it hides a result."""
    files: Files = {
        "app.py": '"""\n>>> 1 + 1\n2\n"""\n' + APP,
        "test_app.py": "from app import double\n\n\ndef test_double():\n    assert double(2) == 4\n\n\n"
        "def test_text():\n    assert str(double)\n",
        "pytest.ini": "[pytest]\nfilterwarnings = error\n"
        "addopts = -x -n 2 --doctest-modules -p no:cacheprovider -p no:asyncio\n",
    }
    async with arena(tmp_path, files) as here, here.trial(env={}) as trial:
        file = await trial.run("test_app.py")
        doctest = await trial.run("app.py::app")
        own = await trial.run(TEXT)

    assert {node: case.result for node, case in file.cases.items()} == {DOUBLE: "failed", TEXT: "passed"}
    assert file.why_not == f"{DOUBLE} fails: assert 5 == 4 (test_app.py:5)"
    assert (doctest.passed, own.passed) == (True, True), (doctest.why_not, own.why_not)
    assert own.cases[TEXT].ran == "returned"
    assert own.session is not None
    assert "app" in own.session.modules


@pytest.mark.proof
async def test_a_user_may_have_plugins_and_paths_of_their_own(tmp_path: Path) -> None:
    """Ours go beside them; without ours nothing is believed, and it is said why."""
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "own_plugin.py").write_text("import os\nos.environ['OWN'] = '1'\n")
    files: Files = {"test_own.py": "import os\n\n\ndef test_own():\n    assert os.environ['OWN']\n"}
    env = {"PYTHONPATH": str(tmp_path / "more"), "PYTEST_PLUGINS": "own_plugin"}
    async with arena(tmp_path, files) as here:
        beside = await here.run(None, "test_own.py::test_own", env=env)
        without = await here.run(None, "test_own.py::test_own", env=env, pytest_args=("-p", "no:supervisor_reports"))

    assert beside.passed, beside.why_not
    assert without.why_not.startswith("pytest ended with 0 and no report: ")
