"""What tests expect: each check as what it looks at, how it compares, and with which value.

Names that stand for one value are replaced by it, so that a variable, a constant or a fixture of the same file
changes nothing; names of loops and columns are numbered, so that another name changes nothing either.
"""

import ast
import builtins
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass

from supervisor.flow.checks import is_checked_run
from supervisor.flow.names import FUNCTIONS, literal
from supervisor.flow.testcode import Function, TestCode, assigned_once

#: how much a comparison says: the very value, a part of it, something of it, nearly nothing
EXACT, PART, LOOSE, EITHER = 3, 2, 1, 0
_DEEPEST = 6
_LONGEST = 2000
_OPERATORS: Mapping[type[ast.cmpop], int] = {ast.Eq: EXACT, ast.Is: EXACT, ast.In: PART, ast.NotIn: PART}
_PARTIAL = ("match", "contain", "in", "regex", "startswith", "endswith", "search", "count", "like")
_UNITTEST: Mapping[str, type[ast.cmpop]] = {
    "assertEqual": ast.Eq,
    "assertEquals": ast.Eq,
    "assertListEqual": ast.Eq,
    "assertDictEqual": ast.Eq,
    "assertIs": ast.Is,
    "assertIn": ast.In,
    "assertNotIn": ast.NotIn,
    "assertNotEqual": ast.NotEq,
    "assertGreater": ast.Gt,
    "assertLess": ast.Lt,
}


@dataclass(frozen=True, slots=True)
class Expectation:
    #: `tests/test_it.py::test_one`
    where: str
    #: as it is written
    text: str
    #: as it is when names are replaced
    key: str
    subject: str
    #: of what it looks at: the names that are called or asked there, and the values that are written out
    roots: frozenset[str]
    inputs: frozenset[str]
    operator: str
    rank: int
    #: the value that is expected, in a tuple; None: it is not written out
    expected: tuple[object] | None
    #: what is expected is a column or a parameter, and comes from elsewhere
    is_general: bool
    sure: bool
    #: all values that are written in its function
    around: frozenset[str]


def expectations(path: str, code: TestCode) -> Iterator[Expectation]:
    """Of all functions of a file: what stands in a helper or a fixture counts as well."""
    for name, function in [*code.tests.items(), *code.others.items()]:
        columns = {column for table in function.tables for column in table.columns}
        reader = _Reader(code, function, columns, is_test=name in code.tests)
        callers = [test for test in code.tests.values() if name in test.conduct.calls]
        around = frozenset().union(*(written(each.node) for each in [function, *callers]))
        for check in function.conduct.checks:
            for test in reader.predicates(check.node):
                yield reader.expectation(f"{path}::{name}", test, check.sure, around)


def written(node: ast.AST) -> frozenset[str]:
    """Every value that is written out there, and the parts of those that have parts."""
    found = (literal(each) for each in ast.walk(node) if isinstance(each, ast.expr))
    return frozenset(repr(value[0]) for value in found if value is not None)


class _Reader:
    def __init__(self, code: TestCode, function: Function, columns: set[str], *, is_test: bool) -> None:
        self.code = code
        self.once = assigned_once(function.node.body)
        given = function.node.args
        parameters = {each.arg for each in [*given.posonlyargs, *given.args, *given.kwonlyargs]}
        #: of a test, what is no column is a fixture, known by its name
        self.fixtures = parameters - columns if is_test or _is_fixture(function.node) else set()
        stored = {
            node.id
            for node in ast.walk(function.node)
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
        }
        self.local = (stored | parameters | columns) - self.fixtures

    # --- checks as comparisons

    def predicates(self, node: ast.AST) -> Iterator[ast.expr]:
        if isinstance(node, ast.Assert):
            yield from _conjuncts(node.test)
        elif isinstance(node, ast.Call):
            name = self.code.names.dotted(node.func).rpartition(".")[2] or getattr(node.func, "attr", "")
            if is_checked_run(node, self.code.names):
                code = ast.Attribute(node, "returncode", ast.Load())
                yield ast.Compare(code, [ast.Eq()], [ast.Constant(0)])
            elif name in _UNITTEST and len(node.args) >= 2:
                yield ast.Compare(node.args[0], [_UNITTEST[name]()], [node.args[1]])
            elif name == "assertTrue" and node.args:
                yield node.args[0]
            elif not (isinstance(node.func, ast.Name) and node.func.id in self.code.others):
                yield node  # what a function of the file checks stands in that function

    def expectation(self, where: str, test: ast.expr, sure: bool, around: frozenset[str]) -> Expectation:
        whole = self.resolved(test, _DEEPEST)
        subject, operator, expected = _sides(whole)
        numbers: dict[str, str] = {}
        value = literal(_exactly(expected)) if expected is not None else None
        return Expectation(
            where=where,
            text=shown(test),
            key=_numbered(whole, numbers),
            subject=_numbered(subject, {}),
            roots=frozenset(_roots(whole)),
            inputs=written(subject),
            operator=operator,
            rank=_rank(whole, operator, expected),
            expected=value,
            is_general=expected is not None and value is None and not set(_roots(expected)),
            sure=sure,
            around=around,
        )

    # --- names

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
        node.keywords = [each for each in node.keywords if each.arg != "check"]
        return self.generic_visit(node)  # type: ignore[return-value]


