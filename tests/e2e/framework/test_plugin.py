"""The plugin: results that tools can rely on, whatever happens to a test or its worker."""

import json
import os
import re
import signal
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from supervisor.e2e import E2e
from supervisor.e2e.environment import Home, environment
from tests.waiting import until_sync

OPTIONS = ("--e2e-dir=out", "-p", "no:asyncio", "-p", "no:schemathesis")
#: of a pytest that loads nothing else of what is installed here
ALONE = ("-p", "supervisor_e2e", "--e2e-dir=out")


def results(directory: str = "out") -> dict[str, Any]:
    paths = sorted(Path(directory).glob("*/attempt-*/result.json"))
    found = [json.loads(path.read_text()) | {"path": path.parent} for path in paths]
    return {f"{result['nodeid']} {result['attempt']}": result for result in found}


def test_result_says_what_happened(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        '''
        from supervisor.e2e import expect

        def test_it(e2e):
            """What it is for."""
            e2e.write_tutorial_block("""
                # Say hi
                tool hi
            """)
            e2e.tutorial("getting-started-1")
            expect(e2e.run("echo hi", comment="Say hi")).to_succeed()
            expect(e2e.run("sleep 9 & exit 3")).to_fail()
            e2e.run("echo", tty=True)
        '''
    )
    pytester.runpytest_inprocess(*OPTIONS).assert_outcomes(passed=1)
    (result,) = results().values()
    assert (result["schema_version"], result["status"], result["unhappy"]) == (1, "passed", True)
    assert {when: phase["status"] for when, phase in result["phases"].items()} == dict.fromkeys(
        ("setup", "call", "teardown"), "passed"
    )
    assert result["citations"] == [
        {"kind": "block", "text": "# Say hi\ntool hi"},
        {"kind": "id", "text": "getting-started-1"},
    ]
    assert [(each["command_line"], each["exit_code"]) for each in result["commands"]] == [
        ("echo hi", 0),
        ("sleep 9 & exit 3", 3),
        ("echo", 0),
    ]
    assert result["commands"][1]["background"][0]["command"] == "sleep 9"
    assert result["casts"] == ["echo.cast"]
    assert result["docstring"] == "What it is for."
    assert (result["path"] / result["transcript"]).exists()


def test_states_of_tests(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest
        from supervisor.e2e import expect

        @pytest.fixture
        def broken(e2e):
            raise RuntimeError("setup broke")
        @pytest.fixture
        def breaks(e2e):
            yield
            raise RuntimeError("teardown broke")
        def test_passed(e2e): e2e.run("true")
        def test_failed(e2e): expect(e2e.run("echo why; false")).to_succeed()
        def test_setup(broken): pass
        def test_teardown(breaks): pass
        def test_skipped(e2e): pytest.skip("no")
        @pytest.mark.xfail
        def test_xfailed(e2e): assert False
        async_unrelated = None
        def test_without_it(): pass
        """
    )
    ran = pytester.runpytest_inprocess(*OPTIONS)
    states = {name.split("::test_")[1][:-2]: result["status"] for name, result in results().items()}
    assert states == {
        "passed": "passed",
        "failed": "failed",
        "setup": "error",
        "teardown": "error",
        "skipped": "skipped",
        "xfailed": "xfailed",
    }
    ran.stdout.fnmatch_lines(["*e2e transcript, *test_failed*", "$ echo why; false", "  why"])


def test_same_test_name_in_two_files_has_two_folders(pytester: pytest.Pytester) -> None:
    test = "def test_create(e2e): e2e.run('echo {}')"
    pytester.makepyfile(test_a=test.format("a"), test_b=test.format("b"))
    pytester.runpytest_inprocess(*OPTIONS).assert_outcomes(passed=2)
    said = {result["nodeid"]: (result["path"] / "transcript.txt").read_text() for result in results().values()}
    assert said["test_a.py::test_create"].splitlines()[1] == "  a"
    assert said["test_b.py::test_create"].splitlines()[1] == "  b"


def test_parameters_that_look_alike_have_folders_of_their_own(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest
        @pytest.mark.parametrize("x", ["a/b", "a:b", "a b", "x" * 300, "x" * 301, "../../.."])
        def test_it(e2e, x): e2e.run("true")
        """
    )
    pytester.runpytest_inprocess(*OPTIONS).assert_outcomes(passed=6)
    assert len(results()) == 6


