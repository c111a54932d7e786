"""A pytest plugin that reports each test's result to the daemon, as it happens, over a socket of the daemon.

Every pytest that an agent or a verification starts loads it. It looks for the socket once, when it is imported and
before any code of the repository; if nobody listens, as for agents, it does nothing. It keeps references to all that
it needs later, so that patching can't change its reports. While a test runs, it records which function was called and
whether that returned. In a worker process (pytest-xdist, pytest-forked) the records travel with pytest's reports. It
runs under the repository's Python and pytest, and imports nothing of this project.
"""

from __future__ import annotations

import os
import sys
import unittest
import warnings
from typing import Any

import pytest

from .raising import frames_of
from .telling import connected, leave, safe
from .watching import codes_of, executed, watcher

CARRIED = "_supervisor_reports"


_channel = [connected()]
_FOLDER = __file__.rpartition(os.sep)[0].rpartition(os.sep)[0]


def pytest_configure(config: Any) -> Any:
    """Register the reporter for the first pytest of the process, not for one that a test starts inside it."""
    if not getattr(config.option, "numprocesses", None) and not getattr(config.option, "tx", None):
        leave(_FOLDER, __name__)  # not for pytest-xdist, whose workers need it
    tell = _channel.pop() if _channel else None
    if hasattr(config, "workerinput"):
        tell = (lambda record: False) if config.workerinput.get(CARRIED) else None
    if tell is not None:
        config.pluginmanager.register(_Reporter(config, tell), "supervisor_reporter")


class _Reporter:
    def __init__(self, config: Any, tell: Any) -> None:
        self._config, self._line = config, tell
        self._carried: list[dict[str, Any]] = []
        self._loaded: dict[Any, Any] = {}
        self._is_worker = hasattr(config, "workerinput")
        self._watch = watcher()
        if not self._is_worker:
            self._begin(config)

    def _begin(self, config: Any) -> Any:
        inifile = getattr(config, "inipath", None) or getattr(config, "inifile", None)
        self._tell(
            kind="begin",
            rootdir=str(getattr(config, "rootpath", None) or config.rootdir),
            inipath=str(inifile or ""),
            args=[str(each) for each in config.invocation_params.args],
            addopts=[str(each) for each in config.getini("addopts")],
            ini=_ini(config),
            version=pytest.__version__,
            prefix=sys.prefix,
            paths=[safe(each) for each in sys.path],
            editables=_editables(),
        )

    def _tell(self, **record: Any) -> Any:
        if not self._line(record):
            self._carried.append(record)

    # --- collecting

    def pytest_collectreport(self, report: Any) -> Any:
        if report.failed:
            self._tell(kind="uncollected", node=report.nodeid, **_said(report))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection_finish(self, session: Any) -> Any:
        yield
        for item in session.items:
            self._tell(kind="item", node=item.nodeid, path=_path(item))
        if not self._is_worker:
            self._tell_loaded()  # a test may end the process

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> Any:
        node.workerinput[CARRIED] = True

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: Any) -> Any:
        for each in ids:
            self._tell(kind="item", node=each, path="")

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: Any) -> Any:
        for record in getattr(node, "workeroutput", {}).get(CARRIED, []):
            self._tell(**record)

    # --- running

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: Any) -> Any:
        outcome = yield
        self._phase(item, "setup", outcome)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: Any) -> Any:
        codes = codes_of(getattr(item, "obj", None))
        if not codes:
            outcome = yield
            self._phase(item, "call", outcome, ran="unknown", **_place(item))
            return
        with self._watch(codes) as seen:
            outcome = yield
        self._phase(item, "call", outcome, **executed(codes, seen))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: Any, nextitem: Any) -> Any:
        outcome = yield
        self._phase(item, "teardown", outcome)

    def _phase(self, item: Any, when: Any, outcome: Any, **more: Any) -> Any:
        error = outcome.excinfo[1] if outcome.excinfo else None
        said = "" if error is None else (type(error).__name__ + ": " + safe(error))
        kind = {"kind": "phase", "node": item.nodeid, "path": _path(item), "when": when}
        frames = frames_of(error, codes_of(getattr(item, "obj", None))) if _kind(error) == "failed" else []
        self._tell(raised=_kind(error), message=said, frames=frames, **dict(kind, **more))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Any:
        outcome = yield
        if self._carried and outcome.excinfo is None:
            setattr(outcome.get_result(), CARRIED, self._carried)
            self._carried = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> Any:
        if self._is_worker:
            return
        for record in getattr(report, CARRIED, ()):
            self._tell(**record)
        xfail = hasattr(report, "wasxfail")
        self._tell(
            kind="report",
            node=report.nodeid,
            when=str(report.when),
            outcome=str(report.outcome),
            xfail=xfail,
            milliseconds=_milliseconds(report),
            **_said(report),
        )

    # --- the end

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: Any) -> Any:
        if self._is_worker:  # its records are sent at the end of this hook
            self._tell_loaded()
            self._config.workeroutput[CARRIED] = self._carried
        yield
        if not self._is_worker:
            self._tell_loaded()
            self._tell(kind="end", exitstatus=int(session.exitstatus), collected=int(session.testscollected))
            self._line(None)

    def _tell_loaded(self) -> Any:
        """What was not told before."""
        loaded = [("plugin", *each) for each in _plugins(self._config)] + [("module", *each) for each in _modules()]
        for kind, name, file in loaded:
            if self._loaded.get((kind, name)) != file:
                self._loaded[kind, name] = file
                self._tell(kind=kind, name=name, file=file)


