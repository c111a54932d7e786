"""How far a newcomer has to walk: the modules that one real job goes through, from `submit` to its branch.

    python -m bench.walk [--table] [TEST]

A daemon works on one failing test of the rehearsal target, by the real mngr, tmux and git, while every call from one
module of ours into another is noted: in the request, in the loop, and in each effect of the loop, one after the
other. A step is a function that such a call reaches for the first time. Left out are nouns (`model`, `ports`,
`errors`, `kinds`, and whatever is a frozen value), what only observes, starts or configures, and the devices below
the stages (`adapters`, `transcripts`). A room's subfolder has a front door: what happens behind it is no part of the
walk. What watches all agents all the time is a walk of its own, and so is the survey, which belongs to a batch.
"""

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from contextvars import ContextVar
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
NO_PLACE = frozenset(("model", "ports", "errors", "paths", "threads", "tasks", "adapters", "observe", "cli", "boot"))
NO_PLACE |= {"serving", "settings", "kinds", "transcripts", "agents", "e2e", "rehearsal"}
#: what a submit reaches first, and what a landed branch comes to
FIRST, LAST = "submit", "GitStore.land_once"
#: the request, the loop, and whatever it performs
TASKS = ("run_asgi", "Loop.run", "Daemon._launch", "Daemon._performed")
NUMBERS: dict[asyncio.Task[Any], int] = {}
OWNER: ContextVar[str] = ContextVar("owner", default="")
#: of work in a thread, the module that asked for it
ASKED_BY: ContextVar[str] = ContextVar("asked_by", default="")
TOOL = 3
PATIENCE_SECONDS = 300.0

type Step = tuple[str, str]


class Notes:
    """Which functions were reached from which module, in the order in which that happened first."""

    def __init__(self, into: Path) -> None:
        self._into, self._is_on, self._is_over = into, False, False
        #: by the task on whose behalf it happened, in the order of their beginning
        self._seen: dict[str, dict[tuple[str, str, str], None]] = {}

    def begin(self) -> None:
        sys.monitoring.use_tool_id(TOOL, "walk")
        sys.monitoring.register_callback(TOOL, sys.monitoring.events.PY_START, self._reached)
        sys.monitoring.set_events(TOOL, sys.monitoring.events.PY_START)

    def _reached(self, code: CodeType, _offset: int) -> object:
        if (module := module_of(code)) is None:
            return sys.monitoring.DISABLE
        self._is_on = not self._is_over and (self._is_on or code.co_qualname == FIRST)
        frame, task = sys._getframe(1), _task()
        caller = _caller(frame.f_back) or ASKED_BY.get()
        if self._is_on and task and caller != module and not _is_value(frame):
            self._seen.setdefault(task, {}).setdefault((caller, module, code.co_qualname))
        if module == "threads" != caller:
            ASKED_BY.set(caller)
        self._is_over = self._is_over or code.co_qualname == LAST
        return None

    def write(self) -> None:
        self._into.write_text(json.dumps([step for steps in self._seen.values() for step in steps]))


def module_of(code: CodeType) -> str | None:
    """None: it is not ours, or no function with a name of its own: a callback belongs to whoever gave it."""
    path = Path(code.co_filename)
    is_function = code.co_flags & CO_OPTIMIZED and "<" not in code.co_qualname
    if not is_function or not path.is_relative_to(ROOT):
        return None
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def _caller(frame: FrameType | None) -> str:
    """ "": a task or a thread begins with it."""
    while frame is not None:
        if (module := module_of(frame.f_code)) is not None:
            return module
        frame = frame.f_back
    return ""


def _task() -> str:
    """The task that is being run, or on whose behalf a thread works; "" for those that only watch."""
    with suppress(RuntimeError):  # there is no loop in a thread
        if (task := asyncio.current_task()) is not None:
            names = task.get_name(), getattr(task.get_coro(), "__qualname__", "")
            number = NUMBERS.setdefault(task, len(NUMBERS))
            OWNER.set(str(number) if any(name.endswith(TASKS) for name in names) else "")
    return OWNER.get()


def _is_value(frame: FrameType) -> bool:
    known = getattr(type(frame.f_locals.get("self")), "__dataclass_params__", None)
    return known is not None and known.frozen


def traced(config: str, into: str) -> int:
    """The daemon itself, with notes taken until it is stopped."""
    from supervisor.cli import supervisord

    notes = Notes(Path(into))
    notes.begin()
    try:
        return supervisord.run(["--config", config, "--log-format", "json"])
    finally:
        notes.write()


def walk(seen: Iterable[tuple[str, str, str]]) -> Iterator[Step]:
    """Each function when it is reached first, by its module."""
    known = set[Step]()
    for caller, module, function in seen:
        if not _is_inside(caller, module) and room_of(module) not in NO_PLACE and (module, function) not in known:
            known.add((module, function))
            yield module, function


def _is_inside(caller: str, module: str) -> bool:
    folder = module.rpartition(".")[0]
    return folder.count(".") > 0 and caller.startswith(f"{folder}.")


def room_of(module: str) -> str:
    return module.partition(".")[0]


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
    """Nobody looks on, as that would be no part of the job: the branch is what is waited for."""
    lay_out(folder / "pantry")
    config, into = folder / "config.toml", folder / "walk.json"
    config.write_text(demo.CONFIG.format(folder=folder, slots=1, python=sys.executable) + 'survey = "file"\n')
    command = [sys.executable, "-m", "bench.walk", "--daemon", str(config), str(into)]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    branches = folder / "pantry" / ".git" / "refs" / "heads" / "supervisor"
    with (
        (folder / "daemon.log").open("wb") as log,
        subprocess.Popen(command, env=os.environ | {"PATH": path}, stdout=log, stderr=log) as daemon,
    ):
        try:
            until_sync("the daemon listens", (folder / "ctl.sock").exists, timeout=60)
            demo._run(folder, "submit", test)
            until_sync("the branch is there", lambda: any(branches.glob("*")), timeout=PATIENCE_SECONDS)
        finally:
            daemon.terminate()
            daemon.wait(timeout=60)
    found: list[Any] = json.loads(into.read_text())
    return [(caller, module, function) for caller, module, function in found]


def _told(steps: list[Step], in_full: bool) -> int:
    modules = {module for module, _ in steps}
    rooms = [room_of(module) for module, _ in steps]
    changes = sum(here != there for here, there in pairwise(rooms))
    if in_full:
        for module, function in steps:
            print(f"{module:44} {function}")
    print(f"{len(steps)} steps in {len(modules)} modules of {len(set(rooms))} folders, {changes} changes of folder")
    return 0


if __name__ == "__main__":
    sys.exit(main())
