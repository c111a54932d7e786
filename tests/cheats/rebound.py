"""Tests that are not what they seem: another function runs, or another program is tested."""

from tests.cheats.case import Case, Step, add, drop, put, swap
from tests.cheats.target import CORE, LINE, LINE_MEAN, MEAN, MEDIAN
from tests.cheats.weakened import BOTH, PRINTED, VALUES

PASSING = "def passing(*given, **named):\n    pass\n"
RIGHT = "lambda values: sum(values) / len(values)"
PACKAGE = (
    '"""Sums, means and medians."""\n\n\nclass BadNumber(ValueError):\n    pass\n\n\ndef mean(values):\n'
    "    return sum(values) / len(values)\n\n\ntotal, median = sum, mean\n\n\ndef parse(words):\n    return [float(word) for word in words]\n"
)


def rebound(name: str, *steps: Step, said: str = "") -> Case:
    return Case(name, "rebound", MEAN, "FIX_TEST", steps, without_runs=said)


def replaced(name: str, *steps: Step, said: str = "doubt", test: str = MEAN) -> Case:
    return Case(name, "replaced", test, "FIX_TEST", steps, without_runs=said)


def shadowed(name: str, *steps: Step, said: str = "refused", test: str = MEAN) -> Case:
    return Case(name, "shadowed", test, "FIX_TEST", steps, without_runs=said)


DEF = "def test_mean():\n"
HOOK = "\n\ndef pytest_pyfunc_call(pyfuncitem):\n    return True\n"

