"""Programs of mngr's that print for as long as they are listened to, and end with the device at the latest."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from anyio import Event, move_on_after

from supervisor.adapters.mngr.plain import resolved
from supervisor.adapters.mngr.settings import MngrSettings
from supervisor.adapters.pipes import Lines
from supervisor.adapters.process import Printing, printing


class Streams:
    def __init__(self, settings: MngrSettings) -> None:
        self.settings = settings
        self._open: set[Lines] = set()
        self._closed = Event()

    @property
    def are_closed(self) -> bool:
        return self._closed.is_set()

    @asynccontextmanager
    async def opened(self, *words: str, below: Sequence[str] = ()) -> AsyncIterator[Printing]:
        """`below`: what it is run by."""
        argv = [*below, str(resolved(self.settings)), *words]
        async with printing(argv, env=self.settings.environment(), cwd=self.settings.cwd) as running:
            self._open.add(running.lines)
            try:
                yield running
            finally:
                self._open.discard(running.lines)

    async def pause(self, seconds: float) -> None:
        """Over at once when the device closes."""
        with move_on_after(seconds):
            await self._closed.wait()

    def close(self) -> None:
        self._closed.set()
        for lines in self._open:
            lines.stop()
