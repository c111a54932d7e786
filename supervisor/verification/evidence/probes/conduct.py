"""Notes how each test comes to its result: which fixtures it gets, what of the implementation it has replaced by code
of its own, and which of its checks fail and are not heard of.

A check has failed unheard if it was the last time that it failed, and the test passed. So whoever tries again until a
check passes has none. Loaded by pytest, beside the probe that notes what is reached.
(For pytest: PYTEST_DONT_REWRITE.)
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any

import pytest
from _reaching_probe import REACHING  # type: ignore[import-not-found]

FAILURES = (AssertionError, pytest.fail.Exception)
#: files of the repository that are tests; whoever loads this says which
TESTS: frozenset[str] = frozenset()
PARAMETER = "get_direct_param_fixture_func"


class Unheard:
    """While a test runs: lines of the repository where a failure of a check has passed last."""

    def __init__(self, monitoring: Any, tool: int) -> None:
        self.monitoring, self.tool = monitoring, tool
        self.failed: dict[tuple[Any, int], None] = {}

    def raised(self, code: Any, offset: int, error: Any) -> None:
        if isinstance(error, FAILURES) and REACHING.place(code.co_filename) is not None:
            line = next((line for start, end, line in code.co_lines() if start <= offset < end), None)
            if line is not None:
                self.failed[(code, line)] = None
                self.monitoring.set_local_events(self.tool, code, self.monitoring.events.LINE)

    def reached(self, code: Any, line: int) -> None:
        self.failed.pop((code, line), None)

    @contextmanager
    def heard(self) -> Iterator[None]:
        events = self.monitoring.events
        self.monitoring.use_tool_id(self.tool, "conduct")
        self.monitoring.register_callback(self.tool, events.RAISE, self.raised)
        self.monitoring.register_callback(self.tool, events.LINE, self.reached)
        self.monitoring.set_events(self.tool, events.RAISE)
        try:
            yield
        finally:
            self.monitoring.set_events(self.tool, 0)
            for code in {code for code, _ in self.failed}:
                self.monitoring.set_local_events(self.tool, code, 0)
            self.monitoring.free_tool_id(self.tool)


def _fixtures(item: Any) -> Iterator[tuple[str, str]]:
    """By name, the file that each comes from; "" for those of plugins."""
    known = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
    for name, found in known.items():
        code = getattr(found[-1].func, "__code__", None)
        if code is not None:
            is_parameter = code.co_name == PARAMETER
            yield name, "its parameters" if is_parameter else REACHING.place(code.co_filename) or ""


#: what test modules have of the implementation, once they are collected
IMPORTED: dict[tuple[str, str], Any] = {}


def _functions() -> Iterator[tuple[str, str, str, Any]]:
    """Of the repository's modules: the file, the name, and the file that the function comes from."""
    for module in list(sys.modules.values()) if TESTS else []:
        file = getattr(module, "__file__", None)
        place = REACHING.place(file) if isinstance(file, str) else None
        for name, value in list(vars(module).items()) if place is not None else []:
            code = getattr(value, "__code__", None)
            origin = REACHING.place(code.co_filename) if isinstance(code, CodeType) else None
            if place is not None and origin is not None:
                yield place, name, origin, value


def _replaced() -> Iterator[tuple[str, str]]:
    """Where functions of tests have the name of one of the implementation."""
    for place, name, origin, value in _functions():
        was = IMPORTED.get((place, name), value)
        if origin in TESTS and (place not in TESTS or was is not value):
            yield place, name


def _loaded() -> frozenset[str]:
    """Modules of tests, whoever has imported them."""
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())] if TESTS else []
    return TESTS.intersection(REACHING.place(file) or "" for file in files if isinstance(file, str))


def pytest_collection_finish() -> None:
    for place, name, origin, value in _functions():
        if place in TESTS and origin not in TESTS:
            IMPORTED[place, name] = value


def _note(item: Any) -> None:
    for name, place in _fixtures(item):
        REACHING.notes.add("fixture", name, place)
    for place, name in _replaced():
        REACHING.notes.add("replaced", place, name)
    for place in _loaded():
        REACHING.notes.add("loaded", place)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: Any) -> Any:
    _note(item)
    monitoring = getattr(sys, "monitoring", None)
    free = [] if monitoring is None else [number for number in (5, 2) if monitoring.get_tool(number) is None]
    if not free:
        yield
        return
    unheard = Unheard(monitoring, free[0])
    with unheard.heard():
        outcome = yield
    if outcome.excinfo is None:
        for code, line in unheard.failed:
            REACHING.notes.add("unheard", REACHING.place(code.co_filename), line)
