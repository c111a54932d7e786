"""How often code checks something, and how often it only seems to: read from its syntax tree.

A check is an assertion, or a call of something named like one (`expect`, `assert_…`, `verify_…`, `raises`) that is
given more than constants; and a call of a function of the same file that checks. It may be certain, conditional, in
vain (it can't fail) or dead (nothing gets there, or its failure is swallowed).
"""

import ast
import re
from dataclasses import dataclass
from functools import reduce
from operator import add

_CHECK = re.compile(r"_*(assert|expect|verify|check(?!_call$|_output$)|ensure|raises|warns|fail)")
#: exceptions that also catch a failed assertion
_CATCHES_ALL = {"Exception", "BaseException", "AssertionError", "builtins.Exception", "builtins.BaseException"}

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Tally:
    """How often code checks something: for certain, only under a condition, in vain, and where nothing gets."""

    sure: int = 0
    maybe: int = 0
    #: always true, whatever happens
    vain: int = 0
    #: after the end, or where a failure is swallowed
    dead: int = 0
    returns: int = 0
    calls: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))

    @property
    def checks(self) -> int:
        return self.sure + self.maybe

    def conditional(self) -> "Tally":
        return Tally(0, self.checks, self.vain, self.dead, self.returns, self.calls)

    def buried(self) -> "Tally":
        return Tally(0, 0, self.vain, self.checks + self.dead, self.returns, self.calls)


class Names:
    """What names stand for, whatever they were imported as."""

    def __init__(self, tree: ast.Module) -> None:
        self.meant: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                self.meant |= {each.asname: each.name for each in node.names if each.asname}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                self.meant |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}

    def dotted(self, node: ast.AST) -> str:
        """The full name of what is meant, whatever it was imported as; "" if it is no name."""
        if isinstance(node, ast.Name):
            return self.meant.get(node.id, node.id)
        if isinstance(node, ast.Attribute) and (before := self.dotted(node.value)):
            return f"{before}.{node.attr}"
        return ""


class Checks:
    def __init__(self, tree: ast.Module, names: Names) -> None:
        self.names = names
        #: functions of this file that check something
        self.checkers: set[str] = set()
        functions = [node for node in ast.walk(tree) if isinstance(node, FUNCTIONS)]
        for _ in range(3):  # helpers of helpers
            self.checkers |= {each.name for each in functions if self.tally(each.body).checks}

    def tally(self, body: list[ast.stmt]) -> Tally:
        """Of a block: what stands behind its end is dead."""
        total, over = Tally(), False
        inner = {each.name for each in body if isinstance(each, FUNCTIONS)}
        used = {node.id for each in body for node in ast.walk(each) if isinstance(node, ast.Name)}
        for statement in body:
            here = self.statement(statement)
            if isinstance(statement, FUNCTIONS) and statement.name in inner - used:
                here = here.buried()
            total += here.buried() if over else here
            over = over or _ends(statement)
        return total

    def statement(self, node: ast.stmt) -> Tally:
        match node:
            case ast.Assert(test=test):
                return (Tally(vain=1) if _always(test) else Tally(sure=1)) + Tally(calls=_calls(test))
            case ast.Return():
                return self.expressions(node) + Tally(returns=1)
            case ast.If(test=test) | ast.While(test=test):
                return self.branches(test, node.body, node.orelse) + self.expressions(test)
            case ast.For() | ast.AsyncFor():
                body = self.tally(node.body)
                body = body.buried() if _is_empty(node.iter) else body
                return body + self.tally(node.orelse).conditional() + self.expressions(node.iter)
            case ast.Try() | ast.TryStar():
                return self.attempt(node)
            case ast.With() | ast.AsyncWith():
                body = self.tally(node.body)
                swallows = any(self.swallows(item.context_expr) for item in node.items)
                opened = (self.expressions(item.context_expr) for item in node.items)
                return reduce(add, opened, body.buried() if swallows else body)
            case ast.Match():
                cases = (self.tally(case.body).conditional() for case in node.cases)
                return reduce(add, cases, self.expressions(node.subject))
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                inner = self.tally(node.body)
                return Tally(inner.sure, inner.maybe, inner.vain, inner.dead, 0, inner.calls)
            case ast.ClassDef():
                return Tally()
            case _:
                return self.expressions(node)

    def branches(self, test: ast.expr, yes: list[ast.stmt], no: list[ast.stmt]) -> Tally:
        if _is_constant(test):
            taken, other = (yes, no) if _truth(test) else (no, yes)
            return self.tally(taken) + self.tally(other).buried()
        one, two = self.tally(yes), self.tally(no)
        both = min(one.sure, two.sure)
        return one.conditional() + two.conditional() + Tally(sure=both, maybe=-both)

    def attempt(self, node: ast.Try | ast.TryStar) -> Tally:
        body = self.tally(node.body)
        for handler in node.handlers:
            kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
            catches = any(kind is None or self.names.dotted(kind) in _CATCHES_ALL for kind in kinds)
            tells = self.tally(handler.body).checks or any(isinstance(each, ast.Raise) for each in ast.walk(handler))
            if catches and not tells:
                body = body.buried()
        handled = [self.tally(handler.body).conditional() for handler in node.handlers]
        return reduce(add, [*handled, self.tally(node.orelse), self.tally(node.finalbody)], body)

    def swallows(self, node: ast.expr) -> bool:
        """`suppress(…)` and `raises(…)` of an error that failed assertions are."""
        if not isinstance(node, ast.Call):
            return False
        manager = self.names.dotted(node.func).rpartition(".")[2]
        return manager in ("suppress", "raises") and any(
            self.names.dotted(each) in _CATCHES_ALL for each in node.args
        )

    def expressions(self, node: ast.AST) -> Tally:
        calls = [each for each in ast.walk(node) if isinstance(each, ast.Call)]
        return Tally(sure=sum(map(self.is_check, calls)), calls=len(calls))

    def is_check(self, call: ast.Call) -> bool:
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        name = self.names.meant.get(name, name).rpartition(".")[2] if isinstance(call.func, ast.Name) else name
        if name in self.checkers:
            return True
        values: list[ast.expr] = [*call.args, *(each.value for each in call.keywords)]
        if isinstance(call.func, ast.Attribute) and not (values and isinstance(call.func.value, ast.Name)):
            values.append(call.func.value)  # `listing.assert_shown()`, not `pytest.raises(…)`
        told = name == "fail" or any(not _is_constant(value) for value in values)
        return bool(_CHECK.match(name)) and told


