"""mngr commands that stream their output for as long as it is read. They end with the device at the latest.

They are killed, so they leave their temporary files: each gets its own temporary folder, which is removed afterwards.
"""

import shutil
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from anyio import Event, move_on_after

from supervisor.adapters.mngr.plain import resolved
from supervisor.adapters.mngr.settings import MngrSettings
from supervisor.adapters.pipes import Lines
from supervisor.adapters.process import Printing, printing
from supervisor.threads import in_thread, surely


class Streams:
    def __init__(self, settings: MngrSettings) -> None:
        self.settings = settings
        self._temporary = settings.cwd / "streams"
        self._open: set[Lines] = set()
        self._closed = Event()

    @property
    def are_closed(self) -> bool:
        return self._closed.is_set()

    @asynccontextmanager
    async def opened(self, *words: str, below: Sequence[str] = ()) -> AsyncIterator[Printing]:
        """`below`: the command that runs it."""
        argv = [*below, str(resolved(self.settings)), *words]
        folder = await in_thread(self._own_folder)
        env = self.settings.environment() | {"TMPDIR": folder}
        try:
            async with printing(argv, env=env, cwd=self.settings.cwd) as running:
                self._open.add(running.lines)
                try:
                    yield running
                finally:
                    self._open.discard(running.lines)
        finally:
            await surely(shutil.rmtree, folder, ignore_errors=True)

    def _own_folder(self) -> str:
        self._temporary.mkdir(parents=True, exist_ok=True)
        return tempfile.mkdtemp(dir=self._temporary)

    async def pause(self, seconds: float) -> None:
        """Sleep; ends at once when the device closes."""
        with move_on_after(seconds):
            await self._closed.wait()

    def close(self) -> None:
        self._closed.set()
        for lines in self._open:
            lines.stop()
