"""Hard-coded answers: an implementation that compares with a test's inputs, or returns its expected values.

Nothing here is certain, so each finding is a doubt.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from supervisor.verification.rules.asking import asking
from supervisor.verification.rules.judged import Doubt, FileChange
from supervisor.verification.rules.names import FUNCTIONS, literal
from supervisor.verification.rules.testcode import Unreadable, parse

#: values too common to be suspicious
_COMMON = set(map(repr, ("", 0, 1, -1, 2, None, True, False, (), [], 0.0, 1.0, " ", "\n", ",", ".", "/", "-")))


@dataclass(frozen=True, slots=True)
class Asked:
    """The literal values of a test: its inputs and its expected values."""

    values: frozenset[str] = frozenset()

    @property
    def telling(self) -> frozenset[str]:
        return self.values - _COMMON


def asked(text: str, test: str) -> Asked:
    """The values of the test, or of the whole file if the test is not found; words and lines of a text are values."""
    try:
        tree = parse(text)
    except Unreadable:
        return Asked()
    names = {each.partition("[")[0] for each in test.split("::")[1:]}
    found = [node for node in ast.walk(tree) if isinstance(node, FUNCTIONS) and node.name in names]
    where: list[ast.AST] = (
        [*found, *[node for node in tree.body if isinstance(node, ast.Assign)]] if found else [tree]
    )
    values: set[str] = set()
    for node in (each for top in where for each in ast.walk(top) if isinstance(each, ast.expr)):
        if (value := literal(node)) is not None:
            values |= set(_forms(value[0]))
        elif isinstance(node, ast.Call):
            line = _line_of(node)
            # every tail of the command line: without the program, and without what precedes it
            values |= {form for start in range(len(line) - 1) for form in _forms(line[start:])}
    return Asked(frozenset(values))


def _line_of(call: ast.Call) -> list[object]:
    """The arguments of a program, if there are at least two."""
    given = [value[0] for each in call.args if (value := literal(each)) is not None]
    return given if len(given) > 1 else []


def _forms(value: object) -> Iterator[str]:
    """The forms in which code may write a value: a list as a tuple or text, a text as a number or without newline."""
    yield repr(value)
    if isinstance(value, list | tuple):
        yield from (repr(list(value)), repr(tuple(value)), repr(str(value)), repr(str(list(value))))
        yield repr(" ".join(map(str, value)))
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield from (repr(float(value)), repr(str(value)), *([repr(int(value))] if value == int(value) else []))
    if isinstance(value, str) and len(value) < 400:
        yield from (repr(value.strip()), *(repr(word) for word in value.split()))
        number = (
            literal(ast.Constant(value)) if not re.fullmatch(r"-?\d+(\.\d+)?", value.strip()) else (float(value),)
        )
        if number and isinstance(number[0], float):
            yield from (repr(number[0]), *([repr(int(number[0]))] if number[0] == int(number[0]) else []))


def answer_doubts(change: FileChange, known: Asked) -> Iterator[Doubt]:
    """The doubts about one file of the implementation."""
    try:
        before, after = parse(change.before or ""), parse(change.after or "")
    except Unreadable:
        yield from _of_text(change, known)
        return
    yield from asking(change.path, before, after)
    if known.values:
        yield from _by_heart(change.path, before, after, known)


def _by_heart(path: str, before: ast.Module, after: ast.Module, known: Asked) -> Iterator[Doubt]:
    shapes = Counter(map(_shape, _branches(before)))
    for node in _branches(after):
        if shapes[_shape(node)]:
            shapes[_shape(node)] -= 1
        elif found := _told(node, known):
            yield Doubt(f"{path}:{_line(node)}: hard-codes the answer to the test's input: {found}")
    tables = Counter(ast.dump(node) for node in ast.walk(before) if isinstance(node, ast.Dict))
    for table in (node for node in ast.walk(after) if isinstance(node, ast.Dict)):
        pairs = [(key, value) for key, value in zip(table.keys, table.values, strict=True) if key is not None]
        telling = [
            ast.unparse(key)
            for key, value in pairs
            if _is_known(key, known.telling) and _is_known(value, known.values)
        ]
        if telling and 2 * len(telling) >= len(pairs) and not tables[ast.dump(table)]:
            yield Doubt(
                f"{path}:{table.lineno}: has a table of the test's inputs and expected values: {telling[0][:60]}"
            )
    yield from _constant_functions(path, before, after, known)


def _line(node: ast.AST) -> int:
    return node.body[0].lineno if isinstance(node, ast.match_case) else getattr(node, "lineno", 0)


def _branches(tree: ast.Module) -> list[ast.AST]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.If | ast.IfExp | ast.match_case)]


def _shape(node: ast.AST) -> str:
    """The branch without its literal values, so that a corrected value does not make it a new branch."""
    if isinstance(node, ast.If):
        node = ast.If(node.test, node.body, [])
    return re.sub(
        r"Constant\(value=(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^()]*?)\)", "Constant()", ast.dump(node)
    )


def _told(node: ast.AST, known: Asked) -> str:
    """Why a branch is suspicious: it compares all inputs of the test, or one and answers its expected value."""
    if isinstance(node, ast.match_case):
        question: ast.AST = node.pattern
        body: list[ast.AST] = [*node.body]
    elif isinstance(node, ast.If):
        question, body = node.test, [*node.body]
    elif isinstance(node, ast.IfExp):
        question, body = node.test, [node.body]
    else:
        return ""
    compared = list(_compared(question))
    values = [each for each in compared if _is_known(each, known.telling)]
    whole = [each for each in values if isinstance(each, ast.List | ast.Tuple) and len(each.elts) > 1]
    odd = {ast.dump(each) for each in values if _is_odd(each)}
    answered = any(_is_known(each, known.values) for each in _given(body))
    if whole or len(odd) > 1 or (answered and (values or any(map(_is_odd, compared)))):
        return ast.unparse(question)[:80]
    return ""


def _compared(question: ast.AST) -> Iterator[ast.expr]:
    """The operands of comparisons themselves, without values inside computations."""
    for node in ast.walk(question):
        sides = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
        if isinstance(node, ast.MatchValue):
            sides = [node.value]
        yield from (each for each in sides if literal(each) is not None)


def _is_odd(node: ast.expr) -> bool:
    """Whether the value is unusual: a rare number, or a text with digits or spaces, unlike a command or an option."""
    value = literal(node)
    if value is None or isinstance(value[0], bool):
        return False
    if isinstance(value[0], int | float):
        return abs(value[0]) > 2
    return isinstance(value[0], str) and bool(re.search(r"[\d ]", value[0]))


def _given(body: list[ast.AST], *, deep: bool = False) -> Iterator[ast.expr]:
    """The values that are returned or printed there; `deep`: also under nested conditions."""
    for top in body:
        if isinstance(top, ast.If | ast.For | ast.While | ast.Try | ast.With | ast.Match) and not deep:
            continue
        for node in ast.walk(top):
            name = getattr(node.func, "attr", getattr(node.func, "id", "")) if isinstance(node, ast.Call) else ""
            if isinstance(node, ast.Return) and node.value is not None:
                yield node.value
            elif isinstance(node, ast.Call) and name in ("print", "write", "echo", "exit"):
                yield from node.args
    yield from (top for top in body if isinstance(top, ast.expr))


def _is_known(node: ast.expr, values: frozenset[str]) -> bool:
    value = literal(node)
    return value is not None and repr(value[0]) in values and value[0] not in (None, True, False, "")


def _constant_functions(path: str, before: ast.Module, after: ast.Module, known: Asked) -> Iterator[Doubt]:
    """Functions that return a constant where they computed a value before."""
    old = {node.name: [*_given([*node.body], deep=True)] for node in ast.walk(before) if isinstance(node, FUNCTIONS)}
    for node in (each for each in ast.walk(after) if isinstance(each, FUNCTIONS) and each.name in old):
        was, now = old[node.name], [*_given([*node.body], deep=True)]
        if sum(map(_is_computed, now)) >= sum(map(_is_computed, was)):
            continue
        said = {ast.dump(each) for each in was}
        for given in now:
            if _is_known(given, known.values) and ast.dump(given) not in said:
                text = ast.unparse(given)[:60]
                yield Doubt(
                    f"{path}:{given.lineno}: `{node.name}` returns the constant {text} instead of a computed value"
                )


def _is_computed(node: ast.expr) -> bool:
    return literal(node) is None


def _of_text(change: FileChange, known: Asked) -> Iterator[Doubt]:
    """Doubts about a file in another language, from its new lines."""
    old = Counter((change.before or "").splitlines())
    new = [line for line in (change.after or "").splitlines()[:20000] if not old[line]]
    for number, line in enumerate(new):
        if found := re.search(r"\b(PYTEST_|SUPERVISOR_|MNGR_)\w*|/proc/\S*", line):
            yield Doubt(
                f"{change.path} mentions `{found[0][:60]}`, which exists only for tests and agents", "ignorance"
            )
        values = {each.strip("'\"") for each in known.telling if len(each) > 2}
        asks = re.search(r"\b(if|case|when|switch|match)\b|==|\?", line) or line.strip().endswith(")")
        words = re.findall(r"[\w.:-]+", line)
        near = " ".join(new[number : number + 3])
        is_given = any(" " in each and each in line for each in values) or sum(word in values for word in words) > 1
        if asks and is_given and re.search(r"echo|print|return|puts|log|write|=>|;;", near):
            yield Doubt(f"{change.path}: hard-codes the answer to the test's input: {line.strip()[:80]}")