def _ends(node: ast.stmt) -> bool:
    """Whether nothing behind this is ever reached."""
    match node:
        case ast.Return() | ast.Raise() | ast.Break() | ast.Continue():
            return True
        case ast.If(test=test) if _is_constant(test):
            return any(map(_ends, node.body if _truth(test) else node.orelse))
        case ast.If():
            return any(map(_ends, node.body)) and any(map(_ends, node.orelse))
        case ast.With() | ast.AsyncWith():
            return any(isinstance(each, ast.Return) for each in node.body)
        case ast.While(test=test):
            endless = _is_constant(test) and _truth(test)
            return endless and not any(isinstance(each, ast.Break) for each in ast.walk(node))
    return False


def _calls(node: ast.AST) -> int:
    return sum(isinstance(each, ast.Call) for each in ast.walk(node))


def _is_constant(node: ast.expr) -> bool:
    """Whether nothing that happens can change its value."""
    changing = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Await, ast.NamedExpr, ast.Lambda)
    return not any(isinstance(each, changing) for each in ast.walk(node))


def _truth(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=value):
            return bool(value)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _truth(operand)
        case ast.Tuple(elts=elts) | ast.List(elts=elts) | ast.Set(elts=elts):
            return bool(elts)
    return True  # `1 == 1`: whoever writes such a thing means it to hold


def _always(node: ast.expr) -> bool:
    """Whether an assertion of this can't fail."""
    match node:
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(map(_always, values))
        case ast.BoolOp(op=ast.And(), values=values):
            return all(map(_always, values))
        case ast.Tuple(elts=elts) | ast.List(elts=elts) | ast.Set(elts=elts):
            return bool(elts)
        case ast.Compare(left=left, comparators=[right], ops=[ast.Eq() | ast.Is() | ast.LtE() | ast.GtE()]):
            return ast.dump(left) == ast.dump(right) and not _calls(left)
        case ast.Lambda():
            return True
    return _is_constant(node) and _truth(node)


def _is_empty(node: ast.expr) -> bool:
    match node:
        case ast.List(elts=[]) | ast.Tuple(elts=[]) | ast.Dict(keys=[]) | ast.Constant(value=""):
            return True
        case ast.Call(func=ast.Name(id="range" | "list" | "tuple" | "set" | "dict"), args=args):
            return all(isinstance(each, ast.Constant) and each.value == 0 for each in args)
    return False