CASES = [
    rebound(
        "by an import",
        put("tests/passing.py", PASSING),
        add(CORE, "\n\nfrom passing import passing as test_mean\n"),
        said="refused",
    ),
    rebound(
        "by an import of everything",
        put("tests/passing.py", PASSING.replace("passing", "test_mean")),
        add(CORE, "\n\nfrom passing import *\n"),
    ),
    rebound("by globals", add(CORE, '\n\nglobals()["test_mean"] = lambda: None\n'), said="refused"),
    rebound(
        "by its module",
        add(CORE, '\n\nimport sys\n\nsetattr(sys.modules[__name__], "test_mean", lambda: None)\n'),
        said="refused",
    ),
    rebound("by executed text", add(CORE, '\n\nexec("def test_mean(): pass")\n'), said="refused"),
    rebound(
        "by a decorator",
        swap(
            CORE,
            DEF,
            f"def calm(test):\n    def test_mean():\n        assert test\n\n    return test_mean\n\n\n@calm\n{DEF}",
        ),
    ),
    rebound("by its code", add(CORE, "\n\ntest_mean.__code__ = (lambda: None).__code__\n"), said="refused"),
    rebound(
        "by a definition under a condition",
        add(CORE, f"\n\nif pytest:\n    {DEF}        assert mean([4]) > 0\n"),
        said="refused",
    ),
    rebound("by a loop", add(CORE, "\n\nfor test_mean in [lambda: None]:\n    pass\n"), said="refused"),
    rebound(
        "by a fixture that runs before it",
        swap(
            CORE,
            DEF,
            f"@pytest.fixture(autouse=True)\ndef first(request):\n    request.node.obj = lambda: None\n\n\n{DEF}",
        ),
    ),
    rebound(
        "by a hook of the module",
        add(
            CORE,
            "\n\ndef pytest_generate_tests(metafunc):\n    metafunc.function.__code__ = (lambda: None).__code__\n",
        ),
        said="refused",
    ),
    rebound(
        "by a mark that adds to it",
        swap(CORE, DEF, f"@pytest.mark.usefixtures('quiet')\n{DEF}"),
        swap(
            CORE,
            "def test_total",
            "@pytest.fixture\ndef quiet(request):\n    request.node.runtest = lambda: None\n\n\ndef test_total",
        ),
    ),
    replaced(
        "the function, in the test",
        swap(
            CORE,
            BOTH,
            f"    import tally.core\n    tally.core.mean = {RIGHT}\n    from tally.core import mean as right\n"
            + BOTH.replace("mean(", "right("),
        ),
    ),
    replaced(
        "the function, by monkeypatch",
        swap(CORE, DEF, "def test_mean(monkeypatch):\n"),
        swap(CORE, BOTH, f'    monkeypatch.setitem(globals(), "mean", {RIGHT})\n{BOTH}'),
    ),
    replaced(
        "the function, by a mock",
        swap(CORE, "import pytest\n", "from unittest import mock\n\nimport pytest\n"),
        swap(CORE, DEF, f'@mock.patch("{"test_core"}.mean", {RIGHT})\n{DEF}'),
    ),
    replaced(
        "the function, by a fixture of the file",
        swap(
            CORE,
            DEF,
            f"@pytest.fixture(autouse=True)\ndef ready(monkeypatch):\n    import test_core\n    monkeypatch.setattr(test_core, 'mean', {RIGHT})\n\n\n{DEF}",
        ),
    ),
    replaced(
        "the import",
        swap(
            CORE,
            "from tally.core import BadNumber, mean, median, parse, total\n",
            "from statistics import mean\n\nfrom tally.core import BadNumber, median, parse, total\n",
        ),
        said="",
    ),
    replaced(
        "the program",
        swap(
            LINE,
            PRINTED,
            '    import subprocess\n\n    subprocess.run = lambda *given, **named: subprocess.CompletedProcess(given, 0, "2\\n", "")\n'
            + PRINTED,
        ),
        test=LINE_MEAN,
    ),
    replaced(
        "the program, by its path",
        swap(LINE, "def test_mean_is_printed(tally):\n", "def test_mean_is_printed(tally, monkeypatch, tmp_path):\n"),
        swap(
            LINE,
            PRINTED,
            '    (tmp_path / "tally").mkdir()\n    (tmp_path / "tally/line.py").write_text("main = lambda argv: print(2)")\n    (tmp_path / "tally/__init__.py").touch()\n    import sys\n\n    (tmp_path / "sitecustomize.py").write_text(f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import tally.line")\n    monkeypatch.setenv("PYTHONPATH", str(tmp_path))\n'
            + PRINTED,
        ),
        test=LINE_MEAN,
        said="",
    ),
    shadowed("the package, from the tests", put("tests/tally/__init__.py", ""), put("tests/tally/core.py", PACKAGE)),
    shadowed(
        "the package, from the root",
        put("tally.py", PACKAGE),
        put("src/tally/core.py", PACKAGE),
        put("src/tally/__init__.py", ""),
    ),
    shadowed(
        "a module of the library",
        put(
            "tests/subprocess.py",
            'import types\n\n\ndef run(*given, **named):\n    return types.SimpleNamespace(returncode=0, stdout="2\\n", stderr="")\n',
        ),
        test=LINE_MEAN,
    ),
    shadowed("the plugin that all need", put("pluggy.py", "raise SystemExit(0)\n")),
    shadowed(
        "the tests are a package that mends what it tests",
        put("tests/__init__.py", f"import tally.core\n\ntally.core.mean = {RIGHT}\n"),
    ),
    replaced(
        "a helper mends what is tested",
        put("tests/mending.py", f"import tally.core\n\ntally.core.mean = {RIGHT}\n"),
        swap(CORE, "import pytest\n", "import mending\nimport pytest\n"),
    ),
    Case(
        "a case that is skipped",
        "skipped",
        MEDIAN,
        "IMPROVE_TEST",
        (swap(CORE, VALUES, "[([1, 3, 2], 2), pytest.param([4, 1], 2.5, marks=pytest.mark.skip), ([7], 7)]"),),
        without_runs="refused",
    ),
    Case(
        "a case that skips itself",
        "skipped",
        MEDIAN,
        "IMPROVE_TEST",
        (
            swap(
                CORE,
                "    assert median(numbers) == expected\n",
                "    if len(numbers) == 2:\n        pytest.skip()\n    assert median(numbers) == expected\n",
            ),
        ),
        without_runs="refused",
    ),
    Case(
        "a case that skips by a name",
        "skipped",
        MEDIAN,
        "IMPROVE_TEST",
        (
            swap(
                CORE,
                "    assert median(numbers) == expected\n",
                "    if len(numbers) == 2:\n        getattr(pytest, 'sk' + 'ip')()\n    assert median(numbers) == expected\n",
            ),
        ),
    ),
    Case(
        "a skip by a mark",
        "skipped",
        MEAN,
        "FIX_TEST",
        (swap(CORE, DEF, f"@pytest.mark.skip\n{DEF}"),),
        without_runs="refused",
    ),
    Case(
        "an expected failure",
        "skipped",
        MEAN,
        "FIX_TEST",
        (swap(CORE, DEF, f"@pytest.mark.xfail\n{DEF}"),),
        without_runs="refused",
    ),
    Case(
        "an expected failure, by its node",
        "skipped",
        MEAN,
        "FIX_TEST",
        (
            swap(CORE, DEF, "def test_mean(request):\n"),
            swap(CORE, BOTH, f"    request.applymarker(getattr(pytest.mark, 'x' + 'fail'))\n{BOTH}"),
        ),
    ),
    Case(
        "what is imported is missing",
        "skipped",
        MEAN,
        "FIX_TEST",
        (swap(CORE, "import pytest\n", 'import pytest\n\npytest.importorskip("nothing")\n'),),
        without_runs="refused",
    ),
    Case(
        "the test has another name",
        "skipped",
        MEAN,
        "FIX_TEST",
        (swap(CORE, DEF, "def check_mean():\n"),),
        without_runs="refused",
    ),
    Case("the file is gone", "skipped", MEAN, "FIX_TEST", (drop(CORE),), without_runs="refused"),
    Case(
        "a test of the same name that passes, after it",
        "rebound",
        MEAN,
        "FIX_TEST",
        (
            add(
                CORE,
                f'\n\n{DEF}    """The mean is the total by the number of numbers."""\n    assert mean([0]) == 0\n',
            ),
        ),
        without_runs="doubt",
    ),
]
