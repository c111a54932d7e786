"""Checks as comparisons: the actual value, the operator, the expected value, and how strict that is."""

import ast
import builtins
from collections.abc import Iterator, Mapping

from supervisor.verification.rules.names import Names, literal
from supervisor.verification.rules.ways import says_so

#: the strictness of a comparison: the exact value, a part of it, a property of it, almost nothing
EXACT, PART, LOOSE, EITHER = 3, 2, 1, 0
_OPERATORS: Mapping[type[ast.cmpop], int] = {ast.Eq: EXACT, ast.Is: EXACT, ast.In: PART, ast.NotIn: PART}
_PARTIAL = ("match", "contain", "in", "regex", "startswith", "endswith", "search", "count", "like")
UNITTEST: Mapping[str, type[ast.cmpop]] = {
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


def guards(node: ast.AST, names: Names) -> Iterator[ast.expr]:
    """The conditions of a function that raises its failure itself: those to leave its loop, and those not to fail."""
    for each in ast.walk(node):
        if isinstance(each, ast.If) and isinstance(each.body[-1], ast.Return | ast.Break):
            yield from conjuncts(each.test)
        elif isinstance(each, ast.If) and any(says_so(inner, names) for top in each.body for inner in ast.walk(top)):
            yield _contrary(each.test)


_CONTRARY: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}


def _contrary(test: ast.expr) -> ast.expr:
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return operand
        case ast.Compare(left=left, ops=[operator], comparators=rights) if type(operator) in _CONTRARY:
            return ast.Compare(left, [_CONTRARY[type(operator)]()], rights)
    return ast.UnaryOp(ast.Not(), test)


def conjuncts(test: ast.expr) -> Iterator[ast.expr]:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for value in test.values:
            yield from conjuncts(value)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and isinstance(test.operand, ast.Compare):
        yield _contrary(test.operand)
    elif both := _pairs(test):
        yield from both
    else:
        yield test


def _pairs(test: ast.expr) -> list[ast.expr]:
    """`(a, b) == (1, 2)` is two comparisons."""
    match test:
        case ast.Compare(
            left=ast.Tuple(elts=lefts) | ast.List(elts=lefts),
            ops=[ast.Eq()],
            comparators=[ast.Tuple(elts=rights) | ast.List(elts=rights)],
        ) if len(lefts) == len(rights):
            return [ast.Compare(one, [ast.Eq()], [other]) for one, other in zip(lefts, rights, strict=True)]
    return []


#: functions that map different values to the same one
LOSSY = {
    *(
        "sorted",
        "set",
        "frozenset",
        "len",
        "round",
        "abs",
        "bool",
        "any",
        "all",
        "min",
        "max",
        "sum",
        "Counter",
        "keys",
    ),
    *(
        "lower",
        "upper",
        "casefold",
        "replace",
        "sub",
        "partition",
        "rpartition",
        "removeprefix",
        "removesuffix",
        "int",
    ),
}


def sides(test: ast.expr) -> tuple[ast.expr, str, ast.expr | None]:
    """The actual value, the operator and the expected value. A literal is taken for the expected value."""
    match test:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            name = type(operator).__name__
            if isinstance(operator, ast.In | ast.NotIn):
                return (left, name + "s", right) if literal(right) is not None else (right, name, left)
            swaps = literal(exactly(left)) is not None and literal(exactly(right)) is None
            return (right, name, left) if swaps else (left, name, right)
        case ast.Call(func=func, args=args) if last_name(func) in (
            "raises",
            "assertRaises",
            "assertRaisesRegex",
            "warns",
        ):
            match_ = next((each.value for each in test.keywords if each.arg == "match"), ast.Constant(""))
            kind = ast.unparse(args[0]) if args else ""
            return ast.Name(last_name(func), ast.Load()), f"raises {kind}", match_
        case ast.Call(func=func, args=args) if args and last_name(func) != "isinstance":
            found = [each for each in args if literal(each) is not None]
            return test, f"call {last_name(func)}", found[0] if found else None
    return test, "", None


def exactly(node: ast.expr) -> ast.expr:
    """The argument of `approx(4)`: 4."""
    is_near = (
        isinstance(node, ast.Call) and last_name(node.func) == "approx" and len(node.args) == 1 and not node.keywords
    )
    return node.args[0] if is_near and isinstance(node, ast.Call) else node


def rank_of(test: ast.expr, operator: str, expected: ast.expr | None) -> int:
    names = {last_name(each) for each in ast.walk(test) if isinstance(each, ast.Attribute | ast.Name)}
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


def last_name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "").rpartition(".")[2]


def roots_of(node: ast.AST) -> Iterator[str]:
    """The names that an expression depends on, resolved through imports, without built-in functions and columns."""
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and not each.id.startswith("_"):
            package, _, last = each.id.rpartition(".")
            if package or not hasattr(builtins, last):
                yield f"{package.partition('.')[0]}:{last}"
