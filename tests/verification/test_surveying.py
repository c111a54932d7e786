"""The survey of a base on real git and real pytest: what it counts, what it keeps, and that nothing is run twice."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio

from supervisor.adapters import packed
from supervisor.adapters.layout import Layout
from supervisor.model.batch import Batch
from supervisor.model.job import Brought, Job
from supervisor.model.survey import Survey, Surveyed
from supervisor.model.verdict import Verdict
from supervisor.verification.judge import ProvingJudge, opened_judge
from supervisor.verification.rules.causes import cause_of
from supervisor.verification.trials.runs import Run
from tests.verification.arena import Arena, arena

#: each run of a file leaves a line in a folder of the test's
NOTE = (
    "import os, pathlib, sys\n\n"
    "with pathlib.Path('NOTES', __name__).open('a') as notes:\n    notes.write('ran\\n')\n\n\n"
)
GOOD = "def test_one():\n    pass\n\n\ndef test_two():\n    assert 1 + 1 == 2\n"
MIXED = (
    "import pytest\n\n\ndef test_green():\n    pass\n\n\ndef test_red():\n    assert 1 == 2\n\n\n"
    "@pytest.mark.skip(reason='not here')\ndef test_skipped():\n    pass\n\n\n"
    "@pytest.mark.parametrize('n', [1, 2])\ndef test_cases(n):\n    assert n == 1\n"
)
#: fails the first time
TURN = "def test_turn():\n    first = not turn.exists()\n    turn.touch()\n    assert not first\n"
#: ends pytest, if another file is run with it
ENDING = "def test_end():\n    if 'test_first' in sys.modules:\n        os._exit(7)\n"
UNREAD = "import pantry_that_is_not_there\n\n\ndef test_a():\n    pass\n\n\ndef test_b():\n    pass\n"
TESTS = ("test_good.py::test_one", "test_good.py::test_two", "test_mixed.py::test_green", "test_mixed.py::test_red")
UNREAD_TESTS = ("test_unread.py::test_a", "test_unread.py::test_b")


@dataclass
class Base:
    arena: Arena
    judge: ProvingJudge

    def batch(self, *tests: str, **profile: Any) -> Batch:
        return replace(self.arena.batch(*(tests or TESTS), **{"verify_runs": 1, "evidence_factor": 0, **profile}))

    async def survey(self, *files: str, tests: Sequence[str] = TESTS, **profile: Any) -> Surveyed:
        return await self.judge.survey(self.batch(*tests, **profile), files)

    async def restart(self) -> None:
        self.judge = await opened_judge(self.arena.store, Layout(self.arena.folder / "state"))

    async def clean(self, test: str, **profile: Any) -> Verdict:
        return await self.judge.verify(self.batch(**profile), Job(1, test, brought=Brought("clean"), attempts=1))

    def runs(self, module: str) -> int:
        """How often a file has been run."""
        notes = self.arena.notes / module
        return len(notes.read_text().splitlines()) if notes.exists() else 0

    def kept(self, file: str, survey: int = 0) -> Run | None:
        return packed.read(Layout(self.arena.folder / "state").at_base("b", survey, file), Run)


@asynccontextmanager
async def base(folder: Path, **files: str) -> AsyncIterator[Base]:
    noting = NOTE.replace("NOTES", str(folder / "notes"))
    written = {"test_good": GOOD, "test_mixed": MIXED, "test_unread": UNREAD} | files
    async with arena(folder, {f"{name}.py": noting + text for name, text in written.items()}) as here:
        assert str(here.notes) == str(folder / "notes")
        yield Base(here, await opened_judge(here.store, Layout(folder / "state")))


async def test_each_case_is_counted_once(tmp_path: Path) -> None:
    async with base(tmp_path) as here:
        found = await here.survey("test_good.py", "test_mixed.py")

        assert (found.green, found.red, found.skipped, found.unrun, found.flaky) == (4, 2, 1, 0, 0)
        assert found.red_tests == ("test_mixed.py::test_red", "test_mixed.py::test_cases[2]")
        assert (found.cause, found.problem) == ("", ""), "they fail in two ways"
        assert found.seconds > 0
        assert (here.runs("test_good"), here.runs("test_mixed")) == (1, 1), "by one run for both"


async def test_a_file_that_cannot_be_collected_counts_with_the_tests_it_has_in_the_batch(tmp_path: Path) -> None:
    async with base(tmp_path) as here:
        found = await here.survey("test_good.py", "test_unread.py", tests=(*TESTS, *UNREAD_TESTS))

        assert (found.green, found.unrun) == (2, 2)
        assert found.red_tests == ("test_unread.py",)
        assert found.cause == "ModuleNotFoundError: No module named 'pantry_that_is_not_there'"
        assert found.sample.startswith(found.cause)


async def test_it_is_the_baseline_of_verdicts(tmp_path: Path) -> None:
    async with base(tmp_path) as here:
        await here.survey("test_good.py", "test_mixed.py")
        verdict = await here.clean("test_good.py::test_one")

        assert (verdict.verification, verdict.failed_before) == ("verified", False)
        assert here.runs("test_good") == 1


async def test_what_a_claim_has_had_run_is_not_run_again(tmp_path: Path) -> None:
    async with base(tmp_path) as here:
        await here.clean("test_good.py::test_one")
        found = await here.survey("test_good.py")

        assert found.green == 2
        assert here.runs("test_good") == 1


async def test_a_claim_that_comes_meanwhile_waits_for_it(tmp_path: Path) -> None:
    async with base(tmp_path) as here, anyio.create_task_group() as tasks:
        tasks.start_soon(here.survey, "test_good.py", "test_mixed.py")
        tasks.start_soon(here.clean, "test_good.py::test_one")
        tasks.start_soon(here.clean, "test_good.py::test_two")
    assert here.runs("test_good") == 1


async def test_it_is_kept_over_a_restart(tmp_path: Path) -> None:
    """The same run, field by field, but for the folder that went with its trial."""
    async with base(tmp_path) as here:
        await here.survey("test_good.py")
        before = here.kept("test_good.py")
        await here.restart()
        await here.clean("test_good.py::test_one")

        assert here.runs("test_good") == 1
        assert before is not None
        assert before.passed
        assert all(case.seconds >= 0 for case in before.cases.values())


async def test_when_it_begins_anew_all_is_run_again(tmp_path: Path) -> None:
    async with base(tmp_path) as here:
        await here.survey("test_good.py")
        again = replace(here.batch(), survey=Survey(round=1))
        await here.judge.survey(again, ["test_good.py"])

        assert here.runs("test_good") == 2
        assert here.kept("test_good.py", survey=1) is not None


async def test_a_setup_that_fails_is_tried_twice_and_is_the_base_s_problem(tmp_path: Path) -> None:
    async with base(tmp_path) as here:
        setup = f"echo tried >> {here.arena.notes}/setup; echo no room >&2; exit 3"
        found = await here.survey("test_good.py", setup=setup)

        assert (found.green, found.unrun) == (0, 2)
        assert found.problem == found.sample == "its setup failed: no room"
        assert here.runs("setup") == 2


async def test_a_setup_that_failed_is_tried_again_for_a_claim(tmp_path: Path) -> None:
    """No verdict is weaker because the network was away when the base was surveyed."""
    async with base(tmp_path) as here:
        setup = f"test -e {here.arena.notes}/network || {{ echo no network >&2; exit 1; }}"
        assert (await here.survey("test_good.py", setup=setup)).problem
        (here.arena.notes / "network").touch()

        assert (await here.clean("test_good.py::test_one", setup=setup)).verification == "verified"
        assert here.kept("test_good.py") is not None


async def test_what_passes_in_one_of_two_runs_is_flaky(tmp_path: Path) -> None:
    """One file ends the run of both, so each is run again by itself: what differs then is named."""
    turn = f"turn = pathlib.Path({str(tmp_path / 'notes')!r}, 'turn')\n"
    files = {"test_first": f"{turn}{TURN}", "test_last": f"{turn}{ENDING}"}
    async with base(tmp_path, **files) as here:
        tests = ("test_first.py::test_turn", "test_last.py::test_end")
        found = await here.survey("test_first.py", "test_last.py", tests=tests)

        assert (found.flaky, found.flaky_tests) == (1, ("test_first.py::test_turn",))


async def test_without_a_survey_a_clean_claim_takes_no_file_along(tmp_path: Path) -> None:
    async with base(tmp_path) as here:
        verdict = await here.clean("test_good.py::test_one", survey="none")

        assert verdict.verification == "verified"
        assert here.kept("test_good.py") is None


def test_one_reason_has_one_cause() -> None:
    for one, other in (
        ("ImportError: no x (tests/test_a.py:3)", "ImportError: no x (tests/test_b.py:9)"),
        ("TimeoutError: after 3.1 s", "TimeoutError: after 12 s"),
        ("OSError: /tmp/a/b/tool is gone", "OSError: /tmp/c/tool is gone"),
        ("KeyError: <X at 0x7f00aa>", "KeyError: <X at 0x7fbb01>"),
    ):
        assert cause_of(one) == cause_of(other)
    assert cause_of("assert 1 == 2 (test_a.py:1)") != cause_of("assert 1 == 3 (test_a.py:1)")
