"""An HTTP server that is told to end. uvicorn's own checks ten times a second whether it should.

It waits until it is told, then for answers under way, and for no timer except the last deadline.
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from typing import Any

import uvicorn
from anyio import CancelScope, Event, current_time, move_on_after

#: how long cancelled tasks have to clean up
CLEARING_SECONDS = 1.0


class Present[T](set[T]):
    """A set that can be awaited until it is empty."""

    def __init__(self) -> None:
        super().__init__()
        self._is_empty = Event()

    def discard(self, one: object) -> None:
        super().discard(one)
        if not self:
            self._is_empty.set()

    async def gone(self) -> None:
        while self:
            self._is_empty = Event()
            await self._is_empty.wait()


class Server(uvicorn.Server):
    def __init__(self, configuration: uvicorn.Config) -> None:
        super().__init__(configuration)
        self._connections, self._tasks = Present[Any](), Present[Any]()
        self.server_state.connections, self.server_state.tasks = self._connections, self._tasks
        self._is_told, self._farewell = Event(), CancelScope()

    def end(self) -> None:
        """Accept nothing new, and wait a moment for answers under way."""
        self.should_exit = True
        self._is_told.set()

    def hurry(self) -> None:
        """End without waiting for answers."""
        self.end()
        self._farewell.cancel()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the program."""
        yield

    async def main_loop(self) -> None:
        await self._is_told.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for each in (*self.servers, *(sockets or ())):
            each.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        seconds = self.config.timeout_graceful_shutdown
        self._farewell.deadline = inf if seconds is None else current_time() + seconds
        with self._farewell:
            await self._gone()
        if self._farewell.cancelled_caught:
            for task in list(self.server_state.tasks):
                task.cancel()
            with move_on_after(CLEARING_SECONDS):
                await self._tasks.gone()

    async def _gone(self) -> None:
        await self._connections.gone()
        await self._tasks.gone()
        for server in self.servers:
            await server.wait_closed()
