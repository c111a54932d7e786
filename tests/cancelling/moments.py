"""Cancels an operation at each moment at which it can be cancelled, and looks at what is left of it.

A moment is one at which any task of the operation gives way to the event loop. They are counted where tasks are made:
the event loop is asked to make them (its task factory), and nothing of the product is touched.
"""

import asyncio
import gc
import re
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import psutil
from anyio import CancelScope

from tests.waiting import until

type Operation = Callable[[], Coroutine[Any, Any, object]]


@dataclass
class Moments:
    """Does something at one of them; 0: at none. By itself it cancels."""

    at: int = 0
    scope: CancelScope = field(default_factory=CancelScope)
    seen: int = 0
    act: Callable[[], object] | None = None

    def passed(self) -> None:
        self.seen += 1
        if self.seen == self.at:
            (self.act or self.scope.cancel)()


class Counted(Awaitable[Any]):
    """Awaits something, and tells each time that it gives way."""

    def __init__(self, doing: Coroutine[Any, Any, Any], moments: Moments) -> None:
        self._doing, self._moments = doing, moments

    def __await__(self) -> Generator[Any, Any, Any]:
        step: Callable[[], Any] = partial(self._doing.send, None)
        while True:
            try:
                given = step()
            except StopIteration as done:
                return done.value
            self._moments.passed()
            try:
                sent = yield given
            except BaseException as thrown:
                step = partial(self._doing.throw, thrown)
            else:
                step = partial(self._doing.send, sent)


async def _counted(doing: Coroutine[Any, Any, Any], moments: Moments) -> Any:
    return await Counted(doing, moments)


@asynccontextmanager
async def counting(moments: Moments) -> AsyncIterator[None]:
    """All tasks that are made meanwhile are counted."""
    loop = asyncio.get_running_loop()

    def make(loop: asyncio.AbstractEventLoop, doing: Any, **more: Any) -> asyncio.Task[Any]:
        return asyncio.Task(_counted(doing, moments), loop=loop, **more)

    loop.set_task_factory(make)
    try:
        yield
    finally:
        loop.set_task_factory(None)


async def cancelled_at(number: int, operation: Operation) -> Moments:
    """It never ends with anything but its end or the cancellation."""
    moments = Moments(number)
    with moments.scope:
        async with counting(moments):
            await Counted(operation(), moments)
    return moments


async def at_each_moment(operation: Operation, *, within: float, every: int = 1) -> int:
    """How many there are: it is cancelled at each, or at every so many, until it ends before."""
    before = Left.now()
    for number in count(1, every):
        began = time.monotonic()
        moments = await cancelled_at(number, operation)
        took = time.monotonic() - began
        if moments.seen < number:
            return moments.seen
        assert took < within, f"it took {took:.1f} s to end at moment {number}"
        await nothing_more_than(before, f"moment {number}")
    raise AssertionError


@dataclass(frozen=True)
class Left:
    """What there is of this process that an operation may leave behind."""

    processes: frozenset[psutil.Process]
    tasks: int
    threads: frozenset[str]
    #: by what they are of
    descriptors: Counter[str]

    @classmethod
    def now(cls) -> "Left":
        gc.collect()  # what nobody holds any more keeps its files open until then
        me = psutil.Process()
        return cls(
            frozenset(child for child in me.children(recursive=True) if not _has_ended(child)),
            len(asyncio.all_tasks()),
            # Those of a pool wait for more.
            frozenset(each.name for each in threading.enumerate() if not each.name.startswith("AnyIO worker")),
            Counter(_opened()),
        )

    def more_than(self, before: "Left") -> str:
        found = [f"process {_said(process)}" for process in self.processes - before.processes]
        found += [f"thread {name}" for name in self.threads - before.threads]
        found += [f"{self.tasks - before.tasks} tasks"] * (self.tasks > before.tasks)
        found += [f"descriptor {name}" for name in sorted((self.descriptors - before.descriptors).elements())]
        return ", ".join(found)


def _opened() -> Iterator[str]:
    for each in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the one that looks
            yield re.sub(r"\d+", "", str(each.readlink()))


def _has_ended(process: psutil.Process) -> bool:
    """Whether it only waits to be reaped, as an orphan does that was left to this process."""
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def _said(process: psutil.Process) -> str:
    try:
        return f"{process.pid}: {' '.join(process.cmdline())[:100]}"
    except psutil.NoSuchProcess:
        return str(process.pid)


async def nothing_more_than(before: Left, of: str) -> None:
    """What has been killed takes a moment to be gone."""
    try:
        await until(f"nothing is left of {of}", lambda: Left.now().more_than(before) == "")
    except AssertionError as left:
        raise AssertionError(f"{left}: {Left.now().more_than(before)}") from None


def files_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}
