"""The id of this machine, which the first mngr in a home makes up and writes down.

Two that are the first at once make up one each, and the later one stays: what the other created is then known under
an address that leads nowhere. So until it is written down, one call goes alone, and the others wait for that.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from anyio import Lock, current_time, move_on_after

_LOOK_SECONDS = 0.05
#: One that hangs before it has written anything holds up nobody for longer; whoever goes on then is found all the
#: same, see `finding`.
_PATIENCE_SECONDS = 30.0


class LocalHost:
    def __init__(self, host_dir: Path) -> None:
        self._file = host_dir / "host_id"
        self._first = Lock()
        self._is_settled = False

    @property
    def id(self) -> str:
        """As every later call will read it; "" where no mngr has written one yet."""
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
