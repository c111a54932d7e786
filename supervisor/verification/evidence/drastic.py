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
_LIE = f"(lambda value: {_OTHERWISE})"
#: the same, only while one test runs, and in the programs that it starts
_OWN_LIE = f"""(lambda value, test=__import__("os").environ.get("PYTEST_CURRENT_TEST", ""): value
    if test.split("[")[0].split(" ")[0].rpartition("/")[2] != {{test!r}}
    else {_OTHERWISE})"""
#: the same, unless the function is asked what it was asked first
_LATER_LIE = f"(lambda value, is_first=_asked == _asked_first: value if is_first else {_OTHERWISE})"
_ASKED = """
try:
    _asked = __import__("re").sub("0x[0-9a-f]+", "", repr(({names},)))
except Exception:
    _asked = ""
_asked_first = vars(__import__("sys")).setdefault({function!r}, _asked)
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
        self.liar = _OWN_LIE.format(test=test.rpartition("/")[2]) if test else _LIE
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

    def __init__(self, code: Code, reached: frozenset[int]) -> None:
        self.code, self.reached = code, reached
        self.count = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        given = [*node.args.posonlyargs, *node.args.args, node.args.vararg, *node.args.kwonlyargs, node.args.kwarg]
        names = [each.arg for each in given if each is not None]
        if names and not node.name.startswith("__") and is_reached(node, self.reached) and _answers(node):
            self.count += 1
            asked = _ASKED.format(names=", ".join(names), function=f"{self.code.path}:{node.lineno}")
            place = int(ast.get_docstring(node) is not None)
            answers = _Answers()
            body = [answers.visit(each) for each in node.body]
            node.body = [*body[:place], *ast.parse(asked).body, *body[place:]]
        return node


class _Answers(ast.NodeTransformer):
    """Alters what a function returns, and not what functions in it return."""

    def visit_Return(self, node: ast.Return) -> ast.Return:
        if node.value is not None:
            node.value = ast.Call(ast.parse(_LATER_LIE, mode="eval").body, [node.value], [])
        return node

    def function[T: ast.AST](self, node: T) -> T:
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = function  # noqa: N815


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
    tree, reached, start = ast.parse(code.text), code.breakable, list[ast.stmt]()
    if kind == LATER_ON:
        later = _Later(code, reached)
        later.visit(tree)
        count = later.count
    elif kind == SAYS_ELSE:
        altered = _Otherwise(_of_functions(tree, reached) - (code.reached - reached), test)
        altered.visit(tree)
        count = altered.count
    else:
        everywhere = _Everywhere(code, _raises if kind == "raises" else _returns)
        everywhere.visit(tree)
        is_program = _is_program(tree, reached)
        ending = 'raise SystemError("it is broken")' if kind == "raises" else "raise SystemExit(0)"
        start = ast.parse(ending).body if is_program else []
        count = everywhere.count + is_program
    if not count:
        return None
    return spliced(code.text, tree, _begin(tree), start)