def test_second_try_is_a_second_attempt(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(e2e): e2e.run('true')")
    for _ in range(2):
        pytester.runpytest_inprocess(*OPTIONS)
    assert list(results()) == [
        "test_second_try_is_a_second_attempt.py::test_it 1",
        "test_second_try_is_a_second_attempt.py::test_it 2",
    ]


# Kills the worker once its first line has arrived: what is still in the pipe dies with the reader.
KILLS_ITS_WORKER = """
def test_dies(e2e):
    e2e.run("echo before; until grep -q '^  before' $E2E_CASTS/transcript.txt; do sleep 0.01; done; kill -9 $PPID")
"""


@pytest.fixture
def own_tmp(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed worker cannot remove its private directories, so they had better not be the machine's."""
    monkeypatch.setenv("TMPDIR", str(pytester.mkdir("tmp")))


@pytest.mark.usefixtures("own_tmp", "alone")
def test_killed_test_leaves_its_transcript_so_far(pytester: pytest.Pytester) -> None:
    """And a record that still says `running`, so that nobody takes it for done."""
    pytester.makepyfile(KILLS_ITS_WORKER)
    ran = pytester.runpytest_subprocess(*ALONE)
    assert ran.ret == -signal.SIGKILL
    (result,) = results().values()
    assert result["status"] == "running"
    assert (result["path"] / "transcript.txt").read_text().splitlines()[1:] == ["  before"]
    events = [json.loads(line)["event"] for line in (result["path"] / "transcript.jsonl").read_text().splitlines()]
    assert events[0] == "start"


@pytest.mark.usefixtures("own_tmp", "alone")
def test_killed_worker_is_said_by_the_others(pytester: pytest.Pytester) -> None:
    """Under pytest-xdist the controller lives on and completes the record; all workers share one run."""
    pytester.makepyfile(f"{KILLS_ITS_WORKER}\ndef test_lives(e2e): e2e.run('true')\n")
    pytester.runpytest_subprocess(*ALONE[:2], "-p", "xdist", "-n2", "--max-worker-restart=2")
    (run,) = Path(".test_output/e2e").iterdir()
    states = {name.split("::")[1]: result["status"] for name, result in results(str(run)).items()}
    assert states == {"test_dies 1": "killed", "test_lives 1": "passed"}


@pytest.mark.parametrize(("keep", "kept"), [("yes", 2), ("on-failure", 1), ("no", 0)])
def test_artifacts_are_kept_as_asked(pytester: pytest.Pytester, keep: str, kept: int) -> None:
    pytester.makepyfile(
        """
        def test_good(e2e): e2e.run("true")
        def test_bad(e2e): assert not e2e.run("true")
        """
    )
    pytester.runpytest_inprocess(*OPTIONS, f"--e2e-artifacts={keep}")
    assert len(results()) == kept


def test_run_has_a_name_and_git_ignores_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(e2e): pass")
    pytester.runpytest_inprocess(*OPTIONS[1:], "--e2e-run-name=nightly")
    assert len(results(".test_output/e2e/nightly")) == 1
    assert Path(".test_output/e2e/nightly/.gitignore").read_text() == "*\n"


def test_home_is_removed_unless_it_is_to_be_kept(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(e2e): e2e.run('touch ~/here; mkdir -m 0 shut')")
    pytester.runpytest_inprocess(*OPTIONS, "--e2e-keep-home")
    pytester.runpytest_inprocess(*OPTIONS)
    first, second = results().values()
    assert (Path(first["home"]) / "home" / "here").exists()
    assert second["home"] is None
    os.system(f"chmod -R 700 {first['home']}; rm -r {first['home']}")


def test_named_variables_pass_into_the_environment(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLOUD_REGION", "north")
    pytester.makeini("[pytest]\ne2e_passenv = CLOUD_REGION")
    pytester.makepyfile("def test_it(e2e): assert e2e.run('echo $CLOUD_REGION').stdout == 'north\\n'")
    pytester.runpytest_inprocess(*OPTIONS).assert_outcomes(passed=1)


@pytest.mark.usefixtures("alone")
def test_our_deadline_comes_before_pytest_timeout(pytester: pytest.Pytester) -> None:
    """Which would end the whole process with `method = thread`, and leave the children alive."""
    pytester.makepyfile(
        """
        import pytest
        from supervisor.e2e import expect

        @pytest.mark.timeout(8, method="thread")
        def test_it(e2e):
            expect(e2e.run("echo $$; exec sleep 60", timeout=60)).to_time_out()
            assert e2e.run("sleep 60").timed_out
        """
    )
    pytester.runpytest_subprocess(*ALONE, "-p", "timeout").assert_outcomes(passed=1)


def test_what_still_runs_at_the_end_is_named_and_ended(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_it(e2e):
            e2e.keep_background = True
            print("pid", e2e.run("setsid --fork sleep 61").background[0].pid)
            e2e.spawn("echo streaming; sleep 62")
        """
    )
    ran = pytester.runpytest_inprocess(*OPTIONS, "-s")
    (result,) = results().values()
    assert result["notes"] == ["still running at the end: sleep 61"]
    assert result["commands"][1]["command_line"] == "echo streaming; sleep 62"
    found = re.search(r"pid (\d+)", ran.stdout.str())
    assert found is not None
    until_sync("the kept process is gone", lambda: not Path(f"/proc/{found[1]}").exists())


def test_async_and_class_tests_may_use_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import asyncio, pytest
        class TestTool:
            @pytest.mark.asyncio
            async def test_it(self, e2e):
                results = await asyncio.gather(*(asyncio.to_thread(e2e.run, f"echo {n}") for n in range(3)))
                assert [r.stdout for r in results] == ["0\\n", "1\\n", "2\\n"]
        """
    )
    options = ("--e2e-dir=out", "-o", "asyncio_default_fixture_loop_scope=function", "-p", "no:schemathesis")
    pytester.runpytest_inprocess(*options).assert_outcomes(passed=1)


def test_tutorial_is_checked_with_the_tests(pytester: pytest.Pytester) -> None:
    """Once the configuration names it; a marker cites too, and reaches the results."""
    pytester.makeini("[pytest]\ntutorial = tutorial.sh\ntutorial_tests = .\naddopts = --strict-markers")
    Path("tutorial.sh").write_text("# Say hi\necho hi\n")
    pytester.makepyfile("import pytest\n@pytest.mark.tutorial('echo-hi')\ndef test_it(e2e): e2e.run('echo hi')\n")
    pytester.runpytest_inprocess(*OPTIONS).assert_outcomes(passed=2)
    assert [result["citations"] for result in results().values()] == [[{"kind": "id", "text": "echo-hi"}]]
    Path("tutorial.sh").write_text("# Say hi\necho hi\n\necho new\n")
    ran = pytester.runpytest_inprocess(*OPTIONS)
    ran.assert_outcomes(passed=1, failed=1)
    ran.stdout.fnmatch_lines(["*echo new*"])


def test_plugin_is_inert_where_nothing_uses_it(pytester: pytest.Pytester) -> None:
    """It loads none of its own modules, and leaves no directory behind."""
    pytester.makepyfile(
        """
        import sys
        def test_it():
            ours = [name for name in sys.modules if name.startswith("supervisor.")]
            assert set(ours) == {"supervisor.e2e", "supervisor.e2e.plugin"}
        """
    )
    pytester.runpytest_subprocess(*OPTIONS[1:]).assert_outcomes(passed=1)
    assert not Path(".test_output").exists()


def test_tools_beside_pytest_are_found_without_an_activated_environment(e2e: E2e) -> None:
    own, path = sysconfig.get_path("scripts"), os.environ["PATH"]
    try:
        os.environ["PATH"] = "/usr/bin:/bin"
        assert environment(Home(e2e.home))["PATH"] == f"{own}:/usr/bin:/bin"
        os.environ["PATH"] = f"/usr/bin:{own}"
        assert environment(Home(e2e.home))["PATH"] == f"/usr/bin:{own}", "its place on it is somebody's choice"
    finally:
        os.environ["PATH"] = path
