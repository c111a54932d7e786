"""Where code can be changed a little: a condition, a comparison, a constant, a returned value, a call left out."""

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

_COMPARISONS: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_OPERATIONS: Mapping[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
}


type Change = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Spot:
    line: int
    what: str
    change: Change


def spots(tree: ast.Module, reached: frozenset[int]) -> Iterator[Spot]:
    """Where code can be changed a little, in an order that is the same for equal trees."""
    silent = {id(each) for node in ast.walk(tree) for each in _unspoken(node)}
    for parent in ast.walk(tree):
        for name, node in ast.iter_fields(parent):
            many = node if isinstance(node, list) else [node]
            for index, each in enumerate(many):
                if isinstance(each, ast.AST) and getattr(each, "lineno", 0) in reached and id(each) not in silent:
                    place = (parent, name, index if isinstance(node, list) else None)
                    yield from _changes(each, place)


def _unspoken(node: ast.AST) -> Iterator[ast.AST]:
    """Docstrings and other bare strings, the parts of f-strings, and annotations."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield from node.values
        yield from (each for value in node.values for each in ast.walk(value) if isinstance(each, ast.Constant))
    for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
        if isinstance(annotation, ast.AST):
            yield from ast.walk(annotation)


type Place = tuple[ast.AST, str, int | None]


def _put(place: Place, new: ast.AST) -> Change:
    def change() -> None:
        parent, name, index = place
        if index is None:
            setattr(parent, name, new)
        else:
            getattr(parent, name)[index] = new

    return change


def _changes(node: ast.AST, place: Place) -> Iterator[Spot]:
    line: int = getattr(node, "lineno", 0)
    match node:
        case ast.If() | ast.While() | ast.IfExp():
            negated = ast.UnaryOp(ast.Not(), node.test)
            yield Spot(line, "asks the opposite", _put((node, "test", None), negated))
        case ast.Compare(ops=[op]) if type(op) in _COMPARISONS:
            other = ast.Compare(node.left, [_COMPARISONS[type(op)]()], node.comparators)
            yield Spot(line, "compares otherwise", _put(place, other))
        case ast.Constant(value=value) if (wrong := _other(value)) is not None:
            yield Spot(line, f"has {wrong!r:.30} for {value!r:.30}", _put(place, ast.Constant(wrong)))
        case ast.AugAssign(op=op) if type(op) in _OPERATIONS:
            yield Spot(line, "calculates otherwise", _put((node, "op", None), _OPERATIONS[type(op)]()))
        case ast.BinOp(op=op) if type(op) in _OPERATIONS and not _is_text(node):
            yield Spot(line, "calculates otherwise", _put((node, "op", None), _OPERATIONS[type(op)]()))
        case ast.Return(value=ast.expr()) if not _is_none(node.value):
            yield Spot(line, "returns None", _put((node, "value", None), ast.Constant(None)))
        case ast.Expr(value=ast.Call()) | ast.Raise():
            what = "raises nothing" if isinstance(node, ast.Raise) else "leaves a call out"
            yield Spot(line, what, _put(place, ast.Pass()))


def _other(value: object) -> bool | int | float | str | None:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return f"{value}?"
    return None


def _is_text(node: ast.BinOp) -> bool:
    return any(isinstance(each, ast.JoinedStr) or _is_str(each) for each in (node.left, node.right))


def _is_str(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_none(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
