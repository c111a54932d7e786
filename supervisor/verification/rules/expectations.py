"""Expectations of tests: each check as its actual value, its operator and its expected value.

Names bound to a single value are replaced by it, so that introducing a variable, a constant or a fixture makes no
difference. Names of loops and columns are numbered, so that renaming them makes no difference either.
"""

import ast
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass

from supervisor.verification.rules.checks import is_checked_run
from supervisor.verification.rules.comparisons import (
    LOSSY,
    UNITTEST,
    conjuncts,
    exactly,
    guards,
    last_name,
    rank_of,
    roots_of,
    sides,
)
from supervisor.verification.rules.names import FUNCTIONS, literal
from supervisor.verification.rules.testcode import Function, TestCode, assigned_once
from supervisor.verification.rules.ways import says_so

_DEEPEST = 6
_LONGEST = 2000


@dataclass(frozen=True, slots=True)
class Expectation:
    #: `tests/test_it.py::test_one`
    where: str
    #: its source
    text: str
    #: its source after names are replaced
    key: str
    subject: str
    #: the names and the literal values that the actual value is computed from
    roots: frozenset[str]
    inputs: tuple[str, ...]
    #: the attributes and the kinds of expressions in the actual value
    made_of: frozenset[str]
    #: literal values inside functions of the same file that it calls
    behind: frozenset[str]
    operator: str
    rank: int
    #: the expected value, in a tuple; None: not a literal
    expected: tuple[object] | None
    #: the expected value is a column or a parameter
    is_general: bool
    #: functions in it that map different values to the same one
    lossy: frozenset[str]
    sure: bool
    #: all literal values in its function
    around: frozenset[str]


def expectations(path: str, code: TestCode) -> Iterator[Expectation]:
    """The expectations of all functions of a file, including helpers and fixtures."""
    for name, function in [*code.tests.items(), *code.others.items()]:
        columns = {column for table in function.tables for column in table.columns}
        reader = _Reader(code, function, columns, is_test=name in code.tests)
        callers = [test for test in code.tests.values() if name in test.conduct.calls]
        around = frozenset().union(*(written(each.node) for each in [function, *callers]))
        for check in function.conduct.checks:
            for test in reader.predicates(check.node):
                yield reader.expectation(f"{path}::{name}", test, check.sure, around)
        if any(says_so(check.node, code.names) for check in function.conduct.checks):
            for test in guards(function.node, code.names):
                yield reader.expectation(f"{path}::{name}", test, True, around)


def written(node: ast.AST) -> frozenset[str]:
    """Every literal value, and the elements of containers."""
    found = (literal(each) for each in ast.walk(node) if isinstance(each, ast.expr))
    return frozenset(repr(value[0]) for value in found if value is not None)


def _inputs(node: ast.AST) -> tuple[str, ...]:
    """Literal values in their order; for a list or a tuple, its elements."""
    value = literal(node) if isinstance(node, ast.expr) else None
    if value is not None and not (isinstance(node, ast.List | ast.Tuple | ast.Dict | ast.Set) and value[0]):
        return (repr(value[0]),)
    return tuple(each for child in ast.iter_child_nodes(node) for each in _inputs(child))


#: kinds of nodes that an expression may contain without changing what it is about
_PLAIN = (
    ast.Call,
    ast.Attribute,
    ast.Name,
    ast.Constant,
    ast.List,
    ast.Tuple,
    ast.keyword,
    ast.expr_context,
    ast.Starred,
)


def _made_of(node: ast.AST) -> frozenset[str]:
    inside = list(ast.walk(node))
    attributes = {f".{each.attr}" for each in inside if isinstance(each, ast.Attribute)}
    called = {
        f".{each.func.attr}" for each in inside if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute)
    }
    return frozenset(attributes - called) | {type(each).__name__ for each in inside if not isinstance(each, _PLAIN)}


