"""Tells the notes of several tests apart, where they share a process: a plugin of pytest, beside the one that notes.

What is done while tests are collected, or for a fixture that several tests share, belongs to all of them.
(For pytest: PYTEST_DONT_REWRITE.)
"""

from __future__ import annotations

import os
from typing import Any

import pytest
from _reaching_probe import REACHING  # type: ignore[import-not-found]

ALL = ""
_now = [ALL]


def _mark(node: str) -> None:
    """From here on. What was noted once is noted again."""
    _now[0] = node
    REACHING.notes.add("test", node)
    REACHING.noted.clear()
    REACHING.again()


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: Any) -> None:
    _mark(ALL)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: Any) -> None:
    file = os.path.relpath(os.path.realpath(item.path), REACHING.root)
    _mark("::".join([file, *item.nodeid.split("::")[1:]]))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_fixture_setup(fixturedef: Any, request: Any) -> Any:
    if fixturedef.scope == "function":
        return (yield)
    before = _now[0]
    _mark(ALL)
    try:
        return (yield)
    finally:
        _mark(before)
