"""What a file of tests promises, read from its syntax tree: its tests, what they check, how they could be kept away.

It looks for the known ways to make a test green without making it true. What can't be seen here (a skip at run time,
a test that is not collected) shows when the file is run.
"""

import ast
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from supervisor.flow.checks import FUNCTIONS, Checks, Names, Tally

_MARKS = {"skip", "skipif", "xfail"}
#: the ways to keep a test from running or from counting, and the rule that each breaks
AVOIDING: Mapping[str, str] = {
    **{f"pytest.mark.{mark}": mark for mark in _MARKS},
    **{f"pytest.{name}": name for name in ("skip", "xfail", "importorskip", "exit")},
    **{f"unittest.{name}": "skip" for name in ("skip", "skipIf", "skipUnless", "SkipTest")},
    "unittest.expectedFailure": "xfail",
    "pytest.mark.flaky": "rerun",
    "os._exit": "exit",
}

type _Function = ast.FunctionDef | ast.AsyncFunctionDef


class Unreadable(Exception):
    """It is not Python, or too deeply nested to be read."""


@dataclass(frozen=True, slots=True)
class TestFunction:
    #: for pytest: this is no test
    __test__ = False

    tally: Tally
    docstring: str
    #: argument names and number of values of each `parametrize`; -1: not written out
    parameters: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class TestCode:
    """`tests` by name, such as `TestIt::test_one`; only what pytest would collect."""

    __test__ = False

    tests: Mapping[str, TestFunction]
    #: what is in `AVOIDING`, by its rule
    avoiding: Counter[str]
    #: every timeout marker, as it is written
    timeouts: tuple[str, ...]


def read(source: str) -> TestCode:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
        return _Reader(tree).code()
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Unreadable(str(error)) from error


class _Reader:
    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.names = Names(tree)
        self.checks = Checks(tree, self.names)

    def code(self) -> TestCode:
        tests = {
            name: TestFunction(
                self.checks.tally(node.body), ast.get_docstring(node) or "", self.parameters(decorators)
            )
            for name, node, decorators in _tests(self.tree, "", [])
        }
        avoiding = Counter(rule for node in ast.walk(self.tree) if (rule := self.avoided(node)))
        timeouts = {id(node): node for node in ast.walk(self.tree) if self.is_timeout(node)}
        called = {id(node.func) for node in timeouts.values() if isinstance(node, ast.Call)}
        written = sorted(ast.unparse(node) for key, node in timeouts.items() if key not in called)
        return TestCode(tests, avoiding, tuple(written))

    # --- names

    def avoided(self, node: ast.AST) -> str:
        if isinstance(node, ast.Attribute | ast.Name):
            if isinstance(node, ast.Attribute) and node.attr == "skipTest":
                return "skip"
            return AVOIDING.get(self.names.dotted(node), "")
        if isinstance(node, ast.Call):
            by_word = self.names.dotted(node.func).rpartition(".")[2] in ("getattr", "add_marker")
            words = [each.value for each in node.args if isinstance(each, ast.Constant)]
            return next((str(word) for word in words if by_word and word in _MARKS), "")
        return ""

    def is_timeout(self, node: ast.AST) -> bool:
        return self.names.dotted(node.func if isinstance(node, ast.Call) else node) == "pytest.mark.timeout"

    def parameters(self, decorators: Iterable[ast.expr]) -> dict[str, int]:
        found = {}
        for node in decorators:
            if isinstance(node, ast.Call) and self.names.dotted(node.func) == "pytest.mark.parametrize" and node.args:
                values = [*node.args[1:2], *(each.value for each in node.keywords if each.arg == "argvalues")]
                written = bool(values) and isinstance(values[0], ast.List | ast.Tuple | ast.Set)
                found[ast.unparse(node.args[0])] = len(values[0].elts) if written else -1  # type: ignore[attr-defined]
        return found


def _tests(
    node: ast.Module | ast.ClassDef, prefix: str, outer: list[ast.expr]
) -> Iterator[tuple[str, _Function, list[ast.expr]]]:
    """The tests that are collected from here: the last of each name, unless the name is bound anew or deleted."""
    found: dict[str, ast.stmt] = {}
    for each in node.body:
        if isinstance(each, (*FUNCTIONS, ast.ClassDef)):
            found[each.name] = each
        else:
            for name in _bound(each):
                found.pop(name, None)
    for name, each in found.items():
        if isinstance(each, FUNCTIONS) and name.startswith("test"):
            yield prefix + name, each, [*outer, *each.decorator_list]
        elif isinstance(each, ast.ClassDef) and (name.startswith("Test") or each.bases) and not _is_hidden(each):
            yield from _tests(each, f"{prefix}{name}::", [*outer, *each.decorator_list])


def _bound(node: ast.stmt) -> Iterator[str]:
    """Names that a statement binds or deletes, and those that it takes out of the collection."""
    targets = [each for each in ast.walk(node) if isinstance(each, ast.Name | ast.Attribute)]
    for each in targets:
        if isinstance(each.ctx, ast.Load):
            continue
        if isinstance(each, ast.Name):
            yield each.id
        elif each.attr == "__test__" and isinstance(each.value, ast.Name):
            yield each.value.id


def _is_hidden(node: ast.ClassDef) -> bool:
    return any("__test__" in _bound(each) for each in node.body)
