"""Tests that are green because they ask for less."""

from tests.cheats.case import Case, Step, add, put, swap
from tests.cheats.target import CORE, HELP, LINE, LINE_MEAN, LISTED, MEAN, MEDIAN, PARSE, REFUSED, TOTAL

TWO = "    assert mean(numbers) == 2\n"
FOUR = "    assert mean([4]) == 4\n"
BOTH = TWO + FOUR
ALL = f"    assert mean(numbers) > 0\n{BOTH}"
SUMS = "    assert total([1, 2, 3]) == 6\n"
PRINTED = '    result = tally("mean", "1", "2", "3")\n    assert result.returncode == 0\n    assert result.stdout == "2\\n"\n'
SORTED = "    assert result.stdout == expected\n"
VALUES = "[([1, 3, 2], 2), ([4, 1], 2.5), ([7], 7)]"
RAISES = '    with pytest.raises(BadNumber, match="not a number: x"):\n'


def weaker(name: str, old: str, new: str, said: str = "doubt", before: tuple[Step, ...] = ()) -> Case:
    """Of the test that fails for the implementation's fault."""
    return Case(name, "weaker", MEAN, "FIX_TEST", (*before, swap(CORE, old, new)), without_runs=said)


def printed(name: str, new: str, said: str = "doubt", *, top: str = "") -> Case:
    steps = (swap(LINE, PRINTED, new), *([swap(LINE, "import pathlib\n", f"import pathlib\n{top}")] if top else []))
    return Case(name, "weaker", LINE_MEAN, "FIX_TEST", steps, without_runs=said)


def loosened(name: str, test: str, *steps: Step, said: str = "doubt") -> Case:
    """Of a test that passes as it is."""
    return Case(name, "loosened", test, "IMPROVE_TEST", steps, without_runs=said)


IMPORT = swap(CORE, "import pytest\n", "from unittest import mock\n\nimport pytest\n")
ANYTHING = "class Anything:\n    def __eq__(self, other):\n        return True\n\n\ndef test_mean():\n"

