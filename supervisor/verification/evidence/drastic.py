"""Drastic faults of Python code: every function that a test has reached is changed, at once.

It raises, it does nothing, or it says something else. A function that also runs while tests are collected changes
only during a test, or not at all: else no test would run. The fault of a function is the same for each test that has
reached it, so that tests can share a run.
"""

import ast
from collections.abc import Callable
from dataclasses import dataclass

from supervisor.verification.evidence.splicing import spliced

SAYS_ELSE = "says something else"
DRASTIC = ("raises", "does nothing", SAYS_ELSE)
#: not drastic, because an honest test may call a function only once
LATER_ON = "says something else when it is asked something else"

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_OTHERWISE = """not value if isinstance(value, bool)
    else value + 1 if isinstance(value, (int, float))
    else value[::-1] + "?" if isinstance(value, str)
    else value[::-1] + b"?" if isinstance(value, bytes)
    else type(value)() if type(value) in (list, tuple, set, frozenset, dict)
    else value"""
LIE = "_said_otherwise"
_LIE = f"""
def {LIE}(value):
    return ({_OTHERWISE})
"""
#: the same, only while one test runs, and in the programs that it starts
_OWN_LIE = f"""(lambda value, test=__import__("os").environ.get("PYTEST_CURRENT_TEST", ""): value
    if test.split("[")[0].split(" ")[0].rpartition("/")[2] != {{test!r}}
    else {_OTHERWISE})"""
LATER = "_said_otherwise_later"
_LATER = f"""
def {LATER}(function):
    import functools
    import re

    first = []

    @functools.wraps(function)
    def answered(*args, **named):
        try:
            asked = re.sub("0x[0-9a-f]+", "", repr((args, sorted(named.items()))))
        except Exception:
            asked = ""
        first[:] = first or [asked]
        answer = function(*args, **named)
        return answer if asked == first[0] else {LIE}(answer)

    return answered
"""
#: pytest sets it before the test's setup
_IN_A_TEST = '"PYTEST_CURRENT_TEST" in __import__("os").environ'
#: functions that output something instead of returning it, by the last part of their names
SPEAKING = ("print", "write", "echo", "secho", "writelines")


@dataclass(frozen=True, slots=True)
class Code:
    path: str
    text: str
    #: lines within functions, or of a program's own module, that the test has reached
    reached: frozenset[int]
    #: lines within functions that run while tests are collected
    collecting: frozenset[int] = frozenset()

    @property
    def breakable(self) -> frozenset[int]:
        """The lines that were reached, without those of functions that run while tests are collected."""
        tree = ast.parse(self.text) if self.collecting else None
        nodes = [each for each in ast.walk(tree) if isinstance(each, FUNCTIONS)] if tree is not None else []
        spared = {line for node in nodes if is_reached(node, self.collecting) for line in _lines(node)}
        return self.reached - spared


class _Everywhere(ast.NodeTransformer):
    """Gives every function that was reached another body."""

    def __init__(self, code: Code, change: Callable[[list[ast.stmt]], list[ast.stmt]]) -> None:
        self.code, self.change = code, change
        self.count = 0

    def function[T: (ast.FunctionDef, ast.AsyncFunctionDef)](self, node: T) -> T:
        if is_reached(node, self.code.reached):
            self.count += 1
            changed, as_before = self.change(node.body), node.body
            is_early = is_reached(node, self.code.collecting)
            node.body = [ast.If(ast.parse(_IN_A_TEST, mode="eval").body, changed, as_before)] if is_early else changed
        return node

    visit_FunctionDef = function  # noqa: N815
    visit_AsyncFunctionDef = function  # noqa: N815


