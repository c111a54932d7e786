"""A file of tests, read from its syntax tree: its tests, their checks, and ways to keep them from running.

It finds only what is certain. The rest (a skip at run time, a test that is not collected) shows when the file is run.
"""

import ast
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from supervisor.verification.rules.cases import Table, tables
from supervisor.verification.rules.checks import Checks, Conduct
from supervisor.verification.rules.names import FUNCTIONS, Names

_MARKS = {"skip", "skipif", "xfail"}
#: ways to keep a test from running or from counting, and the rule that each one breaks
AVOIDING: Mapping[str, str] = {
    **{f"pytest.mark.{mark}": mark for mark in _MARKS},
    **{f"pytest.{name}": name for name in ("skip", "xfail", "importorskip", "exit")},
    **{f"unittest.{name}": "skip" for name in ("skip", "skipIf", "skipUnless", "SkipTest")},
    "unittest.expectedFailure": "xfail",
    "pytest.mark.flaky": "rerun",
    "os._exit": "exit",
}
#: decorators that do not change a test
_PLAIN = ("pytest.mark.", "pytest.fixture", "staticmethod", "classmethod", "property", "hypothesis.")


class Unreadable(Exception):
    """It is not valid Python, or too deeply nested."""


@dataclass(frozen=True, slots=True)
class Function:
    """A test, a fixture or a helper."""

    node: ast.FunctionDef | ast.AsyncFunctionDef
    conduct: Conduct
    docstring: str = ""
    tables: tuple[Table, ...] = ()
    #: decorators that may replace the function
    wrapped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TestCode:
    """The code of a file. `tests` has the tests that pytest would collect, by name, such as `TestIt::test_one`."""

    #: tells pytest not to collect this class
    __test__ = False

    tree: ast.Module
    names: Names
    tests: Mapping[str, Function]
    #: all other functions by name
    others: Mapping[str, Function]
    #: names that are assigned once in the module
    constants: Mapping[str, ast.expr]
    #: occurrences of `AVOIDING`, by rule
    avoiding: Counter[str]
    #: the source of every timeout marker
    timeouts: tuple[str, ...]
    #: statements that replace a test by something else
    rebinding: Counter[str] = field(default_factory=Counter)


def parse(source: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Unreadable(str(error)) from error


@lru_cache(maxsize=16)
def read(source: str) -> TestCode:
    tree = parse(source)
    try:
        return _Reader(tree).code()
    except RecursionError as error:
        raise Unreadable(str(error)) from error


class _Reader:
    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.names = Names(tree)
        self.checks = Checks(tree, self.names)
        self.constants = assigned_once(tree.body)

    def code(self) -> TestCode:
        tests = {name: self.function(node, decorators) for name, node, decorators in _tests(self.tree, "", [])}
        taken = {id(each.node) for each in tests.values()}
        others = {
            node.name: self.function(node, node.decorator_list)
            for node in ast.walk(self.tree)
            if isinstance(node, FUNCTIONS) and id(node) not in taken and not node.name.startswith("test")
        }
        avoiding = Counter(rule for node in ast.walk(self.tree) if (rule := self.avoided(node)))
        timeouts = {id(node): node for node in ast.walk(self.tree) if self.is_timeout(node)}
        called = {id(node.func) for node in timeouts.values() if isinstance(node, ast.Call)}
        written = sorted(ast.unparse(node) for key, node in timeouts.items() if key not in called)
        rebinding = Counter(text for node in ast.walk(self.tree) if (text := self.rebinds(node)))
        return TestCode(self.tree, self.names, tests, others, self.constants, avoiding, tuple(written), rebinding)

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, decorators: list[ast.expr]) -> Function:
        wrapped = tuple(
            ast.unparse(each)
            for each in decorators
            if not self.names.dotted(each.func if isinstance(each, ast.Call) else each).startswith(_PLAIN)
        )
        found = tables(decorators, self.names, self.constants)
        return Function(node, self.checks.conduct(node.body), ast.get_docstring(node) or "", found, wrapped)

    def avoided(self, node: ast.AST) -> str:
        if isinstance(node, ast.Attribute | ast.Name):
            if isinstance(node, ast.Attribute) and node.attr == "skipTest":
                return "skip"
            return AVOIDING.get(self.names.dotted(node), "")
        if isinstance(node, ast.Call):
            by_word = self.names.dotted(node.func).rpartition(".")[2] in ("getattr", "add_marker", "applymarker")
            words = [each.value for each in node.args if isinstance(each, ast.Constant)]
            return next((str(word) for word in words if by_word and word in _MARKS), "")
        return ""

    def is_timeout(self, node: ast.AST) -> bool:
        return self.names.dotted(node.func if isinstance(node, ast.Call) else node) == "pytest.mark.timeout"

    def rebinds(self, node: ast.AST) -> str:
        """Cases: `globals()[…] = …` and the like; executed text; a function's code; the item that pytest runs."""
        if isinstance(node, ast.Call):
            called = self.names.dotted(node.func)
            on_module = any(_is_namespace(each) for each in node.args[:1])
            if called in ("exec", "builtins.exec") or (called == "setattr" and on_module):
                return ast.unparse(node)
            if isinstance(node.func, ast.Attribute) and _is_namespace(node.func.value):
                return ast.unparse(node) if node.func.attr in ("update", "setdefault", "__setitem__") else ""
        if isinstance(node, ast.Subscript | ast.Attribute) and not isinstance(node.ctx, ast.Load):
            owner = self.names.dotted(node.value)
            of_item = isinstance(node, ast.Attribute) and owner.endswith((".node", "_item", "pyfuncitem"))
            of_code = isinstance(node, ast.Attribute) and node.attr == "__code__"
            return ast.unparse(node) if _is_namespace(node.value) or of_item or of_code else ""
        return ""


