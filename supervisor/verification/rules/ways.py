"""The paths through a function, with the state of its checks on each: untried, passed, or failed and swallowed."""

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from supervisor.verification.rules.names import FUNCTIONS, Names, is_constant, is_empty, truth

#: exceptions that also catch a failed assertion
_CATCHES_ALL = {"Exception", "BaseException", "AssertionError", "builtins.Exception", "builtins.BaseException"}

UNTRIED, PASSED, FAILED = "untried", "passed", "failed"
_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Ways:
    """The ways to leave a block, each with the possible states of the checks."""

    on: frozenset[str] = _NONE
    returned: frozenset[str] = _NONE
    broken: frozenset[str] = _NONE
    continued: frozenset[str] = _NONE
    #: a check may fail inside the block, and the surrounding code may catch that
    fails: bool = False

    def beside(self, other: "Ways") -> "Ways":
        return Ways(
            self.on | other.on,
            self.returned | other.returned,
            self.broken | other.broken,
            self.continued | other.continued,
            self.fails or other.fails,
        )


def says_so(node: ast.AST, names: Names) -> bool:
    """`pytest.fail(…)`, `assert False` and `raise AssertionError`: the test raises its failure itself."""
    if isinstance(node, ast.Assert):
        return is_constant(node.test) and not truth(node.test)
    if isinstance(node, ast.Raise):
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        return raised is not None and names.dotted(raised) == "AssertionError"
    return isinstance(node, ast.Call) and names.dotted(node.func).rpartition(".")[2] == "fail"


def is_lazy(node: ast.AST) -> bool:
    """A function whose call alone runs nothing: a generator or a coroutine."""
    inside = [each for each in ast.walk(node) if isinstance(each, ast.Yield | ast.YieldFrom)]
    return isinstance(node, ast.AsyncFunctionDef) or (isinstance(node, ast.FunctionDef) and bool(inside))