class _Reader:
    def __init__(self, code: TestCode, function: Function, columns: set[str], *, is_test: bool) -> None:
        self.code = code
        self.once = assigned_once(function.node.body)
        given = function.node.args
        parameters = {each.arg for each in [*given.posonlyargs, *given.args, *given.kwonlyargs]}
        #: in a test, a parameter that is not a column is a fixture, identified by its name
        self.fixtures = parameters - columns if is_test or _is_fixture(function.node) else set()
        stored = {
            node.id
            for node in ast.walk(function.node)
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
        }
        self.local = (stored | parameters | columns) - self.fixtures

    # --- comparisons

    def predicates(self, node: ast.AST) -> Iterator[ast.expr]:
        if says_so(node, self.code.names):
            return
        if isinstance(node, ast.Assert):
            yield from conjuncts(node.test)
        elif isinstance(node, ast.Call):
            name = self.code.names.dotted(node.func).rpartition(".")[2] or getattr(node.func, "attr", "")
            if is_checked_run(node, self.code.names):
                code = ast.Attribute(node, "returncode", ast.Load())
                yield ast.Compare(code, [ast.Eq()], [ast.Constant(0)])
            elif name in UNITTEST and len(node.args) >= 2:
                yield ast.Compare(node.args[0], [UNITTEST[name]()], [node.args[1]])
            elif name == "assertTrue" and node.args:
                yield node.args[0]
            elif not (isinstance(node.func, ast.Name) and node.func.id in self.code.others):
                yield node  # the checks of a called function of the file are found in that function

    def expectation(self, where: str, test: ast.expr, sure: bool, around: frozenset[str]) -> Expectation:
        whole = self.resolved(test, _DEEPEST)
        subject, operator, expected = sides(whole)
        numbers: dict[str, str] = {}
        value = literal(exactly(expected)) if expected is not None else None
        return Expectation(
            where=where,
            text=shown(test),
            key=_numbered(whole, numbers),
            subject=_numbered(subject, {}),
            roots=frozenset(roots_of(whole)) | self.behind(whole),
            inputs=_inputs(subject),
            made_of=_made_of(subject),
            behind=self.behind_values(whole),
            operator=operator,
            rank=rank_of(whole, operator, expected),
            expected=value,
            is_general=expected is not None and value is None and not set(roots_of(expected)),
            lossy=frozenset(last_name(each.func) for each in ast.walk(subject) if isinstance(each, ast.Call)) & LOSSY,
            sure=sure,
            around=around,
        )

    # --- names

    def called(self, node: ast.expr) -> list[ast.AST]:
        """Functions of the same file that are called there or passed as arguments."""
        names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        return [self.code.others[name].node for name in sorted(names & self.code.others.keys())]

    def behind(self, node: ast.expr) -> frozenset[str]:
        """The names that those functions use from other modules."""
        names = self.code.names
        inner = [each for function in self.called(node) for each in ast.walk(function)]
        taken = [each for each in inner if isinstance(each, ast.Name) and each.id in names.imported]
        return frozenset(root for each in taken for root in roots_of(ast.Name(names.dotted(each), ast.Load())))

    def behind_values(self, node: ast.expr) -> frozenset[str]:
        return frozenset().union(*(written(function) for function in self.called(node)))

    def resolved(self, node: ast.expr, depth: int) -> ast.expr:
        return _Resolving(self, depth).visit(deepcopy(node))  # type: ignore[no-any-return]

    def value_of(self, name: str) -> ast.expr | None:
        if name in self.once:
            return self.once[name]
        if name in self.fixtures and (fixture := self.code.others.get(name)) and _is_fixture(fixture.node):
            given = [each.value for each in ast.walk(fixture.node) if isinstance(each, ast.Return | ast.Yield)]
            return given[0] if len(given) == 1 else None
        return None if name in self.local else self.code.constants.get(name)


class _Resolving(ast.NodeTransformer):
    def __init__(self, reader: _Reader, depth: int) -> None:
        self.reader, self.depth = reader, depth

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self.reader.value_of(node.id) if self.depth else None
        if value is not None and len(ast.dump(value)) < _LONGEST:
            return self.reader.resolved(value, self.depth - 1)
        if node.id in self.reader.local:
            return ast.Name(f"_{node.id}", ast.Load())
        return ast.Name(self.reader.code.names.dotted(node), ast.Load())

    def visit_Call(self, node: ast.Call) -> ast.expr:
        node.keywords = [each for each in node.keywords if each.arg not in _AROUND]
        return self.generic_visit(node)  # type: ignore[return-value]


#: arguments that say how a program is run, not what its input is
_AROUND = {
    "check",
    "timeout",
    "text",
    "capture_output",
    "encoding",
    "errors",
    "universal_newlines",
    "stdout",
    "stderr",
}


def _is_fixture(node: ast.AST) -> bool:
    return isinstance(node, FUNCTIONS) and any("fixture" in ast.unparse(each) for each in node.decorator_list)


def _numbered(node: ast.expr, numbers: dict[str, str]) -> str:
    copied = deepcopy(node)
    for each in ast.walk(copied):
        if isinstance(each, ast.Name) and each.id.startswith("_"):
            each.id = numbers.setdefault(each.id, f"_{len(numbers) + 1}")
    return ast.unparse(copied)


def shown(node: ast.AST) -> str:
    return clipped(" ".join(ast.unparse(node).split()))


def clipped(text: str) -> str:
    return text if len(text) <= 90 else f"{text[:89]}…"
