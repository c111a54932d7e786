"""The id of this machine, which the first mngr call in a home generates and writes to a file.

If two calls do so at once, each generates an id and the later write wins: the address of an agent that the other call
created then leads nowhere. So until the file exists, only one call runs at a time, and the others wait for the file.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from anyio import Lock, current_time, move_on_after

_LOOK_SECONDS = 0.05
#: A call that hangs before it writes the file delays the others by no more than this. An agent that they then create
#: under another id is still found, see `finding`.
_PATIENCE_SECONDS = 30.0


class LocalHost:
    def __init__(self, host_dir: Path) -> None:
        self._file = host_dir / "host_id"
        self._first = Lock()
        self._is_settled = False

    @property
    def id(self) -> str:
        """The id as every later call will read it; "" if no mngr has written one yet."""
        try:
            return self._file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            return ""

    @property
    def _is_there(self) -> bool:
        self._is_settled = self._is_settled or bool(self.id)
        return self._is_settled

    @asynccontextmanager
    async def alone_at_first(self) -> AsyncIterator[None]:
        deadline = current_time() + _PATIENCE_SECONDS
        while not self._is_there and current_time() < deadline:
            with move_on_after(_LOOK_SECONDS) as look:
                await self._first.acquire()
            if look.cancelled_caught:
                continue
            try:
                if not self._is_there:
                    yield
                    return
            finally:
                self._first.release()
        yield
