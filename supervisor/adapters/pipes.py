"""Pipes for a program's output: read continuously, and kept up to a limit."""

import math
import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress

from anyio import ClosedResourceError, fail_after, notify_closing, wait_readable

LONGEST_LINE = 8 * 2**20
_CHUNK_BYTES = 2**16
#: how many chunks are read before the event loop gets a turn
_CHUNKS = 16


class Pipe:
    """A program's output: its first or last `most` bytes."""

    def __init__(self, most: int, *, keeps_end: bool = False) -> None:
        self._most, self._keeps_end = most, keeps_end
        self._from, self.into = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._from, False)
        self._kept = bytearray()
        self.on_overflow: Callable[[], None] = lambda: None
        self.has_overflown = False

    async def hear(self) -> None:
        """Read until the other end is closed."""
        while self._has_more():
            await wait_readable(self._from)

    def given(self) -> None:
        """The program has inherited the write end: close our copy."""
        if self.into >= 0:
            os.close(self.into)
            self.into = -1

    def all(self) -> bytes:
        """All that was written; call it once the writer has ended."""
        self._has_more()
        return bytes(self._kept)

    def close(self) -> None:
        self.given()
        os.close(self._from)

    def _has_more(self) -> bool:
        """Read what is in the pipe, up to a bound. Returns whether more may come."""
        for _ in range(_CHUNKS):
            if not (chunk := _read(self._from)):
                return chunk is None
            self._kept += chunk
            if self._keeps_end:
                del self._kept[: -self._most]
            elif len(self._kept) > self._most:
                del self._kept[self._most :]
                self.has_overflown = True
                self.on_overflow()
                return False
        return True


def _read(pipe: int) -> bytes | None:
    """None: the pipe is empty for now."""
    try:
        return os.read(pipe, _CHUNK_BYTES)
    except BlockingIOError:
        return None


class Lines:
    """A program's output, line by line as it comes; a line that is too long is dropped."""

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._from, self.into = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._from, False)
        self._longest, self._is_too_long = longest, False
        self._rest, self._lines = bytearray(), deque[bytes]()
        self._is_stopped = False

    async def next(self, timeout: float = math.inf) -> bytes | None:
        """None once there are no more. Raises TimeoutError."""
        with fail_after(timeout), suppress(ClosedResourceError):
            while not self._lines and not self._is_stopped:
                if (chunk := _read(self._from)) == b"":
                    return None
                if chunk is None:
                    await wait_readable(self._from)
                else:
                    self._take(chunk)
        return self._lines.popleft() if self._lines and not self._is_stopped else None

    def stop(self) -> None:
        """Wakes whoever waits in `next`, which returns None from now on."""
        self._is_stopped = True
        notify_closing(self._from)

    def given(self) -> None:
        os.close(self.into)
        self.into = -1

    def close(self) -> None:
        if self.into >= 0:
            self.given()
        os.close(self._from)

    def _take(self, chunk: bytes) -> None:
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            if not self._is_too_long:
                self._lines.append(bytes(self._rest) + line)
            self._rest.clear()
            self._is_too_long = False
        self._rest += b"" if self._is_too_long else rest
        if len(self._rest) > self._longest:
            self._rest.clear()
            self._is_too_long = True


@contextmanager
def pipes(most: int) -> Iterator[tuple[Pipe, Pipe]]:
    """One for stdout and one for stderr. Raises OSError when descriptors run out."""
    with ExitStack() as opened:
        out, err = (opened.enter_context(closing(Pipe(most))) for _ in range(2))
        yield out, err