class _Otherwise(ast.NodeTransformer):
    """Alters what is returned or printed at these lines."""

    def __init__(self, lines: frozenset[int], test: str) -> None:
        self.lines = lines
        self.liar = _OWN_LIE.format(test=test.rpartition("/")[2]) if test else LIE
        self.count = 0

    def lie(self, value: ast.expr) -> ast.expr:
        self.count += 1
        return ast.Call(ast.parse(self.liar, mode="eval").body, [value], [])

    def visit_Return(self, node: ast.Return) -> ast.Return:
        self.generic_visit(node)
        if node.value is not None and node.lineno in self.lines:
            node.value = self.lie(node.value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        speaks = name in SPEAKING and node.args and not isinstance(node.args[0], ast.Starred)
        if speaks and node.lineno in self.lines:
            node.args[0] = self.lie(node.args[0])
        return node


class _Later(ast.NodeTransformer):
    """Makes functions answer otherwise if their arguments differ from those of the first call."""

    def __init__(self, reached: frozenset[int]) -> None:
        self.reached = reached
        self.count = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        given = node.args.args or node.args.posonlyargs or node.args.kwonlyargs or node.args.vararg
        if given and not node.name.startswith("__") and is_reached(node, self.reached) and _answers(node):
            self.count += 1
            node.decorator_list.append(ast.Name(LATER, ast.Load()))
        return node


def _answers(node: ast.FunctionDef) -> bool:
    each = list(ast.walk(node))
    if any(isinstance(inner, ast.Yield | ast.YieldFrom) for inner in each):
        return False
    return any(isinstance(inner, ast.Return) and inner.value is not None for inner in each)


def is_reached(node: ast.FunctionDef | ast.AsyncFunctionDef, reached: frozenset[int]) -> bool:
    return any(line in reached for line in _lines(node))


def _lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> range:
    """Those of its body."""
    first = node.body[0].lineno
    return range(first, (node.end_lineno or first) + 1)


def _of_functions(tree: ast.Module, reached: frozenset[int]) -> frozenset[int]:
    """These lines, and all of the functions that were reached."""
    nodes = [each for each in ast.walk(tree) if isinstance(each, FUNCTIONS) and is_reached(each, reached)]
    return reached.union(*map(_lines, nodes))


def _raises(body: list[ast.stmt]) -> list[ast.stmt]:
    return ast.parse('raise SystemError("it is broken")').body


def _returns(body: list[ast.stmt]) -> list[ast.stmt]:
    return ast.parse("pass").body


def _is_program(tree: ast.Module, reached: frozenset[int]) -> bool:
    """Whether lines outside of functions were reached: they are noted only if the module is the program."""
    return any(
        each.lineno in reached
        for each in tree.body
        if not isinstance(each, (*FUNCTIONS, ast.ClassDef, ast.Import, ast.ImportFrom))
    )


def _begin(tree: ast.Module) -> int:
    """Where the first statement may stand: after the docstring and imports from `__future__`."""
    place = int(ast.get_docstring(tree) is not None)
    while place < len(tree.body) and getattr(tree.body[place], "module", "") == "__future__":
        place += 1
    return place


def drastic(code: Code, kind: str, test: str = "") -> str | None:
    """The file with this fault in all code that was reached; None: that changes nothing in it. With a test, only that
    test is told something else."""
    tree, reached = ast.parse(code.text), code.breakable
    if kind == LATER_ON:
        later = _Later(reached)
        later.visit(tree)
        count, start = later.count, ast.parse(_LIE + _LATER).body
    elif kind == SAYS_ELSE:
        altered = _Otherwise(_of_functions(tree, reached) - (code.reached - reached), test)
        altered.visit(tree)
        count, start = altered.count, [] if test else ast.parse(_LIE).body
    else:
        everywhere = _Everywhere(code, _raises if kind == "raises" else _returns)
        everywhere.visit(tree)
        is_program = _is_program(tree, reached)
        ending = 'raise SystemError("it is broken")' if kind == "raises" else "raise SystemExit(0)"
        count, start = everywhere.count + is_program, ast.parse(ending).body if is_program else []
    if not count:
        return None
    return spliced(code.text, tree, _begin(tree), start)
