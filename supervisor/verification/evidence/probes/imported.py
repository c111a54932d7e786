"""What is imported of some files before pytest forks, and how a fork replaces it by what the files have then.

Only functions are replaced: each gets the code that it has in the faulty file, and stays the object that others have
imported. (For pytest: PYTEST_DONT_REWRITE.)
"""

from __future__ import annotations

import ast
import gc
import os
import sys
import time
import types
import warnings
from typing import Any

ROOT = os.path.realpath(os.getcwd())
#: a flag of the code of functions, which that of modules and classes has not
_IS_FUNCTION = 1


class Irreplaceable(Exception):
    """What is imported can't be replaced by what the file has now."""


def read(path: Any) -> Any:
    place = os.path.join(ROOT, path)
    try:
        with open(place, "rb") as file:
            told = os.fstat(file.fileno())
            return (file.read(), told.st_mode & 0o777), told.st_mtime
    except OSError:
        return None, time.time()


class Imported:
    """What is imported of some files before the first fork."""

    def __init__(self, paths: Any) -> None:
        #: by path: what is outside of functions, and the code of it all; None: it can't be replaced
        self._known: dict[Any, Any] = {}
        for path, is_plain in _imported({os.path.join(ROOT, path): path for path in paths}):
            self._known[path] = _compiled(path) if is_plain and self._known.get(path, True) else None
        ends = tuple({"/" + os.path.basename(path) for path in self._known})
        functions = [each for each in gc.get_objects() if type(each) is types.FunctionType] if ends else []
        self._functions = [each for each in functions if ("/" + each.__code__.co_filename).endswith(ends)]

    def replace(self, files: Any) -> None:
        """Functions with the code of these files as they were get the code of the files as they are."""
        pairs: dict[Any, Any] = {}
        for path, now in files.items():
            if path in self._known:
                if self._known[path] is None or now is None:
                    raise Irreplaceable
                pairs.update(_paired(self._known[path], now[0]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # newer Pythons warn if a generator becomes none
            for each in self._functions if pairs else ():
                each.__code__ = pairs.get(each.__code__, each.__code__)


def _compiled(path: Any) -> Any:
    content, _ = read(path)
    try:
        return None if content is None else _parsed(content[0])
    except Irreplaceable:
        return None


def _imported(places: Any) -> Any:
    for module in list(sys.modules.values()):
        if isinstance(module, types.ModuleType):
            file = vars(module).get("__file__")
            place = os.path.realpath(file) if isinstance(file, str) else ""
            if place in places:
                yield places[place], type(vars(module).get("__loader__")).__name__ != "AssertionRewritingHook"


def _parsed(text: Any, kept: Any = None) -> Any:
    """What is outside of functions, and the code of it all. `kept`: by function, the variables that it keeps."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
            _keep(tree, kept or {})
            code = compile(tree, "", "exec", dont_inherit=True)
            return ast.dump(_Heads().visit(tree)), code
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Irreplaceable from None


def _keep(tree: Any, kept: Any) -> None:
    """A function keeps the variables that it has from outside, used or not."""
    for node in ast.walk(tree) if kept else ():
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            line = min([node.lineno] + [each.lineno for each in node.decorator_list])
            for name in kept.get((node.name, line), ()):
                never = ast.parse("if 0: " + name).body[0]
                node.body.append(ast.fix_missing_locations(ast.copy_location(never, node.body[-1])))


class _Heads(ast.NodeTransformer):
    """The same without the bodies of functions."""

    def visit_FunctionDef(self, node: Any) -> Any:
        node.body = []
        return node

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815


def _paired(known: Any, text: Any) -> Any:
    """By the code of each function: its code in this text."""
    heads, code = known
    kept: Any = None
    for _ in range(2):
        now_heads, now = _parsed(text, kept)
        if heads != now_heads:
            raise Irreplaceable
        pairs: Any = {}
        _pair(code, now, pairs)
        kept = {
            (new.co_name, new.co_firstlineno): old.co_freevars
            for old, new in pairs.items()
            if old.co_freevars != new.co_freevars
        }
        if not kept:
            return pairs
    raise Irreplaceable


def _pair(one: Any, other: Any, pairs: Any, is_function: bool = False) -> Any:
    mine, its = ([each for each in code.co_consts if isinstance(each, types.CodeType)] for code in (one, other))
    if [each.co_name for each in mine] != [each.co_name for each in its]:
        if is_function:
            return  # a body with other functions
        raise Irreplaceable
    for old, new in zip(mine, its):  # noqa: B905
        is_inner = bool(old.co_flags & _IS_FUNCTION) or is_function
        if is_inner and pairs.setdefault(old, new) != new:
            raise Irreplaceable
        _pair(old, new, pairs, is_inner)
