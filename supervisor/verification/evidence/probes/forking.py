"""Runs tests many times, each time in a fork and with faults in some files: a plugin of pytest.

Once all tests are collected, a fault is written into its files and pytest forks. In the fork, functions that were
imported before get the code that they have in these files now, and the test runs, with fixtures of its own. Then the
files are as before. So a test finds its own fault and no other, and nothing that another test has left in memory.

Each test runs in a fork without a fault first. If it does not pass there, its faults are not tried. Nor is a fault
tried that differs outside of functions from what is imported. (For pytest: PYTEST_DONT_REWRITE.)
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import json
import os
import select
import signal
import time
import warnings
from typing import Any

import pytest
from _imported_probe import ROOT, Imported, Irreplaceable, read  # type: ignore[import-not-found]
from _pytest.runner import runtestprotocol

#: number, node, seconds; and by path: the content and the mode, or None
FAULTS: Any = ()
#: the time limit of the whole run
SECONDS = 0.0

#: the reporter's name for what it sends along with a report
CARRIED = "_supervisor_reports"
#: with a fault, a test may take so many times as long as without, and so many seconds
SLOWER, AND_SECONDS = 20, 3
_END = b"end\n"
#: Python takes a file with the same size and time for what it has compiled: each fault has another time
_later = itertools.count(1)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: Any) -> Any:
    reporter = session.config.pluginmanager.get_plugin("supervisor_reporter")
    if reporter is None or session.testsfailed or getattr(session.config.option, "numprocesses", None):
        return None
    limits: dict[Any, Any] = {}
    imported = Imported({path for _, _, _, files in FAULTS for path in files})
    gc.freeze()  # forks share the memory of what they do not touch
    end = time.monotonic() + SECONDS / 2  # the rest is for the last one
    for number, node, seconds, files in FAULTS:
        items = _items(session, node)
        if not items or time.monotonic() > end:
            continue
        if node not in limits:
            began = time.monotonic()
            passes = _passes(reporter, imported, items, seconds)
            limits[node] = min(seconds, SLOWER * (time.monotonic() - began) + AND_SECONDS) if passes else 0
        if limits[node]:
            reporter._tell(kind="fork", name=str(number), when="begin")
            ended, reports = _forked(reporter, imported, items, limits[node], files)
            for report in reports:
                reporter.pytest_runtest_logreport(report)
            if ended == "late" and not _passes(reporter, imported, items, limits[node] / 2):
                ended = "unknown"  # the machine may be at fault
            reporter._tell(kind="fork", name=str(number), when="end", outcome=ended)
    return True


def _passes(reporter: Any, imported: Any, items: Any, seconds: Any) -> Any:
    ended, reports = _forked(reporter, imported, items, seconds, {})
    return ended == "ended" and reports and all(each.outcome == "passed" for each in reports)


def _items(session: Any, node: Any) -> Any:
    return [each for each in session.items if (name := _node(each)) == node or _function(name) == node]


def _node(item: Any) -> Any:
    file = os.path.relpath(os.path.realpath(str(item.path)), ROOT)
    return "::".join([file, *item.nodeid.split("::")[1:]])


def _function(node: Any) -> Any:
    path, separator, inside = node.partition("::")
    return path + separator + inside.partition("[")[0]


# --- a fork


def _forked(reporter: Any, imported: Any, items: Any, seconds: Any, files: Any) -> Any:
    """How it ended, and its reports."""
    config, before = items[0].config, {path: read(path) for path in files}
    reading, writing = os.pipe()
    try:
        later = next(_later)
        for path, content in files.items():
            _write(path, content, before[path][1] + later)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # newer Pythons warn of other threads
            fork = os.fork()
        if not fork:
            os.close(reading)
            _be(reporter, imported, items, files, writing)
        os.close(writing)
        ended, data = _heard(fork, reading, time.monotonic() + seconds)
    finally:
        os.close(reading)
        for path, (content, stamp) in before.items():
            _write(path, content, stamp)
    try:
        if ended == "ended" and not data.endswith(_END):
            return "died", []
        lines = data[: -len(_END)].splitlines() if ended == "ended" else []
        told = [_own(json.loads(line), {each.nodeid for each in items}) for line in lines]
        return ended, [config.hook.pytest_report_from_serializable(config=config, data=each) for each in told]
    except Exception:
        return "died", []


def _own(told: Any, nodes: Any) -> Any:
    """What it may tell: the results of its own tests."""
    if told["nodeid"] not in nodes:
        raise ValueError
    for records in [told[name] for name in told if name == CARRIED]:
        if not all(each["kind"] == "phase" and each["node"] in nodes for each in records):
            raise ValueError
    return told


def _heard(fork: Any, reading: Any, end: Any) -> Any:
    """Until it has ended: a process that it has started may hold the pipe open."""
    data, is_open, ended = b"", True, ""
    while not ended:
        if is_open and select.select([reading], [], [], 0.05)[0]:
            more = os.read(reading, 2**20)
            data, is_open = data + more, bool(more)
            continue
        done, status = os.waitpid(fork, os.WNOHANG)
        if done:
            ended = "ended" if status == 0 else "died"
        elif time.monotonic() > end:
            ended = "late"
        elif not is_open:
            time.sleep(0.002)
    with contextlib.suppress(OSError):
        os.killpg(fork, signal.SIGKILL)
    if ended == "late":
        os.waitpid(fork, 0)
    while is_open and select.select([reading], [], [], 0)[0]:
        more = os.read(reading, 2**20)
        data, is_open = data + more, bool(more)
    return ended, data


def _be(reporter: Any, imported: Any, items: Any, files: Any, writing: Any) -> Any:
    """The fork, which never returns."""
    code, config = 1, items[0].config
    try:
        os.setpgid(0, 0)
        reporter._line(None)  # a fork has no word in the results of others
        imported.replace(files)
        with open(writing, "ab", closefd=False) as out:
            for item, following in zip(items, [*items[1:], None]):  # noqa: B905
                for report in runtestprotocol(item, log=False, nextitem=following):
                    data = config.hook.pytest_report_to_serializable(config=config, report=report)
                    out.write(json.dumps(data, default=str).encode() + b"\n")
                    out.flush()  # or else what a test forks has it, too
            out.write(_END)
        code = 0
    except Irreplaceable:
        pass
    finally:
        os._exit(code)


def _write(path: Any, content: Any, stamp: Any) -> Any:
    """A file of the same size with the same time would be taken for what was compiled before."""
    place = os.path.join(ROOT, path)
    if os.path.lexists(place):
        os.unlink(place)
    if content is not None:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "wb") as file:
            file.write(content[0])
        os.chmod(place, content[1])
        os.utime(place, (stamp, stamp))
