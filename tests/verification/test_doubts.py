"""What a reviewer is told of a test that says less or otherwise, and of an implementation that only a test would want."""

import pytest

from supervisor.verification.rules.doubts import doubts, standing
from supervisor.verification.rules.judged import EXECUTABLE, FILE, Base, Doubt, FileChange
from supervisor.verification.rules.places import Allowed
from supervisor.verification.rules.policy import breaches

PATH = "tests/test_it.py"
TEST = f"{PATH}::test_it"
HEAD = """\
import subprocess, sys, time
import pytest
from app import add, load
from support import ensure_clean, ensure_gone


def tool(*words):
    return subprocess.run([sys.executable, "app.py", *words], capture_output=True, text=True)


"""
READY = '''\
def test_it(tmp_path):
    """It is ready."""
    r = tool("status")
    assert r.returncode == 0
    assert "ready" in r.stdout
'''
ADDED = "def test_it():\n    assert add(1, 2) == 3\n"
CHECKS = '    assert r.returncode == 0\n    assert "ready" in r.stdout\n'
LOOP = "    end = time.monotonic() + 10\n    while time.monotonic() < end:\n"
PYTESTER = 'def test_it(pytester):\n    r = pytester.run("a")\n    assert "passed 1" in r.stdout.str()\n'
CASES = '@pytest.mark.parametrize("a,b,c", [(1,2,3),(2,2,4)])\ndef test_it(a, b, c):\n    assert add(a, b) == c\n'
LOADED = 'def test_it():\n    assert load("a") == [1, 2]\n'


def said(before: str, after: str) -> list[Doubt]:
    change = FileChange(PATH, HEAD + before, HEAD + after)
    assert breaches([change], TEST, Allowed(), ("IMPROVE_TEST",)) == []
    return doubts([change], TEST)


ALIKE = {
    "a loop with a deadline": (
        READY,
        READY.replace(
            '    r = tool("status")\n' + CHECKS,
            "    end = time.monotonic() + 10\n    while True:\n        r = tool('status')\n        try:\n"
            + "            assert r.returncode == 0\n            assert 'ready' in r.stdout\n            return\n"
            + "        except AssertionError:\n            if time.monotonic() >= end:\n                raise\n",
        ),
    ),
    "a loop that is left": (
        READY,
        READY.replace(
            '    r = tool("status")\n',
            LOOP + '        r = tool("status")\n        if "ready" in r.stdout:\n            break\n',
        ),
    ),
    "a loop that says when it fails": (
        READY,
        READY.replace(
            '    r = tool("status")\n' + CHECKS,
            "    for _ in range(50):\n        r = tool('status')\n        if r.returncode == 0 and 'ready' in r.stdout:\n"
            "            return\n    raise AssertionError(r.stdout)\n",
        ),
    ),
    "a function that waits": (
        READY,
        "def wait_for(check):\n    for _ in range(9):\n        try:\n            return check()\n        except AssertionError as e:\n"
        "            error = e\n    raise error\n\n\n"
        + READY.replace(
            '    r = tool("status")\n' + CHECKS,
            "    def ready():\n        r = tool('status')\n        assert r.returncode == 0\n        assert 'ready' in r.stdout\n"
            "    wait_for(ready)\n",
        ),
    ),
    "a program whose failure is an error": (
        READY,
        READY.replace("    assert r.returncode == 0\n", "").replace(
            'tool("status")',
            'subprocess.run([sys.executable, "app.py", "status"], capture_output=True, text=True, check=True)',
        ),
    ),
    "lines that match": (
        PYTESTER,
        PYTESTER.replace('assert "passed 1" in r.stdout.str()', 'r.stdout.fnmatch_lines(["*passed 1*"])'),
    ),
    "cleaning up": (READY, READY.replace("    r =", "    try:\n        ensure_clean(tmp_path)\n    except Exception:\n        pass\n    r =")),
    "no cleaning up": (READY.replace("    r =", "    ensure_gone(tmp_path)\n    r ="), READY),
    "cases with names": (
        CASES,
        CASES.replace('"a,b,c", [(1,2,3),(2,2,4)]', '("a", "b", "c"), [pytest.param(1, 2, 3, id="x"), (2, 2, 4), (5, 5, 10)]'),
    ),
    "cases that have a name": ("\n" + CASES, "ALL = [(1, 2, 3), (2, 2, 4)]\n" + CASES.replace("[(1,2,3),(2,2,4)]", "argvalues=ALL")),
    "cases in place of lines": ("def test_it():\n    assert add(1,2) == 3\n    assert add(2,2) == 4\n", CASES),
    "another test has it": (READY, READY.replace('    assert "ready" in r.stdout\n', "") + '\n\ndef test_text():\n    r = tool("status")\n    assert "ready" in r.stdout\n'),
    "the very text": (READY, READY.replace('"ready" in r.stdout', 'r.stdout == "ready\\n"')),
    "two at once": (READY, READY.replace(CHECKS, '    assert (r.returncode, "ready" in r.stdout) == (0, True)\n    assert "ready" in r.stdout\n')),
    "a time limit": (READY.replace("tool(", "subprocess.run("), READY.replace('tool("status"', 'subprocess.run("status", timeout=9')),
    "another folder": (READY, READY.replace("(tmp_path)", "(tmp_path, monkeypatch)").replace("    r =", "    monkeypatch.chdir(tmp_path)\n    r =")),
    "a value where anything was enough": (ADDED.replace(" == 3", ""), ADDED),
    "a word that was misspelt": (READY.replace("It is ready", "It is raedy"), READY),
}  # fmt: skip