def _is_fixture(node: ast.AST) -> bool:
    return isinstance(node, FUNCTIONS) and any("fixture" in ast.unparse(each) for each in node.decorator_list)


# --- comparisons


def _conjuncts(test: ast.expr) -> Iterator[ast.expr]:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for value in test.values:
            yield from _conjuncts(value)
    else:
        yield test


def _sides(test: ast.expr) -> tuple[ast.expr, str, ast.expr | None]:
    """What is looked at, how, and what is expected of it. A value that is written out is what is expected."""
    match test:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            name = type(operator).__name__
            if isinstance(operator, ast.In | ast.NotIn):
                return (left, name + "s", right) if literal(right) is not None else (right, name, left)
            swaps = literal(_exactly(left)) is not None and literal(_exactly(right)) is None
            return (right, name, left) if swaps else (left, name, right)
        case ast.Call(func=func, args=args) if _name(func) in (
            "raises",
            "assertRaises",
            "assertRaisesRegex",
            "warns",
        ):
            match_ = next((each.value for each in test.keywords if each.arg == "match"), ast.Constant(""))
            kind = ast.unparse(args[0]) if args else ""
            return ast.Name(_name(func), ast.Load()), f"raises {kind}", match_
        case ast.Call(func=func, args=args) if args and _name(func) != "isinstance":
            found = [each for each in args if literal(each) is not None]
            return test, f"call {_name(func)}", found[0] if found else None
    return test, "", None


def _exactly(node: ast.expr) -> ast.expr:
    """Of `approx(4)`: 4."""
    is_near = (
        isinstance(node, ast.Call) and _name(node.func) == "approx" and len(node.args) == 1 and not node.keywords
    )
    return node.args[0] if is_near and isinstance(node, ast.Call) else node


def _rank(test: ast.expr, operator: str, expected: ast.expr | None) -> int:
    names = {_name(each) for each in ast.walk(test) if isinstance(each, ast.Attribute | ast.Name)}
    if isinstance(test, ast.BoolOp):
        return EITHER
    is_near = isinstance(expected, ast.Call) and bool(expected.keywords)
    if "ANY" in names or is_near:
        return LOOSE
    if isinstance(test, ast.Compare):
        in_several = operator == "Ins"
        return LOOSE if in_several else _OPERATORS.get(type(test.ops[0]), LOOSE)
    if operator.startswith("raises"):
        return LOOSE if operator.endswith(("Exception", "raises ")) else EXACT
    if isinstance(test, ast.Call) and expected is not None:
        return PART if any(word in operator.lower().split("_") or word in operator for word in _PARTIAL) else EXACT
    return LOOSE


def _name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "").rpartition(".")[2]


def _roots(node: ast.AST) -> Iterator[str]:
    """What is asked: its name, whichever module it was taken from; neither built-in functions nor columns."""
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and not each.id.startswith("_"):
            package, _, last = each.id.rpartition(".")
            if package or not hasattr(builtins, last):
                yield f"{package.partition('.')[0]}:{last}"


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
