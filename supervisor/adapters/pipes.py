"""Pipes that a program prints into: read as it comes, and kept up to a limit."""

import math
import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress

from anyio import ClosedResourceError, fail_after, notify_closing, wait_readable

LONGEST_LINE = 8 * 2**20
_CHUNK_BYTES = 2**16
#: so many are taken without a look at anything else
_CHUNKS = 16


class Pipe:
    """What a program prints: the first `most` bytes of it, or the last."""

    def __init__(self, most: int, *, keeps_end: bool = False) -> None:
        self._most, self._keeps_end = most, keeps_end
        self._from, self.into = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._from, False)
        self._kept = bytearray()
        self.on_overflow: Callable[[], None] = lambda: None
        self.has_overflown = False

    async def hear(self) -> None:
        """Until it is closed at the other end."""
        while self._has_more():
            await wait_readable(self._from)

    def given(self) -> None:
        """The program has its end of it: ours is closed."""
        if self.into >= 0:
            os.close(self.into)
            self.into = -1

    def all(self) -> bytes:
        """All that was written, once who wrote it has ended."""
        self._has_more()
        return bytes(self._kept)

    def close(self) -> None:
        self.given()
        os.close(self._from)

    def _has_more(self) -> bool:
        """Take what is there, or much of it. Whether more may come."""
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
    """None: there is nothing now."""
    try:
        return os.read(pipe, _CHUNK_BYTES)
    except BlockingIOError:
        return None


class Lines:
    """What a program prints, line by line, as it comes; of one that is too long nothing."""

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
        """Who waits for the next one waits no longer."""
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
    """For what is printed, and for what is complained of. Raises OSError where there are no more descriptors."""
    with ExitStack() as opened:
        out, err = (opened.enter_context(closing(Pipe(most))) for _ in range(2))
        yield out, err