def _is_namespace(node: ast.expr) -> bool:
    """The names of a module: `globals()`, `vars(…)`, `sys.modules[…]`, `module.__dict__`."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in ("globals", "vars", "locals")
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Attribute) and node.value.attr == "modules"
    return isinstance(node, ast.Attribute) and node.attr == "__dict__"


def assigned_once(body: list[ast.stmt]) -> dict[str, ast.expr]:
    """The values of names that are assigned exactly once, in a plain statement."""
    values: dict[str, ast.expr] = {}
    stored = Counter(
        node.id
        for each in body
        for node in ast.walk(each)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    )
    for each in statements(body):
        if isinstance(each, ast.Assign) and len(each.targets) == 1 and isinstance(each.targets[0], ast.Name):
            values[each.targets[0].id] = each.value
        elif isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name) and each.value is not None:
            values[each.target.id] = each.value
    return {name: value for name, value in values.items() if stored[name] == 1}


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """All statements, including nested ones, except those inside functions and classes."""
    for each in body:
        yield each
        if not isinstance(each, (*FUNCTIONS, ast.ClassDef)):
            for _, inner in ast.iter_fields(each):
                parts = inner if isinstance(inner, list) else []
                yield from statements([part for part in parts if isinstance(part, ast.stmt)])
                yield from statements([s for part in parts if isinstance(part, ast.ExceptHandler) for s in part.body])


def _tests(
    node: ast.Module | ast.ClassDef, prefix: str, outer: list[ast.expr]
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef, list[ast.expr]]]:
    """The tests that pytest collects here: the last one of each name, unless the name is rebound or deleted."""
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


def _bound(node: ast.AST) -> Iterator[str]:
    """Names that a statement binds, deletes or excludes from collection."""
    for each in ast.walk(node):
        if isinstance(each, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in each.names)
        elif isinstance(each, (*FUNCTIONS, ast.ClassDef)):
            yield each.name
        elif isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load):
            yield each.id
        elif isinstance(each, ast.Attribute) and each.attr == "__test__" and isinstance(each.value, ast.Name):
            yield each.value.id


def _is_hidden(node: ast.ClassDef) -> bool:
    return any("__test__" in _bound(each) for each in node.body if isinstance(each, ast.Assign | ast.AnnAssign))
