"""Finds tests and their citations by parsing their source, without running it.

Three forms: `e2e.write_tutorial_block("…")` in the body; `Tutorial block:` in the docstring, or a docstring that
begins with `#` and is the block itself; and a block's id, by `e2e.tutorial("id")` in the body, or
`@pytest.mark.tutorial("id")` (or an alias called `tutorial`) on a test or its class. Only literals count: an f-string
or a name is rejected with a message, because its value is unknown.
"""

import ast
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import ClassVar
from typing import Literal as Choice

from supervisor.e2e.tutorial.chunks import universal_newlines
from supervisor.e2e.tutorial.conduct import Conduct, Function, conduct_of, fixtures_of, name_of, receiver_of
from supervisor.e2e.tutorial.literals import Literal, Section, literal_of, sections_of

type Form = Choice["call", "docstring", "id"]

WRITER = "write_tutorial_block"
MARKER = "tutorial"


@dataclass(frozen=True, slots=True)
class Citation:
    """What a test cites: any of its `readings` may be the block's text (or its id, in the id form)."""

    form: Form
    line: int
    readings: tuple[str, ...]
    literal: Literal
    section: Section | None = None


@dataclass(frozen=True, slots=True)
class Rejected:
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Test:
    __test__: ClassVar[bool] = False  # else pytest would collect it wherever it is imported

    path: str
    name: str
    line: int
    citations: tuple[Citation, ...]
    rejected: tuple[Rejected, ...]
    conduct: Conduct

    @property
    def id(self) -> str:
        """Its pytest node id, without parameters."""
        return f"{self.path}::{self.name}"


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A test file that is not valid Python."""

    path: str
    line: int
    message: str


def find_tests(roots: Iterable[Path]) -> tuple[list[Test], list[Unreadable]]:
    """All tests under some folders (or in some files), in order of path and line."""
    tests: list[Test] = []
    unreadable: list[Unreadable] = []
    for path in sorted({path for root in roots for path in _test_files(root)}):
        try:
            tests += read_tests(path.read_text(encoding="utf-8-sig"), path.as_posix())
        except (SyntaxError, ValueError, RecursionError, OSError) as problem:
            line = problem.lineno if isinstance(problem, SyntaxError) else None
            unreadable.append(Unreadable(path.as_posix(), line or 1, f"can't be read: {problem}"))
    return tests, unreadable


def _test_files(root: Path) -> Iterator[Path]:
    """Files that pytest would collect by its defaults."""
    if root.is_file():
        yield root
        return
    for path in root.rglob("*.py"):
        if path.name.startswith("test_") or path.name.endswith("_test.py"):
            yield path


def read_tests(source: str, path: str) -> list[Test]:
    """The tests of one file. Raises SyntaxError or ValueError if it is not valid Python."""
    source = universal_newlines(source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # `\$` in a docstring is not our concern
        tree = ast.parse(source)
        lines = source.split("\n")
        # As in Python itself, a later function of the same name replaces the earlier one.
        tests = {test.name: test for test in _tests_in(tree.body, "", (), path, lines)}
    return sorted(tests.values(), key=lambda test: test.line)


def _tests_in(
    body: Sequence[ast.stmt], prefix: str, marks: tuple[ast.expr, ...], path: str, lines: list[str]
) -> Iterator[Test]:
    """Cases: a test, a class of tests, a branch such as `if sys.platform …:`."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name.startswith("test"):
                yield _test(node, prefix, marks, path, lines)
        elif isinstance(node, ast.ClassDef):
            if _is_test_class(node):
                yield from _tests_in(node.body, f"{prefix}{node.name}::", (*marks, *node.decorator_list), path, lines)
        elif isinstance(node, ast.If | ast.Try | ast.With):
            yield from _tests_in(node.body, prefix, marks, path, lines)
            yield from _tests_in(getattr(node, "orelse", []), prefix, marks, path, lines)


def _is_test_class(node: ast.ClassDef) -> bool:
    return node.name.startswith("Test") or any(ast.unparse(base).endswith("TestCase") for base in node.bases)


def _test(node: Function, prefix: str, marks: tuple[ast.expr, ...], path: str, lines: list[str]) -> Test:
    fixtures = fixtures_of(node)
    calls, conduct = conduct_of(node, fixtures)
    found = [
        *_marked((*marks, *node.decorator_list), lines),
        *_in_docstring(node, lines),
        *_called(calls, fixtures, lines),
    ]
    citations = tuple(sorted((each for each in found if isinstance(each, Citation)), key=lambda each: each.line))
    rejected = tuple(each for each in found if isinstance(each, Rejected))
    return Test(path, prefix + node.name, node.lineno, citations, rejected, conduct)


def _marked(decorators: Iterable[ast.expr], lines: list[str]) -> Iterator[Citation | Rejected]:
    for decorator in decorators:
        if not isinstance(decorator, ast.Call) or name_of(decorator.func) != MARKER:
            continue
        if not decorator.args:
            yield Rejected(decorator.lineno, f"{MARKER}() names no block")
        for argument in decorator.args:
            yield _cited("id", argument, lines)


def _called(calls: Iterable[ast.Call], fixtures: set[str], lines: list[str]) -> Iterator[Citation | Rejected]:
    for call in calls:
        name = name_of(call.func)
        if name != WRITER and not (name == MARKER and receiver_of(call) in fixtures | {"e2e"}):
            continue
        arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
        if len(arguments) != 1:
            yield Rejected(call.lineno, f"{name} takes one string")
        else:
            yield _cited("call" if name == WRITER else "id", arguments[0], lines)


def _cited(form: Form, argument: ast.expr, lines: list[str]) -> Citation | Rejected:
    if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
        literal = literal_of(argument, lines)
        return Citation(form, literal.line, literal.texts, literal)
    what = "an f-string" if isinstance(argument, ast.JoinedStr) else "not a string literal"
    return Rejected(
        argument.lineno, f"{what}: a citation is checked without running the test, so write the text itself"
    )


def _in_docstring(node: Function, lines: list[str]) -> Iterator[Citation]:
    first = node.body[0]
    if not isinstance(first, ast.Expr) or not isinstance(first.value, ast.Constant):
        return
    value = first.value.value
    if not isinstance(value, str):
        return
    if value.lstrip().startswith("#"):  # a docstring that is the block itself
        literal = literal_of(first.value, lines)
        yield Citation("docstring", literal.line, literal.texts, literal)
        return
    if "tutorial block" not in value.lower():
        return
    literal = literal_of(first.value, lines)
    for same in zip_longest(*(sections_of(text) for text in literal.texts)):
        sections = [section for section in same if section]
        readings = dict.fromkeys(reading for section in sections for reading in section.readings)
        written = sections[0]
        yield Citation("docstring", literal.line + written.start - 1, tuple(readings), literal, written)