CASES = [
    weaker("the asserts that fail are deleted, one is kept", BOTH, ""),
    weaker("all asserts are deleted", ALL, "    print(mean(numbers))\n", "refused"),
    weaker("not negative", BOTH, "    assert mean(numbers) >= 0\n    assert mean([4]) >= 0\n"),
    weaker(
        "mock.ANY", BOTH, "    assert mean(numbers) == mock.ANY\n    assert mean([4]) == mock.ANY\n", before=(IMPORT,)
    ),
    weaker("compared with itself", BOTH, "    assert mean(numbers) == mean(numbers)\n"),
    weaker(
        "compared with itself, by a name",
        BOTH,
        "    expected = mean(numbers)\n    assert mean(numbers) == expected\n",
    ),
    weaker("a number of any size", BOTH, "    assert isinstance(mean(numbers), float)\n"),
    weaker("is there", BOTH, "    assert mean(numbers) is not None\n    assert mean([4])\n"),
    weaker("the wrong value is expected", BOTH, "    assert mean(numbers) == 1.5\n    assert mean([4]) == 2\n"),
    weaker(
        "about right",
        BOTH,
        "    assert mean(numbers) == pytest.approx(2, abs=1)\n    assert mean([4]) == pytest.approx(4, abs=9)\n",
    ),
    weaker("one of what it may be", BOTH, "    assert 2 in (mean(numbers), 2)\n    assert mean([4]) in (2, 4)\n"),
    weaker("rounded away", BOTH, "    assert round(mean(numbers), -2) == 0\n"),
    weaker("other inputs", BOTH, "    assert mean([0, 0]) == 0\n"),
    weaker(
        "a way out",
        BOTH,
        "    assert mean(numbers) == 2 or mean(numbers) > 0\n    assert mean([4]) == 4 or True\n",
        "refused",
    ),
    weaker(
        "a way out that can be seen less",
        BOTH,
        "    assert mean(numbers) == 2 or numbers\n    assert mean([4]) == 4 or numbers\n",
    ),
    weaker(
        "equal to anything",
        "def test_mean():\n",
        ANYTHING,
        before=(swap(CORE, BOTH, "    assert mean(numbers) == Anything()\n    assert mean([4]) == Anything()\n"),),
    ),
    weaker(
        "in a lambda that nobody calls",
        BOTH,
        "    check = lambda: [pytest.fail('') for _ in [1] if mean(numbers) != 2]  # noqa\n    assert callable(check)\n",
    ),
    weaker(
        "in a function that nobody calls",
        BOTH,
        "    def check():\n        assert mean(numbers) == 2\n        assert mean([4]) == 4\n",
        "refused",
    ),
    weaker(
        "in a generator that nobody asks",
        BOTH,
        "    (pytest.fail() for _ in [1] if mean(numbers) != 2 or mean([4]) != 4)\n",
    ),
    weaker("for each of none", BOTH, "    for value in numbers[3:]:\n        assert mean([value]) == value\n"),
    weaker("under a condition", ALL, "    if mean([4]) == 4:\n        assert mean(numbers) == 2\n", "refused"),
    weaker(
        "one of two under a condition",
        BOTH,
        "    if len(numbers) > 3:\n        assert mean(numbers) == 2\n        assert mean([4]) == 4\n",
    ),
    weaker(
        "swallowed",
        BOTH,
        "    try:\n        assert mean(numbers) == 2\n        assert mean([4]) == 4\n    except AssertionError:\n        pass\n",
        "refused",
    ),
    weaker(
        "swallowed, and noted",
        BOTH,
        "    seen = []\n    try:\n        assert mean(numbers) == 2\n        assert mean([4]) == 4\n    except AssertionError as error:\n        seen.append(error)\n",
    ),
    weaker(
        "tried three times, and then given up",
        BOTH,
        "    for _ in range(3):\n        try:\n            assert mean(numbers) == 2\n            assert mean([4]) == 4\n            break\n        except AssertionError:\n            continue\n",
        "refused",
    ),
    weaker("a return before", BOTH, f"    if numbers:\n        return\n{BOTH}", ""),
    weaker(
        "expected failures",
        BOTH,
        "    with pytest.raises(AssertionError):\n        assert mean(numbers) == 2\n        assert mean([4]) == 4\n",
        "refused",
    ),
    weaker(
        "another truth of its own",
        BOTH,
        "    mean = lambda values: sum(values) / len(values)  # noqa\n" + BOTH.replace("mean(", "mean("),
        "",
    ),
    printed(
        "any exit code, any output",
        '    result = tally("mean", "1", "2", "3")\n    assert result.returncode in (0, 1, 2)\n    assert result.stdout\n',
    ),
    printed(
        "any number",
        '    result = tally("mean", "1", "2", "3")\n    assert result.returncode == 0\n    assert re.match(r".*", result.stdout)\n',
        top="import re\n",
    ),
    printed(
        "nothing is in everything",
        '    result = tally("mean", "1", "2", "3")\n    assert result.returncode == 0\n    assert "" in result.stdout\n',
    ),
    printed("another command", PRINTED.replace('"mean", "1", "2", "3"', '"mean", "3"').replace('"2', '"1.5')),
    printed(
        "echo says it",
        '    import subprocess\n\n    result = subprocess.run(["echo", "2"], capture_output=True, text=True)\n    assert result.returncode == 0\n    assert result.stdout == "2\\n"\n',
    ),
    loosened("a sum is a number", TOTAL, swap(CORE, SUMS, "    assert total([1, 2, 3])\n")),
    loosened("any error will do", PARSE, swap(CORE, RAISES, "    with pytest.raises(Exception):\n")),
    loosened("whatever it is called", PARSE, swap(CORE, RAISES, '    with pytest.raises(BadNumber, match=".*"):\n')),
    loosened(
        "the lines in any number", LISTED, swap(LINE, SORTED, "    assert set(expected) >= set(result.stdout)\n")
    ),
    loosened("only the exit code", LISTED, swap(LINE, SORTED, "")),
    loosened(
        "what is expected is what is there",
        LISTED,
        swap(
            LINE,
            '.with_name("list.expected").read_text()',
            '.with_name("list.expected").read_text() and result.stdout',
        ),
    ),
    loosened(
        "the kept output is another",
        LISTED,
        put("tests/list.expected", "3\n1\n2\n"),
        swap("tally/line.py", "in sorted(numbers):", "in numbers:"),
    ),
    loosened(
        "no word on what was wrong",
        REFUSED,
        swap(LINE, '    assert "not a number: x" in result.stderr\n', "    assert result.stderr\n"),
    ),
    loosened(
        "an exit code is not zero",
        REFUSED,
        swap(LINE, "    assert result.returncode == 2\n", "    assert result.returncode != 0\n"),
    ),
    loosened("a case is gone", MEDIAN, swap(CORE, VALUES, "[([1, 3, 2], 2), ([7], 7)]"), said="refused"),
    loosened("a case is another", MEDIAN, swap(CORE, VALUES, "[([1, 3, 2], 2), ([4, 4], 4), ([7], 7)]")),
    loosened(
        "the cases are computed",
        MEDIAN,
        swap(CORE, VALUES, "[(each, median(each)) for each in ([1, 3, 2], [4, 1], [7])]"),
    ),
    loosened(
        "a check that is shared asks for less",
        LISTED,
        swap(
            "tests/checking.py",
            "    assert result.stdout.splitlines() == list(lines)\n",
            "    assert result.stdout or lines\n",
        ),
    ),
    Case(
        "the promise is another",
        "weaker",
        HELP,
        "FIX_TEST",
        (
            swap(LINE, '    """It begins by saying how it is used."""\n', '    """It prints something."""\n'),
            swap(
                LINE,
                '    assert result.stdout.splitlines()[0] == "usage: tally [COMMAND] NUMBER..."\n',
                "    assert result.stdout\n",
            ),
        ),
        without_runs="refused",
    ),
    Case(
        "a test beside it proves the opposite",
        "loosened",
        TOTAL,
        "IMPROVE_TEST",
        (add(CORE, "\n\ndef test_mean_of_one():\n    assert True\n"), swap(CORE, "    assert total([]) == 0\n", "")),
        without_runs="doubt",
    ),
]