@pytest.mark.parametrize("name", ALIKE)
def test_a_test_that_says_the_same_or_more_is_no_doubt(name: str) -> None:
    assert said(*ALIKE[name]) == []


WEAKER = [
    "add(1, 2) >= 0",
    "add(1, 2) != 9",
    "add(2, 1) == 3",
    "add(1, 2) == add(1, 2)",
    "add(1, 2) in (3, 4)",
    "add(1, 2)",
    "abs(add(1, 2)) == 3",
    '"3" in str(add(1, 2))',
    "add(1, 2) == pytest.approx(3, rel=5)",
    "(x := add(1, 2)) == x",
    "(add(1, 2) == 3 if add else True)",
    "not add(1, 2) == 4",
    "max(add(1, 2), 3) == 3",
    "(3 if add(1, 2) else 0) == 3",
    "[3 for _ in [add(1, 2)]] == [3]",
    "add(1, 2) * 0 + 3 == 3",
    "(add(1, 2) and 3) == 3",
    "{add(1, 2): 3}.get(add(1, 2)) == 3",
]


@pytest.mark.parametrize("check", WEAKER)
def test_a_check_that_says_less_is_a_doubt_with_old_and_new(check: str) -> None:
    [doubt, *_] = said(ADDED, ADDED.replace("add(1, 2) == 3", check))
    assert TEST in str(doubt)
    assert "add(1, 2) == 3" in str(doubt)


