"""Asks the implementation again, outside of pytest: what a test has called, in a fresh Python.

Calls with plain values are noted while a test runs. An answer that is another one in a fresh Python, and the same one
in a fresh pytest, depends on being tested, however that is found out: nothing else differs. Whatever depends on what
the test did before differs in both, and says nothing. All calls of a run are made again at its end, in their order;
for what there was no time, or what ended the fresh Python, a note is left. (For pytest: PYTEST_DONT_REWRITE.)
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FunctionType
from typing import Any

import pytest
from _hiding_probe import TESTS, _is_hidden  # type: ignore[import-not-found]
from _reaching_probe import REACHING  # type: ignore[import-not-found]

HERE = os.path.dirname(os.path.abspath(__file__))
MOST_CALLS, LONGEST = 300, 2000
#: so long it may take altogether, and as long as the tests took
SECONDS = 5.0
BEGAN = time.monotonic()
#: a function with other parameters than those with a name, or one that answers later
_OTHERWISE = 0x4 | 0x8 | 0x20 | 0x80 | 0x200
#: with these a test changes what the implementation finds
_CHANGING = ("monkeypatch", "mocker", "mock")
_AGAIN = """
import ast, importlib, json, sys

def again(task=json.load(open({task!r}))):
    sys.path[:] = task["path"]
    answers = []
    for module, name, given, named in task["calls"]:
        try:
            function = getattr(importlib.import_module(module), name)
            answers.append(repr(function(*ast.literal_eval(given), **ast.literal_eval(named))))
        except BaseException as error:
            answers.append("raises " + type(error).__name__)
    json.dump(answers, open({into!r}, "w"))
"""


class Calls:
    def __init__(self, monitoring: Any, tool: int) -> None:
        self.monitoring, self.tool = monitoring, tool
        self.begun: dict[int, Any] = {}
        #: each with its place and its answer
        self.made: list[tuple[tuple[str, str, str, str], str, str]] = []

    def started(self, code: Any, offset: int) -> None:
        frame = sys._getframe(1)
        caller = frame.f_back
        if caller is None or REACHING.place(caller.f_code.co_filename) not in TESTS or len(self.made) >= MOST_CALLS:
            return
        count = code.co_argcount
        given = [frame.f_locals[name] for name in code.co_varnames[:count]]
        named = {name: frame.f_locals[name] for name in code.co_varnames[count : count + code.co_kwonlyargcount]}
        if (first := _plain(given)) and (second := _plain(named)):
            self.begun[id(frame)] = (frame.f_globals.get("__name__", ""), code.co_name, first, second)

    def returned(self, code: Any, offset: int, answer: Any) -> None:
        asked = self.begun.pop(id(sys._getframe(1)), None)
        if asked is not None and (said := _plain(answer)):
            self.made.append((asked, said, REACHING.place(code.co_filename) or ""))

    @contextmanager
    def noted(self) -> Iterator[None]:
        events = self.monitoring.events
        codes = [function.__code__ for function in _functions()]
        self.monitoring.use_tool_id(self.tool, "replaying")
        self.monitoring.register_callback(self.tool, events.PY_START, self.started)
        self.monitoring.register_callback(self.tool, events.PY_RETURN, self.returned)
        for code in codes:
            self.monitoring.set_local_events(self.tool, code, events.PY_START | events.PY_RETURN)
        try:
            yield
        finally:
            for code in codes:
                self.monitoring.set_local_events(self.tool, code, 0)
            self.monitoring.free_tool_id(self.tool)


def _functions() -> Iterator[FunctionType]:
    """Those of the implementation's modules that are found by their names."""
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        place = REACHING.place(file) if isinstance(file, str) else None
        for name, value in list(vars(module).items()) if place is not None and place not in TESTS else []:
            is_own = isinstance(value, FunctionType) and value.__module__ == module.__name__
            if is_own and value.__name__ == name and not value.__code__.co_flags & _OTHERWISE:
                yield value


