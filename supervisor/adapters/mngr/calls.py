"""Runs one mngr call: bounded in time, in output and in number, and never without an end.

A transport only starts a process on two pipes; all rules are here. The output is read as it comes and kept up to a
limit; past it the process is killed. Nobody waits for the pipes to close, because what a call leaves behind (the
tmux server, watchers) may hold them: once the process has ended, what it wrote is in the pipe, and that is read.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import structlog

from supervisor.errors import MngrFailed

type Lane = Literal["create", "list", "steer", "copy"]

#: How many calls of each kind at once, for each provider. Creates are serialised by mngr's own lock; none can hold up
#: a list or a stop, and calls that a dead provider hangs hold up no other provider's.
LANES: dict[Lane, int] = {"create": 4, "list": 2, "steer": 4, "copy": 4}
#: How long a killed process may take to be gone.
KILL_SECONDS = 10.0

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Answer:
    code: int
    stdout: str
    stderr: str


class Running(Protocol):
    async def wait(self) -> int:
        """The exit code; negative for a signal."""
        ...

    def kill(self) -> None:
        """Kill the whole process group; nothing where it has ended."""
        ...


class Transport(Protocol):
    async def start(self, argv: Sequence[str], stdout: int, stderr: int) -> Running: ...

    async def close(self) -> None: ...


class Tap:
    """A pipe that keeps the first `limit` bytes and calls `on_overflow` at the next."""

    def __init__(self, limit: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._read_end, self.write_end = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._read_end, False)
        self._kept, self._limit = bytearray(), limit
        self.on_overflow: Callable[[], None] = lambda: None
        self.has_overflown = False
        self._loop.add_reader(self._read_end, self._read)

    def _read(self) -> bool:
        """Read once; False when there is nothing (more)."""
        try:
            chunk = os.read(self._read_end, 2**16)
        except BlockingIOError:
            return False
        if not chunk:
            self._loop.remove_reader(self._read_end)
            return False
        room = self._limit - len(self._kept)
        self._kept += chunk[:room]
        if len(chunk) > room and not self.has_overflown:
            self.has_overflown = True
            self.on_overflow()
        return not self.has_overflown

    def close_write_end(self) -> None:
        if self.write_end >= 0:
            os.close(self.write_end)
            self.write_end = -1

    def text(self) -> str:
        """All that has been written so far."""
        while self._read():
            pass
        return self._kept.decode("utf-8", "replace")

    def close(self) -> None:
        self.close_write_end()
        self._loop.remove_reader(self._read_end)
        os.close(self._read_end)


@contextlib.contextmanager
def _taps(limit: int, verb: str) -> Iterator[tuple[Tap, Tap]]:
    with contextlib.ExitStack() as open_ones:
        try:
            taps = [open_ones.enter_context(contextlib.closing(Tap(limit))) for _ in range(2)]
        except OSError as error:
            raise _not_started(verb, error) from error
        yield taps[0], taps[1]


def _not_started(verb: str, error: OSError) -> MngrFailed:
    return MngrFailed(f"`mngr {verb}` can't be started: {error}", reason="provider")


class Calls:
    """All calls of one device."""

    def __init__(self, transport: Transport, max_output_bytes: int) -> None:
        self._transport, self._limit = transport, max_output_bytes
        self._lanes: dict[tuple[Lane, str], asyncio.Semaphore] = {}
        self._running: set[Running] = set()
        self._is_closed = False

    async def run(self, lane: Lane, argv: Sequence[str], timeout: float, provider: str) -> Answer:
        async with self._lanes.setdefault((lane, provider), asyncio.Semaphore(LANES[lane])):
            if self._is_closed:
                raise MngrFailed("mngr is not called any more: the daemon is stopping.", reason="killed")
            began = time.monotonic()
            answer = await self._run(argv, timeout)
            log.debug("mngr", verb=argv[0], code=answer.code, seconds=round(time.monotonic() - began, 3))
            return answer

    async def _run(self, argv: Sequence[str], timeout: float) -> Answer:
        with _taps(self._limit, argv[0]) as (stdout, stderr):
            async with self._started(argv, stdout, stderr) as running:
                try:
                    async with asyncio.timeout(timeout):
                        code = await running.wait()
                except TimeoutError:
                    raise MngrFailed(
                        f"`mngr {argv[0]}` gave no answer within {timeout:g} s and was killed.", reason="timeout"
                    ) from None
            answer = Answer(code, stdout.text(), stderr.text())
            if stdout.has_overflown or stderr.has_overflown:
                raise MngrFailed(
                    f"`mngr {argv[0]}` printed more than {self._limit} bytes and was killed.", reason="garbage"
                )
            return answer

    @contextlib.asynccontextmanager
    async def _started(self, argv: Sequence[str], stdout: Tap, stderr: Tap) -> AsyncIterator[Running]:
        try:
            running = await self._transport.start(argv, stdout.write_end, stderr.write_end)
        except OSError as error:
            raise _not_started(argv[0], error) from error
        for tap in (stdout, stderr):
            tap.close_write_end()
            tap.on_overflow = running.kill
        self._running.add(running)
        try:
            yield running
        finally:
            self._running.discard(running)
            await end(running)

    async def close(self) -> None:
        self._is_closed = True
        for running in tuple(self._running):
            running.kill()
        await self._transport.close()


async def end(running: Running) -> None:
    """Nothing is left behind, whatever the way out: an answer, a deadline, a cancelled caller."""
    running.kill()
    try:
        async with asyncio.timeout(KILL_SECONDS):
            await running.wait()
    except TimeoutError:
        log.warning("a killed mngr process does not end")
