"""Which lines of a file a change touches, as far as other tests could notice.

An added or changed line is touched, and so are both neighbours of removed lines. A new definition touches nothing by
itself: its callers reach its body. A definition whose head was changed touches its whole body.
"""

import ast
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from supervisor.verification.evidence.laying import Content
from supervisor.verification.together.hunks import MOST_LINES, Hunk, hunks

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
    return compared(path, other, now).touch()


@dataclass(frozen=True, slots=True)
class Compared:
    """A file as it is now, and another version of it."""

    #: the lines that differ; none are known if it is touched as a whole
    hunks: frozenset[Hunk] = frozenset()
    #: where a change can be noticed; None: it is known anyway
    code: "_Code | None" = None
    #: the functions of the other version
    functions: Set[str] = frozenset()
    known: Touch = Touch()

    def touch(self, without: Set[Hunk] = frozenset()) -> Touch:
        """What differs, without these lines."""
        if self.code is None:
            return self.known
        lines = {line for each in self.hunks - without for line in each.touched}
        return Touch(self.code.noticed(lines, self.functions)) if lines else Touch()


def compared(path: str, other: Content | None, now: Content | None) -> Compared:
    if now is None:
        return Compared(known=Touch(is_gone=other is not None))
    if not path.endswith(".py") or now.kind != "file" or (other is not None and other.kind != "file"):
        return _WHOLE
    old = other.data if other is not None else b""
    if max(now.data.count(b"\n"), old.count(b"\n")) > MOST_LINES:
        return _WHOLE
    try:
        code, functions = _code(now.data.decode()), frozenset(_functions(ast.parse(old.decode())))
    except (ValueError, RecursionError, SyntaxError, MemoryError):
        return _WHOLE
    return Compared(frozenset(hunks(now.data, old)), code, functions)


_WHOLE = Compared(known=Touch(whole=True))


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


@dataclass(frozen=True, slots=True)
class _Code:
    """Where a change of a file can be noticed."""

    #: by name: the lines of a function's head, those of its body, and whether its definition does nothing more
    functions: Mapping[str, tuple[frozenset[int], range, bool]]
    #: lines that do something when they are executed
    said: frozenset[int]

    def noticed(self, lines: set[int], known: Set[str]) -> frozenset[int]:
        """`known`: the functions that the other version has, too."""
        noticed = set(lines)
        for name, (head, body, is_plain) in self.functions.items():
            if head.isdisjoint(lines):
                continue
            if name in known:
                noticed.update(body)
            if is_plain:
                noticed -= head
        return self.said & noticed


@lru_cache(maxsize=64)
def _code(text: str) -> _Code:
    """The same file is compared with many versions of it."""
    tree = ast.parse(text)
    functions = {
        name: (_head(each), range(each.body[0].lineno, (each.end_lineno or 0) + 1), _is_plain(each))
        for name, each in _functions(tree).items()
    }
    return _Code(functions, frozenset(_said(text, tree)) - frozenset(_imports(tree)))


def _imports(tree: ast.Module) -> Iterator[int]:
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _functions(tree: ast.Module) -> Mapping[str, Function]:
    """Those of the module and of its classes, by their qualified names."""
    found: dict[str, Function] = {}
    for node in tree.body:
        if isinstance(node, Function.__value__):
            found[node.name] = node
        elif isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{each.name}": each for each in node.body if isinstance(each, Function.__value__)}
    return found


def _head(function: Function) -> frozenset[int]:
    parts = [each for each in (function.returns, *ast.walk(function.args)) if each is not None]
    ends = [getattr(each, "end_lineno", None) or function.lineno for each in parts]
    return frozenset(range(function.lineno, max([function.lineno, *ends]) + 1))


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