def _plain(value: Any) -> str:
    """As text from which it can be made again; "" if it can't."""
    try:
        text = repr(value)
        return text if len(text) < LONGEST and repr(ast.literal_eval(text)) == text else ""
    except Exception:  # whatever a value of the tests does
        return ""


def _answers(calls: list[Any], number: int, ends: float, *, is_tested: bool = False) -> list[str]:
    """Of a fresh Python, or a fresh pytest."""
    task, into = (os.path.join(HERE, f"{name}-{number}.json") for name in ("task", "answers"))
    script = os.path.join(HERE, f"test_again_{number}.py" if is_tested else f"again_{number}.py")
    near = [os.path.abspath(each) for each in sys.path if os.path.abspath(each) != HERE]
    with suppress(OSError):
        os.unlink(into)
    with open(task, "w") as opened:
        json.dump({"path": near, "calls": calls}, opened)
    with open(script, "w") as opened:
        opened.write(_AGAIN.format(task=task, into=into))
        opened.write("\n\ndef test_again():\n    again()\n" if is_tested else "\n\nagain()\n")
    env = {name: value for name, value in os.environ.items() if not _is_hidden(name) and name != "PYTHONPATH"}
    if is_tested:
        env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    pytest_line = ["-m", "pytest", "-q", "-c", os.devnull, "--rootdir", HERE, "-p", "no:cacheprovider", script]
    line = [sys.executable, *(pytest_line if is_tested else [script])]
    left = ends - time.monotonic()
    subprocess.run(line, env=env, capture_output=True, stdin=subprocess.DEVNULL, timeout=left, check=False)
    with open(into) as opened:
        return [str(each) for each in json.load(opened)]


def _compare(made: list[tuple[str, Calls]], ends: float) -> None:
    asked = [list(call) for _, calls in made for call, _, _ in calls.made]
    said = [answer for _, calls in made for _, answer, _ in calls.made]
    plain = _answers(asked, 0, ends)
    if plain == said:
        return
    again, tested = _answers(asked, 1, ends), None
    end = 0
    for test, calls in made:
        own = slice(end, end + len(calls.made))
        end = own.stop
        if plain[own] == said[own] or plain[own] != again[own]:
            continue
        tested = tested or _answers(asked, 2, ends, is_tested=True)
        if said[own] == tested[own]:
            REACHING.notes.add("test", test)
            for (call, answer, place), other in zip(calls.made, plain[own], strict=True):
                if answer != other:
                    REACHING.notes.add("otherwise", place, call[1], answer[:100], other[:100])


#: of tests that have passed, by their names where several are told apart
PASSED: dict[str, Calls] = {}


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_sessionfinish() -> Any:
    """When all tests are over, and nothing that they do is noted any more."""
    yield
    now = time.monotonic()
    try:
        if PASSED:
            _compare(list(PASSED.items()), now + SECONDS + now - BEGAN)
    except Exception:  # it took too long, or did not come to its end
        for test, calls in PASSED.items():
            REACHING.notes.add("test", test)
            for place in {place for _, _, place in calls.made}:
                REACHING.notes.add("not again", place)


def _name(item: Any) -> str:
    """As the probe says it that tells tests apart, if it is there."""
    telling = sys.modules.get("_telling_probe")
    return str(item.nodeid if telling is None else telling._now[0])


@pytest.hookimpl(hookwrapper=True, trylast=True)
def pytest_runtest_call(item: Any) -> Any:
    monitoring = getattr(sys, "monitoring", None)
    changes = any(name in _CHANGING for name in getattr(item, "fixturenames", ()))
    if monitoring is None or changes or monitoring.get_tool(2) is not None:
        yield
        return
    calls, name = Calls(monitoring, 2), _name(item)
    PASSED.pop(name, None)
    with calls.noted():
        outcome = yield
    if outcome.excinfo is None and calls.made:
        PASSED[name] = calls
