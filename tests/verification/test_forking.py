"""Faults in forks of pytest: a test finds its own fault, and nothing that another one has left."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from supervisor.verification.evidence.forking import InFork, forking
from supervisor.verification.evidence.laying import Content
from supervisor.verification.trials.reports import Fork
from supervisor.verification.trials.runs import Instruments
from tests.verification.arena import arena
from tests.verification.generated import PROFILE, Claim, files_of, generate
from tests.verification.grouped import rework
from tests.verification.settling import judge_of, settle

SECONDS = 20.0
TOOL = """\
from functools import lru_cache


@lru_cache
def double(number):
    return number * 2


def half(number):
    return number / 2
"""
TESTS = """\
import os
import pytest
from tool import double, half

def test_double():
    assert double(2) == 4

@pytest.mark.parametrize("number", [2, 4])
def test_half(number):
    assert half(number) == number / 2

def test_both():
    assert half(double(2)) == 2
"""
DOUBLE, HALF, BOTH = (f"test_tool.py::test_{name}" for name in ("double", "half", "both"))

type Faulty = tuple[str, Mapping[str, str | None]]


async def forked(
    folder: Path, files: Mapping[str, str], *faults: Faulty, seconds: float = SECONDS
) -> dict[int, Fork]:
    told = [
        InFork(
            node, seconds, {path: None if text is None else Content(text.encode()) for path, text in files.items()}
        )
        for node, files in faults
    ]
    nodes = dict.fromkeys(node for node, _ in faults)
    instruments = Instruments(plugins=forking(told, 10 * seconds), is_faulty=True)
    async with arena(folder, dict(files)) as here, here.trial(test_timeout_seconds=10 * seconds) as trial:
        run = await trial.run(*nodes, instruments=instruments)
        assert run.session is not None
        assert run.session.exitstatus == run.ended.code == 0, run.ended.tail
        return dict(run.report.forks)


def results(fork: Fork) -> list[str]:
    return [case.result for case in fork.cases.values()]


WITHOUT = TOOL.replace("return number * 2", "return None")


async def test_a_test_finds_its_own_fault_and_no_other(tmp_path: Path) -> None:
    """Nor what a fault has left in the memory of the process, such as a cached answer."""
    wrong = TOOL.replace("number / 2", "number")
    files = {"tool.py": TOOL, "test_tool.py": TESTS}
    nothing = TOOL + "# nothing\n"
    found = await forked(
        tmp_path,
        files,
        *((DOUBLE, {"tool.py": WITHOUT}), (BOTH, {"tool.py": nothing}), (HALF, {"tool.py": wrong})),
        *((DOUBLE, {"tool.py": wrong}), (HALF, {"tool.py": WITHOUT}), (BOTH, {"tool.py": WITHOUT})),
    )
    assert {number: results(fork) for number, fork in found.items()} == {
        0: ["failed"],
        1: ["passed"],
        2: ["failed", "failed"],
        3: ["passed"],
        4: ["passed", "passed"],
        5: ["failed"],
    }


INSTEAD = ("raise SystemError", "return", "more = [each for each in range(3)]\nreturn more")
#: code, what is replaced in it, and a test
IMPORTED = {
    "a function": (
        "def f():\n    return 1\n",
        "return 1",
        "from tool import f\n\ndef test_it():\n    assert f() == 1\n",
    ),
    "a method that asks its base": (
        "class A:\n    def f(self):\n        return 0\n\n"
        "class B(A):\n    def f(self):\n        return super().f() + 1\n",
        "return super().f() + 1",
        "from tool import B\nIT = B()\n\ndef test_it():\n    assert IT.f() == 1\n",
    ),
    "a wrapper": (
        "def one(f):\n    def g():\n        return f() + 1\n    return g\n\n@one\ndef h():\n    return 0\n",
        "return f() + 1",
        "from tool import h\n\ndef test_it():\n    assert h() == 1\n",
    ),
    "what is wrapped": (
        "def one(f):\n    def g():\n        return f() + 1\n    return g\n\n@one\ndef h():\n    return 0\n",
        "return 0",
        "from tool import h\n\ndef test_it():\n    assert h() == 1\n",
    ),
    "a generator": (
        "def f():\n    yield 0\n    yield 1\n",
        "yield 1",
        "from tool import f\n\ndef test_it():\n    assert list(f()) == [0, 1]\n",
    ),
    "what is a generator no more": (
        "def f():\n    yield 1\n",
        "yield 1",
        "from tool import f\n\ndef test_it():\n    assert list(f()) == [1]\n",
    ),
    "a function beside a lambda": (
        "class A:\n    f = staticmethod(lambda: 1)\n\n    def g(self):\n        return self.f() + 1\n",
        "return self.f() + 1",
        "from tool import A\n\ndef test_it():\n    assert A().g() == 2\n",
    ),
    "what the test imports": (
        "def f():\n    return 1\n",
        "return 1",
        "def test_it():\n    from tool import f\n    assert f() == 1\n",
    ),
    "a program": (
        "def f():\n    return 1\n\nprint(f())\n",
        "return 1",
        "import subprocess, sys\n\ndef test_it():\n"
        "    assert subprocess.check_output([sys.executable, 'tool.py']) == b'1\\n'\n",
    ),
}


@pytest.mark.parametrize("which", IMPORTED)
async def test_what_is_imported_is_replaced(tmp_path: Path, which: str) -> None:
    tool, place, test = IMPORTED[which]
    files, node = {"tool.py": tool, "test_it.py": test}, "test_it.py::test_it"
    indent = " " * (tool.index(place) - tool.rindex("\n", 0, tool.index(place)) - 1)
    faulty = [tool.replace(place, each.replace("\n", f"\n{indent}")) for each in INSTEAD]
    found = await forked(tmp_path, files, *((node, {"tool.py": each}) for each in (f"{tool}# as it was\n", *faulty)))
    assert [results(found[number]) for number in range(4)] == [["passed"], *[["failed"]] * 3]


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param({"tool.py": TOOL + "\nMORE = 1\n"}, id="code outside of functions"),
        pytest.param({"tool.py": TOOL.replace("(number)", "(number=1)")}, id="the head of a function"),
        pytest.param({"tool.py": TOOL.replace("@lru_cache\n", "")}, id="a decorator"),
        pytest.param({"tool.py": None}, id="no file"),
        pytest.param({"test_tool.py": TESTS.replace("== 4", "== 5")}, id="what pytest rewrites"),
    ],
)
async def test_what_can_not_be_replaced_is_not_reported(tmp_path: Path, fault: Mapping[str, str | None]) -> None:
    files = {"tool.py": TOOL, "test_tool.py": TESTS}
    assert set(await forked(tmp_path, files, (DOUBLE, fault), (DOUBLE, {"tool.py": WITHOUT}))) == {1}


@pytest.mark.parametrize(
    "check",
    [
        pytest.param("assert os.getpid() == HERE", id="it notices the fork"),
        pytest.param("pytest.skip()", id="it is skipped"),
    ],
)
async def test_a_test_that_does_not_pass_in_a_fork_is_not_tried(tmp_path: Path, check: str) -> None:
    tests = TESTS.replace("def test_double():\n", f"HERE = os.getpid()\n\ndef test_double():\n    {check}\n")
    files = {"tool.py": TOOL, "test_tool.py": tests}
    assert set(await forked(tmp_path, files, *((node, {"tool.py": WITHOUT}) for node in (DOUBLE, BOTH)))) == {1}


async def test_a_fault_that_does_not_end_is_late(tmp_path: Path) -> None:
    endless = TOOL.replace("return number * 2", "while True: pass")
    dying = TOOL.replace("return number * 2", "import os; os._exit(0)")
    files = {"tool.py": TOOL, "test_tool.py": TESTS}
    faults = [(DOUBLE, {"tool.py": each}) for each in (endless, dying, WITHOUT)]
    found = await forked(tmp_path, files, *faults, seconds=2.0)
    assert {number: fork.is_late for number, fork in found.items()} == {0: True, 2: False}, (
        "one has ended before its test"
    )


async def test_a_test_has_no_word_in_the_results_of_others(tmp_path: Path) -> None:
    says = (
        "def test_double(request):\n    reporter = request.config.pluginmanager.get_plugin('supervisor_reporter')\n"
        "    for number in '01':\n        for when in ('begin', 'end'):\n"
        "            reporter._tell(kind='fork', name=number, when=when, outcome='ended')\n"
    )
    tests = TESTS.replace("def test_double():\n", says)
    files = {"tool.py": TOOL, "test_tool.py": tests}
    assert set(await forked(tmp_path, files, *((node, {"tool.py": WITHOUT}) for node in (DOUBLE, BOTH)))) == {1}


# --- in a group


NOTHING = "try:\n            {call}\n        except Exception:\n            pass"
LITTLE = "assert {call} is not None"
NUMBER = re.compile(r"f_1\((\d+)\)")


@pytest.mark.parametrize(
    ("only_if", "otherwise"),
    [
        pytest.param("os.getpid() != HERE", NOTHING, id="nothing, and sees the fork"),
        pytest.param("os.getpid() != HERE", LITTLE, id="little, and sees the fork"),
        pytest.param("any('probe' in each for each in sys.modules)", LITTLE, id="little, and sees the plugin"),
    ],
)
async def test_who_checks_only_in_a_fork_is_not_stronger_by_that(
    tmp_path: Path, only_if: str, otherwise: str
) -> None:
    claims = [Claim(number, "improved", number % 2, number, is_run=False) for number in (1, 2)]
    text = files_of(claims, 2)["tests/test_1.py"]
    made = await generate(tmp_path, claims, 2, profile=replace(PROFILE, evidence_factor=100))
    [number] = NUMBER.findall(text)
    sly = (
        f"import os\nimport sys\nfrom tool import part_1\n\nHERE = os.getpid()\n\n\ndef test_1():\n"
        f"    if {only_if}:\n        assert part_1.f_1({number}) == {int(number) * 2}\n"
        f"    else:\n        {otherwise.format(call=f'part_1.f_1({number})')}\n"
    )
    rework(made, 1, "tests/test_1.py", sly, made.batch.base)
    judge = await judge_of(tmp_path)
    found, alone = (await settle(judge, made)).verdicts[1], await judge.verify(made.batch, made.jobs[0])
    assert (found.verification, found.doubts) == (alone.verification, alone.doubts)
    assert found.verification == "refused" or found.doubts


async def test_strength_is_the_same_as_alone(tmp_path: Path) -> None:
    claims = [Claim(number, "improved", 0, number) for number in (1, 2, 3, 4)]
    made = await generate(tmp_path, claims, 1, profile=replace(PROFILE, evidence_factor=100))
    judge = await judge_of(tmp_path)
    found = await settle(judge, made)
    assert not found.put_back
    for job in made.jobs:
        alone = await judge.verify(made.batch, job)
        together = found.verdicts[job.number]
        assert alone.evidence is not None
        assert together.evidence is not None
        assert together.evidence.strength == alone.evidence.strength
        assert together.verification == alone.verification == "verified"