# --- records


def _ini(config: Any) -> Any:
    """The values in the settings file, without defaults."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer versions of pytest deprecate this access
        written = dict(getattr(config, "inicfg", None) or {})
    return {str(name): safe(getattr(value, "value", value)) for name, value in written.items()}


def _editables() -> Any:
    """The folders where finders of editable installs look for packages."""
    found: dict[str, str] = {}
    for name, module in list(sys.modules.items()):
        mapping = getattr(module, "MAPPING", None)
        if name.startswith("__editable__") and isinstance(mapping, dict):
            found.update((safe(package), safe(path)) for package, path in mapping.items())
    return found


def _path(item: Any) -> Any:
    return str(getattr(item, "path", None) or getattr(item, "fspath", ""))


def _place(item: Any) -> Any:
    """The place of an item that is not a function, such as a doctest."""
    path, line, _ = item.location
    return {"origin": _path(item) or str(path), "line": int(line or 0) + 1, "name": str(item.name)}


def _kind(error: Any) -> Any:
    if error is None:
        return ""
    if isinstance(error, (pytest.skip.Exception, unittest.SkipTest)):
        return "skipped"
    return "xfailed" if isinstance(error, pytest.xfail.Exception) else "failed"


def _milliseconds(report: Any) -> Any:
    try:
        return int(1000 * report.duration)
    except (AttributeError, TypeError, ValueError, OverflowError):
        return 0


def _said(report: Any) -> Any:
    """The error and its place."""
    longrepr = getattr(report, "longrepr", None)
    if isinstance(longrepr, tuple) and len(longrepr) == 3:
        return {"message": safe(longrepr[2]), "file": safe(longrepr[0]), "line": int(longrepr[1] or 0)}
    crash = getattr(longrepr, "reprcrash", None)
    if crash is not None:
        return {"message": safe(crash.message), "file": safe(crash.path), "line": int(crash.lineno or 0)}
    if not longrepr:
        return {"message": "", "file": "", "line": 0}
    lines = [line for line in safe(longrepr).splitlines() if line.strip()]
    errors = [line[1:].strip() for line in lines if line.startswith("E ")]
    return {"message": (errors or lines[-1:] or [""])[0], "file": "", "line": 0}


def _plugins(config: Any) -> Any:
    for name, plugin in config.pluginmanager.list_name_plugin():
        if plugin is None or isinstance(plugin, _Reporter) or getattr(plugin, "__name__", "") == __name__:
            continue
        file = getattr(plugin, "__file__", None)
        if file is None:
            module = sys.modules.get(getattr(type(plugin), "__module__", ""))
            file = getattr(module, "__file__", None)
        yield str(name), safe(file or "")


def _modules() -> Any:
    """Top-level modules that are neither part of Python nor installed."""
    base = os.path.realpath(getattr(sys, "base_prefix", sys.prefix)) + os.sep + "lib"
    for name, module in sorted(sys.modules.items()):
        if "." in name or name in ("__main__", __name__):
            continue
        path = getattr(module, "__file__", None)
        if not path:
            path = next(iter(getattr(module, "__path__", None) or ()), None)
        if not isinstance(path, str) or "site-packages" in path or "dist-packages" in path:
            continue
        if not os.path.realpath(path).startswith(base):
            yield name, path
