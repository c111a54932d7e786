"""Watches a test while it runs: which function was really called, and whether it returned."""

from __future__ import annotations

import functools
import sys
from typing import Any

_WRAPPED = 20
_TOOL = 4


def codes_of(test: Any) -> Any:
    """The code of a test function, the outermost wrapper first."""
    found = []
    for _ in range(_WRAPPED):
        test = getattr(test, "__func__", test)
        if isinstance(test, functools.partial):
            test = test.func
            continue
        code = getattr(test, "__code__", None)
        if hasattr(code, "co_firstlineno") and code not in found:
            found.append(code)
        test = getattr(test, "__wrapped__", None)
        if test is None:
            break
    return found


def executed(codes: Any, seen: Any) -> Any:
    """The innermost function that was really called; a wrapper may name one that it never calls."""
    if seen is None:
        ran, code = "unknown", codes[-1]
    else:
        called = [code for code in codes if seen.get(code, [0, 0])[0]]
        code = called[-1] if called else codes[0]
        starts, returns = seen.get(code, [0, 0])
        ran = "never" if not starts else "returned" if returns else "raised"
    name = getattr(code, "co_qualname", code.co_name)
    found = {"origin": code.co_filename, "line": code.co_firstlineno, "name": name}
    return dict(found, ran=ran, wrapped=len(codes) > 1)


def watcher() -> Any:
    if hasattr(sys, "monitoring") and sys.monitoring.get_tool(_TOOL) is None:
        return functools.partial(_Monitored, sys.monitoring)
    return _Profiled


class _Monitored:
    def __init__(self, monitoring: Any, codes: Any) -> None:
        self._monitoring, self._codes = monitoring, codes
        self._seen: dict[Any, list[int]] = {}

    def __enter__(self) -> Any:
        events = self._monitoring.events
        self._monitoring.use_tool_id(_TOOL, __name__)
        for place, event in enumerate((events.PY_START, events.PY_RETURN)):
            self._monitoring.register_callback(_TOOL, event, self._counter(place))
        for code in self._codes:
            self._monitoring.set_local_events(_TOOL, code, events.PY_START | events.PY_RETURN)
        return self._seen

    def _counter(self, place: Any) -> Any:
        seen = self._seen

        def count(code: Any, *_: Any) -> Any:
            seen.setdefault(code, [0, 0])[place] += 1

        return count

    def __exit__(self, *_: Any) -> Any:
        try:
            for code in self._codes:
                self._monitoring.set_local_events(_TOOL, code, 0)
            self._monitoring.free_tool_id(_TOOL)
        except ValueError:  # the tool id was already freed
            self._seen.clear()


class _Profiled:
    """For Pythons without `sys.monitoring`; used only when needed, because it is slow."""

    def __init__(self, codes: Any) -> None:
        self._codes = codes
        self._seen: dict[Any, list[int]] = {}

    def __enter__(self) -> Any:
        if len(self._codes) < 2 or sys.getprofile() is not None:
            return None
        sys.setprofile(self._profile)
        return self._seen

    def _profile(self, frame: Any, event: Any, value: Any) -> Any:
        if event in ("call", "return") and frame.f_code in self._codes:
            # A function that raises also reports None: the two can't be distinguished here.
            self._seen.setdefault(frame.f_code, [0, 0])[event == "return"] += 1

    def __exit__(self, *_: Any) -> Any:
        if sys.getprofile() == self._profile:
            sys.setprofile(None)
