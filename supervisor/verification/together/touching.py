"""Which lines of a file a change touches, as far as other tests could notice.

An added or changed line is touched, and so are both neighbours of removed lines. A new definition touches nothing by
itself: its callers reach its body. A definition whose head was changed touches its whole body.
"""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from supervisor.verification.evidence.laying import Content

#: larger files are touched as a whole
MOST_LINES = 20_000

type Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Touch:
    """What a change touches in one file."""

    #: line numbers in the file as it is now
    lines: frozenset[int] = frozenset()
    #: every test that uses the file notices
    whole: bool = False
    #: the file is gone: which tests look for it can't be seen
    is_gone: bool = False


def touch(path: str, other: Content | None, now: Content | None) -> Touch:
    """What differs between the file as it is now and another version of it."""
    if now is None:
        return Touch(is_gone=other is not None)
    if not path.endswith(".py") or now.kind != "file" or (other is not None and other.kind != "file"):
        return Touch(whole=True)
    try:
        text, old = now.data.decode(), other.data.decode() if other is not None else ""
        after, before = _parsed(text), _parsed(old)
    except (ValueError, RecursionError, SyntaxError, MemoryError):
        return Touch(whole=True)
    if max(text.count("\n"), old.count("\n")) > MOST_LINES:
        return Touch(whole=True)
    return Touch(_noticed(_differing(old, text), after, set(_functions(before))) & _said(text, after))


def moved(touched: Touch, then: Content | None, now: Content | None) -> Touch:
    """The same lines in the file after other claims have changed it."""
    if then == now or touched.whole or touched.is_gone or then is None:
        return touched
    if now is None:
        return Touch(is_gone=True)
    old, text = then.data.decode(errors="replace").splitlines(), now.data.decode(errors="replace").splitlines()
    lines: set[int] = set()
    for tag, start, end, other, other_end in SequenceMatcher(None, old, text, autojunk=False).get_opcodes():
        found = [line for line in range(start + 1, end + 1) if line in touched.lines]
        if tag == "equal":
            lines.update(line - start + other for line in found)
        elif found:
            lines.update(range(other + 1, other_end + 1))
    return Touch(frozenset(lines))


#: the same file is compared with many versions of it
_parsed = lru_cache(maxsize=128)(ast.parse)


def _differing(old: str, text: str) -> set[int]:
    before, after = old.splitlines(), text.splitlines()
    # Most changes are small: what is alike at both ends takes no search.
    head = _alike(before, after)
    tail = _alike(before[head:][::-1], after[head:][::-1])
    before, after = before[head : len(before) - tail], after[head : len(after) - tail]
    lines: set[int] = set()
    for tag, _, _, start, end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "delete":
            lines |= {head + start, head + start + 1}
        elif tag != "equal":
            lines.update(range(head + start + 1, head + end + 1))
    return lines


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    return next(
        (count for count, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def _noticed(lines: set[int], tree: ast.Module, known: set[str]) -> frozenset[int]:
    noticed = set(lines)
    for name, function in _functions(tree).items():
        head = _head(function)
        if not head & lines:
            continue
        if name in known:
            noticed.update(range(function.body[0].lineno, (function.end_lineno or 0) + 1))
        if _is_plain(function):
            noticed -= head
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            noticed -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return frozenset(noticed)


def _functions(tree: ast.Module) -> Mapping[str, Function]:
    """Those of the module and of its classes, by their qualified names."""
    found: dict[str, Function] = {}
    for node in tree.body:
        if isinstance(node, Function.__value__):
            found[node.name] = node
        elif isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{each.name}": each for each in node.body if isinstance(each, Function.__value__)}
    return found


def _head(function: Function) -> set[int]:
    parts = [each for each in (function.returns, *ast.walk(function.args)) if each is not None]
    ends = [getattr(each, "end_lineno", None) or function.lineno for each in parts]
    return set(range(function.lineno, max([function.lineno, *ends]) + 1))


def _is_plain(function: Function) -> bool:
    """Whether its definition does nothing but bind its name."""
    defaults = [*function.args.defaults, *(each for each in function.args.kw_defaults if each is not None)]
    said = [function.returns, *(getattr(each, "annotation", None) for each in ast.walk(function.args))]
    does = any(isinstance(inner, _DOING) for each in said if each is not None for inner in ast.walk(each))
    return not function.decorator_list and not does and all(isinstance(each, ast.Constant) for each in defaults)


#: nodes that make an annotation do something when it is evaluated
_DOING = (ast.Call, ast.Lambda, ast.NamedExpr, ast.comprehension, ast.Await)


def _said(text: str, tree: ast.Module) -> set[int]:
    """Lines that are neither empty nor a comment."""
    strings: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant | ast.JoinedStr):
            strings.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = enumerate(text.splitlines(), 1)
    return {number for number, line in lines if number in strings or line.strip().partition("#")[0]}
