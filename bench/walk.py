"""How far a newcomer has to walk: the modules that one real job goes through, from `submit` to its branch.

    python -m bench.walk [--table] [TEST]

A daemon works on one failing test of the rehearsal target, by the real mngr, tmux and git, while every call from one
module of ours into another is noted. A step is a function that such a call reaches for the first time; a change is a
step into another folder than the last. Nouns (`model`, `ports`, `errors`) are read in passing, and are no place to
walk to; nor is what only observes, or only starts and configures, or how a device of `adapters` works inside.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from inspect import CO_OPTIMIZED
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import supervisor
from supervisor.adapters.private_tmux import leave_the_users_tmux
from supervisor.rehearsal import demo, lay_out
from tests.waiting import until_sync

ROOT = Path(supervisor.__file__).parent
TEST = "tests/e2e/test_tags.py::test_list_by_tag"
NO_PLACE = ("model", "ports", "errors", "observe", "cli", "boot", "settings", "paths", "e2e", "rehearsal")
#: what a submit reaches first
FIRST = "submit"
TOOL = 3


class Notes:
    """Which functions were reached from which module, in the order in which that happened first."""

    def __init__(self, into: Path) -> None:
        self._into, self._is_on = into, False
        self._seen: dict[tuple[str, str, str], None] = {}

    def begin(self) -> None:
        sys.monitoring.use_tool_id(TOOL, "walk")
        sys.monitoring.register_callback(TOOL, sys.monitoring.events.PY_START, self._reached)
        sys.monitoring.set_events(TOOL, sys.monitoring.events.PY_START)

    def _reached(self, code: CodeType, _offset: int) -> object:
        if (module := module_of(code)) is None:
            return sys.monitoring.DISABLE
        self._is_on = self._is_on or code.co_qualname == FIRST
        caller = _caller(sys._getframe(1).f_back)
        if self._is_on and caller is not None and caller != module:
            self._seen.setdefault((caller, module, code.co_qualname))
        return None

    def write(self) -> None:
        self._into.write_text(json.dumps(list(self._seen)))


def module_of(code: CodeType) -> str | None:
    path = Path(code.co_filename)
    if not code.co_flags & CO_OPTIMIZED or code.co_name.startswith("<") or not path.is_relative_to(ROOT):
        return None
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def _caller(frame: FrameType | None) -> str | None:
    while frame is not None:
        if (module := module_of(frame.f_code)) is not None:
            return module
        frame = frame.f_back
    return None


def traced(config: str, into: str) -> int:
    """The daemon itself, with notes taken until it is stopped."""
    from supervisor.cli import supervisord

    notes = Notes(Path(into))
    notes.begin()
    try:
        return supervisord.run(["--config", config, "--log-format", "json"])
    finally:
        notes.write()


def folder_of(module: str) -> str:
    """A room, or a device's folder among the adapters."""
    parts = module.split(".")
    return "/".join(parts[:2]) if parts[0] == "adapters" and len(parts) > 2 else parts[0]


def walk(seen: Iterable[tuple[str, str, str]]) -> Iterator[tuple[str, str]]:
    """Each function when it is reached first, by its module."""
    known = set[tuple[str, str]]()
    for caller, module, function in seen:
        inside = module.startswith("adapters.") and folder_of(module) == folder_of(caller)
        if module.split(".")[0] not in NO_PLACE and not inside and (module, function) not in known:
            known.add((module, function))
            yield module, function


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("test", nargs="?", default=TEST)
    parser.add_argument("--table", action="store_true", help="print every step")
    parser.add_argument("--daemon", nargs=2, metavar=("CONFIG", "INTO"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    leave_the_users_tmux()
    if asked.daemon:
        return traced(*asked.daemon)
    folder = Path(tempfile.mkdtemp(prefix="sv-walk-", dir="/tmp"))
    try:
        return _told(list(walk(_noted(folder, asked.test))), asked.table)
    finally:
        demo._clear(folder)
        shutil.rmtree(folder, ignore_errors=True)


def _noted(folder: Path, test: str) -> list[tuple[str, str, str]]:
    lay_out(folder / "pantry")
    config, into = folder / "config.toml", folder / "walk.json"
    config.write_text(demo.CONFIG.format(folder=folder, slots=1, python=sys.executable))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    command = [sys.executable, "-m", "bench.walk", "--daemon", str(config), str(into)]
    with subprocess.Popen(command, env=os.environ | {"PATH": path}) as daemon:
        try:
            until_sync("the daemon listens", (folder / "ctl.sock").exists, timeout=60)
            demo._run(folder, "submit", test, "--wait")
        finally:
            daemon.terminate()
            daemon.wait(timeout=60)
    found: list[Any] = json.loads(into.read_text())
    return [(caller, module, function) for caller, module, function in found]


def _told(steps: list[tuple[str, str]], in_full: bool) -> int:
    modules = list(dict.fromkeys(module for module, _ in steps))
    folders = [folder_of(module) for module, _ in steps]
    changes = sum(here != there for here, there in pairwise(folders))
    if in_full:
        for module, function in steps:
            print(f"{folder_of(module):24} {module:44} {function}")
    print(f"{len(steps)} steps in {len(modules)} modules of {len(set(folders))} folders, {changes} changes of folder")
    return 0


if __name__ == "__main__":
    sys.exit(main())
