"""Hides from an implementation that it is tested, as far as an honest one can't tell: a plugin of pytest.

While tests are collected, a fixture is set up or a test runs, the names that tests and agents run under are not in
the environment, which is what subprocesses inherit, either; code of the implementation that looks into `sys.modules`
finds neither tests nor what pytest has loaded; nobody seems to watch; and the program has another name and no
arguments. Who asks for any of it is noted in `asked`, beside this file.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.realpath(os.getcwd())
#: files of the repository that are tests; whoever loads this says which, and whether the program is renamed
TESTS: frozenset[str] = frozenset()
#: variables that agents have and nobody else
OURS: frozenset[str] = frozenset()
RENAMES = True

PREFIXES = ("PYTEST", "SUPERVISOR_", "MNGR_", "TOX_", "GITHUB_", "GITLAB_", "NOX_")
#: by it and by the reporter, which takes its own name out of the last one
SET_BY_PYTEST = ("PYTEST_CURRENT_TEST", "PYTEST_VERSION", "PYTEST_PLUGINS")
AMBIENT = dict(os.environ)
ARGUMENTS = sys.argv[:]
NAMES = ("CI", "TESTING", "CONTINUOUS_INTEGRATION")
#: these make packages of the repository's environment known, also without pytest
FINDERS = ("__editable__", "_virtualenv", "distutils-precedence", "__main__", "_distutils_hack")


def _is_hidden(name: Any) -> bool:
    text = os.fsdecode(name) if isinstance(name, (str, bytes)) else ""
    return text in NAMES or text in OURS or text.startswith(PREFIXES)


def _is_ambient(name: str, value: Any) -> bool:
    """What a fixture or a test sets by itself is its own affair."""
    return _is_hidden(name) and (name in SET_BY_PYTEST or AMBIENT.get(name) == value)


def _place(path: str) -> str | None:
    full = "" if path.startswith("<") else os.path.realpath(path)
    return full[len(ROOT) + 1 :] if full.startswith(ROOT + os.sep) and "site-packages" not in full else None


def _loaded() -> Iterator[str]:
    """What pytest has brought: neither Python's own library nor of the repository."""
    known = getattr(sys, "stdlib_module_names", frozenset(sys.modules))
    for name, module in list(sys.modules.items()):
        top, file = name.partition(".")[0], getattr(module, "__file__", None)
        if top not in known and not (isinstance(file, str) and _place(file)):
            yield top


MODULES = frozenset(_loaded()) | {"pytest", "_pytest", "pluggy", "py", "xdist", "unittest", "conftest"}


def _note(what: str, place: str | None, line: int, was_hidden: bool) -> None:
    file = os.path.join(HERE, "asked")
    with suppress(OSError), open(file, "a", encoding="utf-8", errors="surrogateescape") as opened:
        opened.write(json.dumps([what, place or "", line, was_hidden]) + "\n")


class Hiding:
    def __init__(self) -> None:
        self.depth = 0
        self.kept: dict[str, str] = {}
        self.modules = sys.modules

    @contextmanager
    def now(self) -> Iterator[None]:
        self.depth += 1
        if self.depth == 1:
            self.hide()
        try:
            yield
        finally:
            self.depth -= 1
            if self.depth == 0:
                self.show()

    def hide(self) -> None:
        self.kept = {name: value for name, value in os.environ.items() if _is_ambient(name, value)}
        for name in self.kept:
            del os.environ[name]
        # A test may have put other arguments there, or another list.
        self.argv, self.orig = sys.argv, sys.orig_argv[:] if hasattr(sys, "orig_argv") else []
        if self.argv == ARGUMENTS:
            sys.argv = [os.path.join(os.path.dirname(sys.executable), "main") if RENAMES else self.argv[0]]
            if self.orig:
                sys.orig_argv[:] = [sys.executable, *sys.argv]
        self.given = sys.argv
        sys.modules = Modules(self.modules)

    def show(self) -> None:
        sys.modules = self.modules
        if sys.argv is self.given:
            sys.argv = self.argv
        if self.orig:
            sys.orig_argv[:] = self.orig
        for name, value in self.kept.items():
            os.environ.setdefault(name, value)


HIDING = Hiding()


