"""The functions of a Python file, each with a hash of what it does: comments and format don't count.

Code outside of functions, classes included, is a function of its own, named "". It has what an import executes. That
includes the names, decorators and docstrings of functions, but neither their bodies nor constant defaults, which
belong to the functions. A nested function is a function of its own; its head belongs to the outer one.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256

MODULE = ""
#: a larger file counts as one function
MOST_BYTES = 1_000_000

type Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Part:
    """A function; `first` to `last` are the lines of its body."""

    name: str
    first: int
    last: int
    digest: str


@dataclass(frozen=True, slots=True)
class Code:
    parts: tuple[Part, ...]

    @property
    def digests(self) -> Mapping[str, str]:
        return {part.name: part.digest for part in self.parts}

    def at(self, line: int) -> Part:
        """The innermost function that has the line in its body."""
        around = [part for part in self.parts if part.first <= line <= part.last]
        return min(around, key=lambda part: part.last - part.first)


def digest(data: bytes) -> str:
    return sha256(data).hexdigest()[:16]


def read(data: bytes) -> Code:
    """A file that can't be parsed is one function, hashed as it stands."""
    try:
        if len(data) > MOST_BYTES:
            raise ValueError
        return Code(tuple(_parts(ast.parse(data))))
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return Code((Part(MODULE, 0, data.count(b"\n") + 1, digest(data)),))


def _parts(tree: ast.Module) -> Iterator[Part]:
    names: dict[str, int] = {}
    for name, node in list(_functions(tree, "")):
        # Functions that share a name, such as those of a property, are told apart by a number.
        names[name] = names.get(name, 0) + 1
        own = name if names[name] == 1 else f"{name}#{names[name]}"
        yield Part(own, node.body[0].lineno, node.end_lineno or node.lineno, _digest(_whole(node)))
    last = max((getattr(node, "end_lineno", 0) or 0 for node in tree.body), default=1)
    yield Part(MODULE, 0, last + 1, _digest([_outside(each) for each in tree.body]))


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, Function]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{prefix}{child.name}", child
            yield from _functions(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")
        else:
            yield from _functions(child, prefix)


def _whole(node: Function) -> object:
    """Its parameters and its body; of functions within it, what their definition does."""
    return [_dumped(node.args), _dumped(node.returns), [_outside(each) for each in _said(node)]]


def _outside(node: ast.AST) -> object:
    """As `ast.dump`, but of each function only what its definition does."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        defaults = [each for each in [*node.args.defaults, *node.args.kw_defaults] if each is not None]
        called = [_outside(each) for each in defaults if not isinstance(each, ast.Constant)]
        return [
            type(node).__name__,
            node.name,
            ast.get_docstring(node),
            called,
            list(map(_outside, node.decorator_list)),
        ]
    if isinstance(node, ast.Lambda):
        return _dumped(node)
    return [type(node).__name__, [[name, _value(value)] for name, value in ast.iter_fields(node)]]


def _value(value: object) -> object:
    match value:
        case ast.AST():
            return _outside(value)
        case list():
            return [_value(each) for each in value]
    return repr(value)


def _said(node: Function) -> list[ast.stmt]:
    """The body without its docstring."""
    return node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body


def _dumped(node: ast.AST | None) -> str:
    return "" if node is None else ast.dump(node)


def _digest(what: object) -> str:
    return digest(repr(what).encode(errors="surrogatepass"))
