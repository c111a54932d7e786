"""What a test does: the commands it runs, and whether it expects any of them to fail."""

import ast
from dataclasses import dataclass
from typing import Any

type Function = ast.FunctionDef | ast.AsyncFunctionDef

RUNNERS = {"run", "spawn", "record", "terminal"}
UNKNOWN = "\0"  # stands for a part of a command that is only known when the test runs

# Fields that hold no expression or statement: leaving them out halves the time of a walk over thousands of tests.
_NO_NODES = {"ctx", "op", "ops", "id", "attr", "arg", "name", "names", "kind", "conversion", "type_comment"}
_FIELDS: dict[type, tuple[str, ...]] = {
    kind: tuple(field for field in kind._fields if field not in _NO_NODES)
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST) and kind not in {ast.Constant, ast.Name}
}


@dataclass(frozen=True, slots=True)
class Conduct:
    commands: tuple[str, ...] = ()
    is_unhappy: bool = False

    @property
    def label(self) -> str:
        return "unhappy" if self.is_unhappy else "happy"


def name_of(function: ast.expr) -> str:
    """The last name of what is called: `run` of `self.e2e.run`."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def receiver_of(call: ast.Call) -> str:
    """The last name before the method: `e2e` of `self.e2e.run(…)`; empty for a plain function."""
    return name_of(call.func.value) if isinstance(call.func, ast.Attribute) else ""


def fixtures_of(function: Function) -> set[str]:
    return {argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)}


def conduct_of(function: Function, fixtures: set[str]) -> tuple[list[ast.Call], Conduct]:
    """Every call in a test's body in source order, and what they say about it."""
    calls: list[ast.Call] = []
    known: dict[str, str] = {}
    is_unhappy = False
    pending: list[Any] = list(function.body)
    while pending:
        node = pending.pop()
        kind = type(node)
        if kind is ast.Call:
            calls.append(node)
        elif kind is ast.Assert:
            is_unhappy = is_unhappy or _asserts_failure(node.test)
        elif kind is ast.Assign and isinstance(node.targets[0], ast.Name):
            known[node.targets[0].id] = _text(node.value, known)
        for field in _FIELDS.get(kind, ()):
            value = getattr(node, field, None)
            if type(value) is list:
                pending += value
            elif value is not None:
                pending.append(value)
    calls.sort(key=lambda call: (call.lineno, call.col_offset))
    commands = tuple(command for call in calls if (command := _command(call, fixtures, known)) is not None)
    return calls, Conduct(commands, is_unhappy or any(_expects_failure(call) for call in calls))


def _command(call: ast.Call, fixtures: set[str], known: dict[str, str]) -> str | None:
    """The command line of `e2e.run("…")` and its like, where `e2e` is a fixture of the test."""
    if name_of(call.func) not in RUNNERS or not call.args or receiver_of(call) not in fixtures | {"e2e"}:
        return None
    return _text(call.args[0], known)


def _text(node: ast.expr, known: dict[str, str]) -> str:
    """The known parts of a string: literals, their concatenations, and names assigned from them in the test."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(value, known) for value in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left, known) + _text(node.right, known)
    return known.get(node.id, UNKNOWN) if isinstance(node, ast.Name) else UNKNOWN


def _expects_failure(call: ast.Call) -> bool:
    """`.to_fail()`, `.to_have_exit_code(3)`, `.not_.to_succeed()`."""
    function = call.func
    if not isinstance(function, ast.Attribute):
        return False
    if function.attr == "to_have_exit_code":
        return bool(call.args) and _is_nonzero(call.args[0])
    is_negated = isinstance(function.value, ast.Attribute) and function.value.attr == "not_"
    return function.attr == ("to_succeed" if is_negated else "to_fail")


def _asserts_failure(node: ast.expr) -> bool:
    """`assert result.exit_code != 0`, `== 3`, `> 0`, `in (1, 2)`, alone or beside other conditions."""
    if isinstance(node, ast.BoolOp):
        return any(_asserts_failure(value) for value in node.values)
    if not isinstance(node, ast.Compare):
        return False
    left, operator, right = node.left, node.ops[0], node.comparators[0]
    if not isinstance(left, ast.Attribute) or left.attr not in {"exit_code", "returncode"}:
        return False
    if isinstance(operator, ast.NotEq | ast.Gt):
        return isinstance(right, ast.Constant) and right.value == 0
    if isinstance(operator, ast.In) and isinstance(right, ast.Tuple | ast.List | ast.Set):
        return all(_is_nonzero(element) for element in right.elts)
    return isinstance(operator, ast.Eq) and _is_nonzero(right)


def _is_nonzero(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _is_nonzero(node.operand)
    return isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value != 0