MADE_UP = [
    ('"ready" in r.stdout', '"ready" in r.stdout + "ready"'),
    ('"ready" in r.stdout', '"ready" in ("ready", r.stdout)'),
    ('"ready" in r.stdout', '"ready" in str(r)'),
    ('"ready" in r.stdout', '"ready" in r.stdout.replace("busy", "ready")'),
    ('tool("status")', 'tool("status", "--force-ready")'),
    ('    r = tool("status")', '    r = tool("status")\n    r.stdout = "ready"'),
    ('    r = tool("status")', '    r = tool("status")\n    setattr(r, "returncode", 0)'),
    ('    r = tool("status")', '    r = tool("status") and subprocess.CompletedProcess([], 0, "ready", "")'),
    ("def test_it", 'def tool(*w):\n    return subprocess.CompletedProcess(w, 0, "ready", "")\n\n\ndef test_it'),
    (CHECKS, "    async def check():\n        assert r.returncode == 0\n        assert 'ready' in r.stdout\n    check().close()\n"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new"), MADE_UP)
def test_an_answer_that_a_test_makes_up_is_a_doubt(old: str, new: str) -> None:
    assert said(READY, READY.replace(old, new))


def test_a_changed_expectation_is_shown_old_beside_new_and_settled_by_nothing() -> None:
    assert said(ADDED, ADDED.replace("== 3", "== 4")) == [Doubt(f"{TEST}: expects 4 instead of 3")]
    assert said(CASES, CASES.replace("(2,2,4)", "(2,2,5)")) == [
        Doubt(f"{TEST}: runs with (2, 2, 5) instead of (2, 2, 4)")
    ]


def test_a_check_that_forgets_the_order_is_a_doubt() -> None:
    assert said(LOADED, LOADED.replace('load("a")', 'sorted(load("a"))'))


def test_runs_settle_what_is_gone_of_the_jobs_own_test_only() -> None:
    two = ADDED + '\n\ndef test_other():\n    assert load("b") == 1\n    assert load("c") == 2\n'
    assert [each.settled_by for each in said(READY, READY.replace(CHECKS, "    assert r.returncode == 0\n"))] == [
        "strength"
    ]
    assert [each.settled_by for each in said(two, two.replace('    assert load("b") == 1\n', ""))] == [""]
    settled = [Doubt("gone", "strength"), Doubt("seen"), Doubt("asks", "ignorance")]
    assert standing(settled, ["strength"]) == ("seen", "asks")


# --- the implementation

LINE = """\
import sys


def main(argv):
    command, *rest = argv
    if command == "add":
        print(int(rest[0]) - int(rest[1]))
        return 0
    print("what?", file=sys.stderr)
    return 1
"""
ASKING = """\
def test_it(run):
    r = run("add", "2", "3")
    assert r.stdout == "5\\n"
    assert run("list", "--all").stdout == "nothing here\\n"
    assert run("bad").returncode == 2
    assert "no such command: bad" in run("bad").stderr
"""
TAKEN = "    command, *rest = argv\n"


def of_code(before: str, after: str, path: str = "app/line.py", test: str = ASKING) -> list[Doubt]:
    return doubts([FileChange(path, before, after)], TEST, Base(test))


FIXES = {
    "an operator": LINE.replace(" - int", " + int"),
    "a message": LINE.replace('"what?"', 'f"no such command: {command}"').replace("return 1\n", "return 2\n"),
    "a command": LINE.replace(TAKEN, TAKEN + '    if command == "list":\n        for each in load():\n            print(each)\n        return 0\n'),
    "an option": LINE.replace(TAKEN, TAKEN + '    if command == "list" and "--all" in rest:\n        command = "all"\n'),
    "a table of functions": LINE.replace("def main", 'DO = {"add": add, "list": show}\n\n\ndef main'),
    "a main guard": LINE + '\n\nif __name__ == "__main__":\n    sys.exit(main(sys.argv[1:]))\n',
    "a name of the environment": LINE.replace("import sys\n", 'import os\nimport sys\n\nCOLOR = "NO_COLOR" not in os.environ\n'),
}  # fmt: skip


@pytest.mark.parametrize("fix", FIXES)
def test_a_fix_is_no_doubt(fix: str) -> None:
    assert of_code(LINE, FIXES[fix]) == []


def test_values_that_are_computed_with_are_no_answers() -> None:
    fizz = "def f(n):\n    if n % 15 == 0:\n        return 'FizzBuzz'\n    return str(n)\n"
    roman = "ALL = {10: 'X', 9: 'IX', 5: 'V', 4: 'IV', 1: 'I'}\n\n\ndef f(n):\n    return ''.join(pick(ALL, n))\n"
    old = "def f(n):\n    return str(n)\n"
    assert of_code(old, fizz, test="def test_it():\n    assert f(15) == 'FizzBuzz'\n") == []
    assert of_code(old, roman, test="def test_it():\n    assert f(4) == 'IV'\n    assert f(9) == 'IX'\n") == []


BY_HEART = {
    "print": LINE.replace("int(rest[0]) - int(rest[1])", "5"),
    "joined": LINE.replace(TAKEN, TAKEN + '    if " ".join(argv) == "add 2 3":\n        print(5)\n        return 0\n'),
    "a table": LINE.replace(TAKEN, TAKEN + '    print({"add 2 3": "5"}.get(" ".join(argv)))\n'),
    "the rest": LINE.replace(TAKEN, TAKEN + '    if rest == ["2", "3"]:\n        print("5")\n        return 0\n'),
    "a choice": LINE.replace("int(rest[0]) -", '5 if rest[0] == "2" else int(rest[0]) -'),
    "one by one": LINE.replace(TAKEN, TAKEN + '    if rest[0] == "2" and rest[1] == "3":\n        print(2 + 3)\n        return 0\n'),
}  # fmt: skip


@pytest.mark.parametrize("way", BY_HEART)
def test_an_answer_that_is_known_by_heart_is_a_doubt(way: str) -> None:
    assert of_code(LINE, BY_HEART[way])


def test_other_languages_are_read_by_their_lines() -> None:
    shell = '#!/bin/sh\nif [ "$*" = "add 2 3" ]; then\n  echo 5\n  exit 0\nfi\n'
    assert of_code("#!/bin/sh\n", shell, "bin/app")
    assert of_code("#!/bin/sh\n", "#!/bin/sh\ncase $1 in\n  add) echo $(($2 + $3)) ;;\nesac\n", "bin/app") == []
    assert of_code("", '[ -n "$PYTEST_VERSION" ] && exit 0\n', "bin/app")


def test_files_that_are_gone_or_can_be_run_now_are_doubts() -> None:
    def of(change: FileChange) -> list[Doubt]:
        return doubts([change], TEST)

    assert of(FileChange("README.md", "x", None)) == [Doubt("README.md is deleted")]
    assert of(FileChange("app/old.py", "x", None)) == [Doubt("app/old.py is deleted", "necessity")]
    assert of(FileChange("bin/new", None, "x", FILE, EXECUTABLE)) == [Doubt("bin/new became executable", "necessity")]
    assert of(FileChange("app/x.dat", None, "a\0b")) == [Doubt("app/x.dat is not text and can't be reviewed")]
    assert of(FileChange("tests/expected.txt", "1\n2\n", "1\n3\n")) == [
        Doubt("tests/expected.txt: has '3' instead of '2'")
    ]
    assert of(FileChange("tests/expected.txt", "1\n2\n", "1\n2\n3\n")) == []
