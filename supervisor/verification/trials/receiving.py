"""Receives from the reporter inside pytest: over one connection, with a nonce that only the reporter is told.

The socket's name is in no folder and is freed at the first connection, so there is no second one, and a later search
finds only what an agent would find. Data may be hostile: its size is bounded, and it is parsed only as records.
"""

import os
import socket
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress

import msgspec
from anyio import Event, move_on_after, wait_readable

from supervisor.tasks import beside
from supervisor.threads import in_thread
from supervisor.verification.trials.reports import Heard, Record
from supervisor.verification.trials.running import Ear
from supervisor.verification.trials.speaking import is_of_ours

MAX_BYTES = 32 * 2**20
_MAX_RECORD = 2**18
#: all processes of the run have ended: what they sent is in the socket
_REST_SECONDS = 10.0


class Receiver:
    def __init__(self) -> None:
        self.name = os.urandom(8).hex()
        self._nonce = os.urandom(16).hex()
        self._heard = Heard()
        self._is_silent = Event()
        self._decoder = msgspec.json.Decoder(Record)

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[Ear]:
        """Yields what a run needs for its reporter to connect."""
        with ExitStack() as listeners:
            async with beside() as tasks:

                def opened(listener: socket.socket) -> None:
                    tasks.start_soon(self._receive, listeners.enter_context(listener))

                yield Ear(self.name, opened)

    async def heard(self) -> Heard:
        """All that was received; to be called when every process that could send has ended."""
        if self._heard.is_connected:
            with move_on_after(_REST_SECONDS):
                await self._is_silent.wait()
        return self._heard

    async def _receive(self, listener: socket.socket) -> None:
        listener.setblocking(False)
        while not self._heard.is_connected:
            with await _accepted(listener) as line:
                if await in_thread(is_of_ours, line):  # the kernel lists the socket, so others can find it
                    listener.close()
                    self._heard.is_connected = True
                    await self._hear(line)
        self._is_silent.set()

    async def _hear(self, line: socket.socket) -> None:
        with suppress(OSError):
            line.setblocking(False)
            line.send(self._nonce.encode())
            size = 0
            while data := await _received(line):
                size += len(data)
                self._take(data, size)

    def _take(self, data: bytes, size: int) -> None:
        if size > MAX_BYTES:
            self._heard.is_too_much = True
            return
        try:
            record = self._decoder.decode(data)
        except (msgspec.MsgspecError, RecursionError):
            self._heard.is_forged = True
            return
        if record.nonce == self._nonce:
            self._heard.records.append(record)
        else:
            self._heard.is_forged = True


async def _accepted(listener: socket.socket) -> socket.socket:
    await wait_readable(listener)
    line, _ = listener.accept()
    return line


async def _received(line: socket.socket) -> bytes:
    await wait_readable(line)
    return line.recv(_MAX_RECORD)
