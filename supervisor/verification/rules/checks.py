"""What a function checks, and whether a failed check fails the function: read from its syntax tree.

A check is an assertion; a call with the name of one (`expect`, `assert_…`, `fnmatch_lines`, `raises`) and not only
constant arguments; a call with `check=True`; or a call of a function of the same file that checks.

For each check, all paths through the function are followed with the state of the check: untried, passed, or failed
and swallowed. A check is dead if no path passes it, or if a path survives its failure and the code that catches the
failure ignores it. A loop that retries and fails in the end has no such path.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from supervisor.verification.rules.names import FUNCTIONS, Names, always, is_constant, truth
from supervisor.verification.rules.ways import FAILED, PASSED, UNTRIED, Walk, Ways, inside, is_lazy, says_so

_CHECK = re.compile(
    r"_*(assert|expect|verify|check(?!_call$|_output$)|raises|warns|fail|should)|(no_)?(fn|re_)match_lines?|raise_for_"
)
_RUNS_CHECKED = {"subprocess.check_call", "subprocess.check_output"}


@dataclass(frozen=True, slots=True)
class Check:
    #: the assertion or the call
    node: ast.AST
    #: every path through the function passes it
    sure: bool = True


@dataclass(frozen=True, slots=True)
class Conduct:
    """How a function checks."""

    checks: tuple[Check, ...] = ()
    #: every path passes a check, or the function raises the failure itself
    sure: bool = False
    #: the number of checks that are always true
    vain: int = 0
    #: the number of checks that are unreachable or whose failure is swallowed
    dead: int = 0
    #: the number of checks whose failure is caught, and of nested functions that run later
    caught: int = 0
    calls: frozenset[str] = field(default=frozenset())


class Checks:
    def __init__(self, tree: ast.Module, names: Names) -> None:
        self.names = names
        #: functions of this file that check something
        self.checkers: set[str] = set()
        functions = [node for node in ast.walk(tree) if isinstance(node, FUNCTIONS)]
        for _ in range(3):  # helpers of helpers
            self.checkers |= {each.name for each in functions if any(self.found(each.body))}

    def conduct(self, body: list[ast.stmt]) -> Conduct:
        found = list(self.found(body))
        vain = sum(isinstance(each, ast.Assert) and always(each.test) for each in inside(body))
        everything = self.ways(body, found)
        alive, dead, caught = [], 0, 0
        for node in found:
            if says_so(node, self.names):
                alive.append(Check(node))
                continue
            ways = self.ways(body, [node])
            ends = ways.on | ways.returned
            if ends and PASSED not in ends:
                dead += 1
            elif FAILED in ends:
                dead, caught = dead + _is_ignored(body, node), caught + 1
                alive.append(Check(node, sure=False))
            elif ends:
                alive.append(Check(node, sure=UNTRIED not in ends))
        ends = everything.on | everything.returned
        sure = ends <= {PASSED} or any(says_so(each, self.names) for each in found)
        caught += sum(is_lazy(each) for statement in body for each in ast.walk(statement))
        return Conduct(tuple(alive), bool(alive) and sure, vain, dead, caught, frozenset(self.callees(body)))

    def callees(self, body: list[ast.stmt]) -> Iterator[str]:
        for node in inside(body):
            if isinstance(node, ast.Call):
                yield self.names.dotted(node.func) or (node.func.attr if isinstance(node.func, ast.Attribute) else "")

    # --- finding checks

    def found(self, body: Iterable[ast.AST]) -> Iterator[ast.AST]:
        for node in inside(body):
            is_check = isinstance(node, ast.Call) and self.is_check(node)
            is_assertion = isinstance(node, ast.Assert) and not always(node.test)
            if is_check or is_assertion or says_so(node, self.names):
                yield node

    def is_check(self, call: ast.Call) -> bool:
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        name = self.names.meant.get(name, name).rpartition(".")[2] if isinstance(call.func, ast.Name) else name
        if name in self.checkers or is_checked_run(call, self.names):
            return True
        values: list[ast.expr] = [*call.args, *(each.value for each in call.keywords)]
        if isinstance(call.func, ast.Attribute) and not (values and isinstance(call.func.value, ast.Name)):
            values.append(call.func.value)  # `listing.assert_shown()`, not `pytest.raises(…)`
        told = name == "fail" or any(not is_constant(value) for value in values)
        told = told or bool(re.match(r"(no_)?(fn|re_)match|raise_for_", name))
        return bool(_CHECK.match(name)) and told

    # --- paths through a block

    def ways(self, body: list[ast.stmt], wanted: list[ast.AST]) -> Ways:
        return Walk(self.names, {id(each) for each in wanted}).block(body, frozenset({UNTRIED}))


def is_checked_run(call: ast.Call, names: Names) -> bool:
    """Whether the call runs a program and raises if it fails: `run(…, check=True)`."""
    told = any(each.arg == "check" and is_constant(each.value) and truth(each.value) for each in call.keywords)
    return told or names.dotted(call.func) in _RUNS_CHECKED


def _is_ignored(body: list[ast.stmt], check: ast.AST) -> bool:
    """Whether the code that catches its failure ignores it."""
    for node in (each for statement in body for each in ast.walk(statement)):
        if isinstance(node, ast.With | ast.AsyncWith) and any(
            each is check for inner in node.body for each in ast.walk(inner)
        ):
            managers = [each.context_expr for each in node.items if isinstance(each.context_expr, ast.Call)]
            if any(ast.unparse(each.func).rpartition(".")[2] in ("suppress", "raises") for each in managers):
                return True
        if isinstance(node, ast.Try | ast.TryStar) and any(
            each is check for inner in node.body for each in ast.walk(inner)
        ):
            if any(isinstance(each, ast.Return) for final in node.finalbody for each in ast.walk(final)):
                return True
            if any(all(map(_is_idle, handler.body)) for handler in node.handlers):
                return True
    return False


def _is_idle(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr):
        called = node.value.func if isinstance(node.value, ast.Call) else None
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        return called is None or name in ("print", "sleep", "debug", "info", "warning", "warn")
    return isinstance(node, ast.Pass | ast.Continue | ast.Break | ast.Return)
