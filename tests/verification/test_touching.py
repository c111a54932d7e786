"""Which lines of a change somebody else could notice."""

import pytest

from supervisor.verification.evidence.laying import Content
from supervisor.verification.together.touching import Touch, touch

BASE = """import os


def first(n):
    a = n
    return a


class Box:
    def open(self):
        return 1


LIMIT = 3
"""


def touched(now: str, *, path: str = "tool/app.py", base: str = BASE) -> Touch:
    return touch(path, Content(base.encode()), Content(now.encode()))


@pytest.mark.parametrize(
    ("now", "lines"),
    [
        pytest.param(BASE, set(), id="nothing"),
        pytest.param(BASE.replace("a = n", "a = n + 1"), {5}, id="a statement of a function"),
        pytest.param(BASE.replace("    a = n\n", ""), {5}, id="removed: its neighbours, the head left out"),
        pytest.param(BASE.replace("import os", "import os\nimport sys"), set(), id="an import"),
        pytest.param(BASE + "\n\ndef second(n):\n    return n\n", {18}, id="a new function: its body"),
        pytest.param(BASE.replace("first(n)", "first(n, m=2)"), {5, 6}, id="a changed head: all of its body"),
        pytest.param(BASE.replace("open(self)", "open(self, m=2)"), {11}, id="a changed head of a method"),
        pytest.param(BASE.replace("LIMIT = 3", "LIMIT = 4"), {14}, id="a value of the module"),
        pytest.param(BASE.replace("    a = n", "    # note\n\n    a = n"), set(), id="a comment"),
        pytest.param(BASE.replace("def first", "@cache\ndef first"), {4}, id="a decorator is executed"),
    ],
)
def test_lines(now: str, lines: set[int]) -> None:
    assert touched(now).lines == lines


def test_what_is_no_python_is_touched_as_a_whole() -> None:
    assert touched("b", path="data.txt", base="a").whole
    assert touched("def broken(:\n").whole
    assert touch("tool", Content(b"x", "program"), Content(b"y", "program")).whole


def test_what_is_gone_can_be_missed_by_anybody() -> None:
    assert touch("tool/app.py", Content(b"x"), None).is_gone
    assert not touch("tool/app.py", None, None).is_gone