class Modules(dict):  # type: ignore[type-arg]
    """`sys.modules` in which an implementation finds nothing that tests; all else goes to the real one."""

    def __init__(self, real: dict[str, Any]) -> None:
        super().__init__()
        self.real = real

    def _hides(self, name: Any) -> bool:
        return isinstance(name, str) and self._is_of_tests(name) and self._asked_by_implementation(name)

    def _is_of_tests(self, name: str) -> bool:
        top = name.partition(".")[0]
        if top in MODULES:
            return not name.startswith(FINDERS)
        file = getattr(self.real.get(name), "__file__", None)
        return isinstance(file, str) and _place(file) in TESTS

    def _asked_by_implementation(self, name: str) -> bool:
        frame: Any = sys._getframe(2)
        while frame is not None and frame.f_code.co_filename == __file__:
            frame = frame.f_back
        if frame is None or frame.f_code.co_filename.startswith("<frozen"):
            return False
        place = _place(frame.f_code.co_filename)
        if place is None or place in TESTS:
            return False
        module = self.real.get(name)
        is_its_own = module is not None and any(each is module for each in frame.f_globals.values())
        if not is_its_own:
            _note(f"{name} in sys.modules", place, frame.f_lineno, name in self.real)
        return not is_its_own

    def __getitem__(self, name: Any) -> Any:
        if self._hides(name):
            raise KeyError(name)
        return self.real[name]

    def __contains__(self, name: Any) -> bool:
        return not self._hides(name) and name in self.real

    def get(self, name: Any, default: Any = None) -> Any:
        return default if self._hides(name) else self.real.get(name, default)

    def copy(self) -> dict[str, Any]:
        return {name: module for name, module in list(self.real.items()) if not self._hides(name)}

    def __iter__(self) -> Any:
        return iter(self.copy())

    def keys(self) -> Any:
        return self.copy().keys()

    def values(self) -> Any:
        return self.copy().values()

    def items(self) -> Any:
        return self.copy().items()

    def __len__(self) -> int:
        return len(self.real)

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = None

    def __setitem__(self, name: Any, module: Any) -> None:
        self.real[name] = module

    def __delitem__(self, name: Any) -> None:
        del self.real[name]

    def pop(self, *args: Any) -> Any:
        return self.real.pop(*args)

    def popitem(self) -> Any:
        return self.real.popitem()

    def setdefault(self, name: Any, default: Any = None) -> Any:
        return self.real.setdefault(name, default)

    def update(self, *args: Any, **more: Any) -> None:
        self.real.update(*args, **more)

    def clear(self) -> None:
        self.real.clear()

    def __reversed__(self) -> Any:
        return reversed(self.copy())

    def __repr__(self) -> str:
        return repr(self.real)


def _noting(getitem: Any) -> Any:
    def noted(environ: Any, name: Any) -> Any:
        frame: Any
        if HIDING.depth and _is_hidden(name):
            frame, place = sys._getframe(1), None
            while frame is not None and (place := _place(frame.f_code.co_filename)) is None:
                frame = frame.f_back
            if frame is not None:
                _note(os.fsdecode(name), place, frame.f_lineno, os.fsdecode(name) in HIDING.kept)
        return getitem(environ, name)

    return noted


type(os.environ).__getitem__ = _noting(type(os.environ).__getitem__)  # type: ignore[method-assign]


def _heard(event: str, arguments: Any) -> None:
    """A program that is started with an environment of its own."""
    if HIDING.depth and event in ("subprocess.Popen", "os.exec", "os.posix_spawn"):
        given = arguments[-1]
        if isinstance(given, dict):
            for name in [each for each, value in given.items() if isinstance(each, str) and _is_ambient(each, value)]:
                del given[name]


sys.addaudithook(_heard)


def _unwatched(monitoring: Any) -> None:
    """Those who watch on our behalf are nobody's business."""
    get_tool = monitoring.get_tool

    def found(number: int) -> Any:
        name, place = get_tool(number), _place(sys._getframe(1).f_code.co_filename)
        if place is None or place in TESTS or name is None:
            return name
        _note("get_tool (who watches it)", place, sys._getframe(1).f_lineno, True)
        return None

    monitoring.get_tool = found


if hasattr(sys, "monitoring"):
    _unwatched(sys.monitoring)


@pytest.hookimpl(hookwrapper=True)
def pytest_collection() -> Any:
    with HIDING.now():
        yield


@pytest.hookimpl(hookwrapper=True)
def pytest_fixture_setup() -> Any:
    with HIDING.now():
        yield


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: Any) -> Any:
    run = item.runtest

    def unseen() -> Any:
        with HIDING.now():
            return run()

    # pytest itself names the test in the environment, just before it runs it.
    item.runtest = unseen
    try:
        yield
    finally:
        del item.runtest