class Walk:
    def __init__(self, names: Names, wanted: set[int]) -> None:
        self.names, self.wanted = names, wanted

    def block(self, body: list[ast.stmt], states: frozenset[str]) -> Ways:
        ways = Ways(on=states)
        used = {node.id for each in body for node in ast.walk(each) if isinstance(node, ast.Name)}
        for statement in body:
            if not ways.on:
                break
            if isinstance(statement, FUNCTIONS) and statement.name not in used:
                continue
            ways = replace(ways, on=_NONE).beside(self.statement(statement, ways.on))
        return ways

    def statement(self, node: ast.stmt, states: frozenset[str]) -> Ways:
        match node:
            case ast.Return():
                return replace(ways := self.plain(node, states), on=_NONE, returned=ways.on)
            case ast.Raise():
                return Ways(fails=bool(self.wanted))
            case ast.Break():
                return Ways(broken=states)
            case ast.Continue():
                return Ways(continued=states)
            case ast.If(test=test):
                return self.after(test, states, lambda now: self.branches(node, now))
            case ast.While(test=test):
                return self.after(
                    test, states, lambda now: self.loop(node, now, endless=is_constant(test) and truth(test))
                )
            case ast.For() | ast.AsyncFor():
                return self.after(node.iter, states, lambda now: self.loop(node, now, never=is_empty(node.iter)))
            case ast.Try() | ast.TryStar():
                return self.attempt(node, states)
            case ast.With() | ast.AsyncWith():
                return self.managed(node, states)
            case ast.Match():
                return self.cases(node, states)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                inner = self.block(node.body, states)
                later = states if is_lazy(node) else _NONE
                return Ways(on=inner.on | inner.returned | later, fails=inner.fails)
            case ast.ClassDef():
                return Ways(on=states)
        return self.plain(node, states)

    def plain(self, node: ast.AST, states: frozenset[str]) -> Ways:
        """Cases: it contains the check; it ends the test; neither."""
        checks = [each for each in inside([node]) if id(each) in self.wanted]
        if any(says_so(each, self.names) for each in inside([node])):
            return Ways(fails=bool(self.wanted))
        return Ways(on=frozenset({PASSED}), fails=True) if checks else Ways(on=states)

    def after(self, test: ast.expr, states: frozenset[str], then: Callable[[frozenset[str]], Ways]) -> Ways:
        first = self.plain(test, states)
        return then(first.on).beside(replace(first, on=_NONE))

    def branches(self, node: ast.If, states: frozenset[str]) -> Ways:
        if is_constant(node.test):
            return self.block(node.body if truth(node.test) else node.orelse, states)
        return self.block(node.body, states).beside(self.block(node.orelse, states))

    def loop(
        self,
        node: ast.While | ast.For | ast.AsyncFor,
        states: frozenset[str],
        *,
        endless: bool = False,
        never: bool = False,
    ) -> Ways:
        """The body runs at least once, unless it certainly does not."""
        never = never or (isinstance(node, ast.While) and is_constant(node.test) and not truth(node.test))
        if never:
            return self.block(node.orelse, states)
        body = self.block(node.body, states)
        again = body.on | body.continued
        if again - states:
            body = body.beside(self.block(node.body, states | again))
        through = _NONE if endless else body.on | body.continued
        ended = self.block(node.orelse, through) if through else Ways()
        return Ways(
            ended.on | body.broken,
            ended.returned | body.returned,
            ended.broken,
            ended.continued,
            body.fails or ended.fails,
        )

    def attempt(self, node: ast.Try | ast.TryStar, states: frozenset[str]) -> Ways:
        body = self.block(node.body, states)
        total = replace(body, fails=False)
        if node.orelse and body.on:
            total = replace(total, on=_NONE).beside(self.block(node.orelse, body.on))
        escapes = body.fails
        for handler in node.handlers:
            kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
            catches = any(kind is None or self.names.dotted(kind) in _CATCHES_ALL for kind in kinds)
            escapes = escapes and not catches
            into = frozenset({FAILED}) if catches and body.fails else states | body.on
            total = total.beside(self.block(handler.body, into))
        total = replace(total, fails=total.fails or escapes)
        ended = self.block(node.finalbody, total.on or states)
        swallowed = frozenset({FAILED}) if ended.returned and total.fails else _NONE
        on = ended.on if total.on else _NONE
        return replace(total, on=on).beside(replace(ended, on=_NONE, returned=ended.returned | swallowed))

    def managed(self, node: ast.With | ast.AsyncWith, states: frozenset[str]) -> Ways:
        """`suppress(…)` and `raises(…)` catch a failed assertion if they name AssertionError or a base class."""
        opened = [self.plain(item.context_expr, states) for item in node.items]
        body = self.block(node.body, states)
        if any(self.swallows(item.context_expr) for item in node.items) and body.fails:
            body = replace(body, on=body.on | {FAILED}, fails=False)
        if body.on and any(ways.fails for ways in opened):
            body = replace(body, on=frozenset({PASSED}), fails=True)
        return body

    def swallows(self, node: ast.expr) -> bool:
        if not isinstance(node, ast.Call):
            return False
        manager = self.names.dotted(node.func).rpartition(".")[2]
        if manager in self.names.swallowing:
            return True
        return manager in ("suppress", "raises") and any(
            self.names.dotted(each) in _CATCHES_ALL for each in node.args
        )

    def cases(self, node: ast.Match, states: frozenset[str]) -> Ways:
        whole = any(isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None for case in node.cases)
        total = Ways() if whole else Ways(on=states)
        for case in node.cases:
            total = total.beside(self.block(case.body, states))
        return total


def inside(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All nodes that run there. A lambda or a generator runs if it is passed to a function."""
    waiting = list(body)
    while waiting:
        node = waiting.pop()
        yield node
        given = (
            {id(each) for each in [*node.args, *(word.value for word in node.keywords)]}
            if isinstance(node, ast.Call)
            else set()
        )
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Lambda | ast.GeneratorExp) and id(child) not in given:
                continue
            if isinstance(child, ast.keyword) and isinstance(child.value, ast.Lambda):
                waiting.append(child.value.body)
            else:
                waiting.append(child)
