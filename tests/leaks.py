"""What a test leaves behind fails it: processes, tasks, descriptors and files. A plugin of pytest.

Each worker is a subreaper, so a process that outlives its parent is seen as ours all the same. What a fixture of a
wider scope makes belongs to that scope, and is no leak of the test that asks for it first. Temporary files are made
in a folder of the worker's own, so that nobody else's are taken for them.
"""

import asyncio
import ctypes
import functools
import gc
import inspect
import os
import re
import shutil
import tempfile
import time
from collections.abc import Container, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from supervisor.e2e.processes import started_at
from tests.below import below

PR_SET_CHILD_SUBREAPER = 36
#: what a test has ended may take a moment to be gone
MOMENT_SECONDS = 20.0
#: folders that claude and codex keep for all their runs of one user
KEPT_BY_AGENTS = frozenset({f"claude-{os.getuid()}", "cc-socks", f"codex-daemon-{os.getuid()}"})
#: mngr's transcript script makes a file by `mktemp` in each pass, and is killed with its agent
OF_MKTEMP = re.compile(r"tmp\.\w{10}")
#: of the worker itself: what pytest, its plugins and libraries keep open once they have been used
OWN = ("/dev/urandom", "/dev/null", "anon_inode:[eventpoll]")
#: libgit2 keeps the packs open that it has read
CACHED = "/objects/pack/"


type Key = tuple[str, int | str, str]


def things() -> dict[Key, str]:
    """What there is now, each with how a person would know it."""
    processes = {_process(pid): f"{pid}: {command}" for pid, command in _processes()}
    descriptors = {("descriptor", number, target): f"{number}: {target}" for number, target in _descriptors()}
    return processes | descriptors | {("file", path, ""): path for path in _files()}


def _process(pid: int) -> Key:
    """With its start: the kernel gives numbers again."""
    return "process", pid, str(started_at(pid))


def _processes() -> Iterator[tuple[int, str]]:
    """Children of this process that have not ended, those that were left to it included."""
    yield from ((pid, _command(pid)) for pid in _children() if not _is_zombie(pid))


def _children() -> Iterator[int]:
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):
            yield from map(int, (task / "children").read_text().split())


def _adopt(whether: bool) -> None:
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(whether), 0, 0, 0)


def _reap(known: Container[Key]) -> None:
    """Nobody else waits for those that were left to this process."""
    for pid in _children():
        if _process(pid) not in known and _is_zombie(pid):
            with suppress(OSError):
                os.waitpid(pid, os.WNOHANG)


@contextmanager
def adopting_nobody() -> Iterator[None]:
    """For tests of who is whose child: orphans go to where they go in a daemon."""
    _adopt(False)
    try:
        yield
    finally:
        _adopt(True)


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in ("Z", "X")
    except OSError:
        return True


def _command(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:200]
    return ""


def _descriptors() -> Iterator[tuple[int, str]]:
    for link in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            target = str(link.readlink())
            if not target.startswith("/proc/") and target not in OWN and CACHED not in target:
                yield int(link.name), target


def _files() -> Iterator[str]:
    with suppress(OSError):
        yield from (entry.path for entry in os.scandir(tempfile.gettempdir()) if not _is_of_agents(entry))


def _is_of_agents(entry: os.DirEntry[str]) -> bool:
    return entry.name in KEPT_BY_AGENTS or (OF_MKTEMP.fullmatch(entry.name) is not None and entry.is_file())


class Leaks:
    def __init__(self) -> None:
        self.known = dict[Key, str]()
        self.before = dict[Key, str]()
        self.folder = ""
        #: of fixtures with a wider scope: processes that have something of these in their environment are theirs
        self.shared = set[Path]()

    @contextmanager
    def of_the_session(self) -> Iterator[None]:
        """What is made in here is kept for the tests to come, on purpose."""
        before = things()
        yield
        self.known |= {key: what for key, what in things().items() if key not in before}

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        if isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.obj):
            item.obj = _without_tasks(item.obj)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        if fixturedef.scope == "function":
            return (yield)
        with self.of_the_session():
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Generator[None, Any, Any]:
        _adopt(True)
        _reap(self.known)
        self.before = things()
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, Any, Any]:
        result = yield
        left = self._left()
        if item.get_closest_marker("shared_device") is not None:
            left = [each for each in left if not each.startswith("descriptor ")]
        if left:
            pytest.fail("\n  ".join(["the test leaves behind", *left]), pytrace=False)
        return result

    def _left(self) -> list[str]:
        """Only what stays: looked for at once, then without rubbish, then for a moment."""
        if not self._new():
            return []
        gc.collect()
        deadline = time.monotonic() + MOMENT_SECONDS
        while (left := self._new()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return left

    def _new(self) -> list[str]:
        known = self.before | self.known
        # Who watches for the end of a process by its number takes a zombie for alive.
        _reap(known)
        new = {key: what for key, what in things().items() if key not in known}
        return [f"{key[0]} {what}" for key, what in new.items() if not self._is_shared(key)]

    def _is_shared(self, key: Key) -> bool:
        return key[0] == "process" and any(int(key[1]) in below(folder) for folder in self.shared)


LEAKS = Leaks()


def _without_tasks(test: Any) -> Any:
    """The coroutine of a test, which leaves no task behind."""

    @functools.wraps(test)
    async def checked(*args: Any, **kwargs: Any) -> None:
        before = asyncio.all_tasks()  # its own, and those of a wider fixture
        await test(*args, **kwargs)
        others = asyncio.all_tasks() - before
        if others and (left := (await asyncio.wait(others, timeout=MOMENT_SECONDS))[1]):
            pytest.fail("the test leaves behind\n  " + "\n  ".join(f"task {task}" for task in left), pytrace=False)

    return checked


def begin(plugins: pytest.PytestPluginManager) -> None:
    plugins.register(LEAKS)
    # What pytest itself keeps for a look at failures stays where it always is.
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())
    LEAKS.folder = tempfile.mkdtemp(prefix="t-")
    Path(LEAKS.folder).chmod(0o755)  # as /tmp: tests run programs of other users in it
    os.environ["TMPDIR"] = tempfile.tempdir = LEAKS.folder


def end() -> None:
    shutil.rmtree(LEAKS.folder, ignore_errors=True)
