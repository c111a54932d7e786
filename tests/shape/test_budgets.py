"""What a reader may count on: small modules, small functions, and names that say something.

An exception is listed with its reason, and must still be needed.
"""

import ast
from pathlib import PurePath

from tests import lengths
from tests.shape.sources import Function, functions, modules

LONGEST_MODULE, LONGEST_FUNCTION, MOST_POSITIONAL = 300, 40, 5
VAGUE_MODULES = {"utils", "util", "helpers", "helper", "common", "base", "misc"}
VAGUE_ENDINGS = ("Manager", "Handler", "Helper", "Helpers", "Util", "Utils", "Processor")

LONG_MODULES = {
    "tests/stubs/mngr": "one file without imports, so that it starts in milliseconds",
}


def lines(node: ast.stmt) -> int:
    assert node.end_lineno is not None
    return node.end_lineno - node.lineno + 1


def length(function: Function) -> int:
    """Lines of a function, its decorators and docstring not counted."""
    return lines(function) - (lines(function.body[0]) if ast.get_docstring(function) is not None else 0)


def positional(function: Function) -> list[str]:
    """`self` and `cls` are no parameters to who calls."""
    taken = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args)]
    return taken[taken[:1] in (["self"], ["cls"]) :]


def test_modules_are_short() -> None:
    long = {source.path for source in modules() if len(source.text.splitlines()) >= LONGEST_MODULE}
    assert long - LONG_MODULES.keys() == set()
    assert LONG_MODULES.keys() - long == set(), "an exception that is not needed any more"


def test_functions_are_short() -> None:
    assert [f"{place} has {length(f)} lines" for place, f in functions() if length(f) > LONGEST_FUNCTION] == []


def test_functions_take_few_positional_parameters() -> None:
    """Those of routes, verbs and tests are filled in by name."""
    called = [(place, f) for place, f in functions() if not f.decorator_list and not f.name.startswith("test_")]
    many = [place for place, f in called if len(positional(f)) > MOST_POSITIONAL]
    assert [place for place in many if not place.startswith("supervisor/cli/")] == []


def test_modules_are_named_for_what_they_hold() -> None:
    vague = [s.path for s in modules() if not VAGUE_MODULES.isdisjoint(PurePath(s.path).with_suffix("").parts)]
    assert vague == []


def test_classes_are_named_for_what_they_are() -> None:
    classes = [(s.path, node) for s in modules() for node in ast.walk(s.tree) if isinstance(node, ast.ClassDef)]
    assert [f"{path}:{node.name}" for path, node in classes if node.name.endswith(VAGUE_ENDINGS)] == []


def test_modules_open_by_saying_what_they_are() -> None:
    """An empty package says nothing."""
    assert [s.path for s in modules() if s.text.strip() and not ast.get_docstring(s.tree)] == []


def test_who_takes_long_is_there() -> None:
    """`make test` leaves out what the table names: a module that was moved has to be named anew."""
    assert [path for path in lengths.known() if not (lengths.TABLE.parent / path).is_file()] == []
