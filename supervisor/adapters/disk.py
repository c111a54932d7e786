"""How much disk space the state takes: counted in a thread, for a limited time."""

import os
import shutil
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from anyio import sleep

from supervisor.threads import at_length

#: what is counted by then is the answer
COUNT_SECONDS = 20.0
#: between two counts: of many files one takes seconds
EVERY_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Disk:
    state_bytes: int
    free_bytes: int
    #: the count is incomplete: the state takes more than that
    more: bool = False


def measure(state_dir: Path, within: float = COUNT_SECONDS) -> Disk:
    """Blocking: run it in a thread."""
    size, whole = size_of(state_dir, within)
    return Disk(size, shutil.disk_usage(state_dir).free, not whole)


def size_of(folder: Path, within: float = COUNT_SECONDS) -> tuple[int, bool]:
    """What it takes on its disk, a file with several names once; and whether that is all."""
    until, seen, size = time.monotonic() + within, set[tuple[int, int]](), 0
    for parent, _, names in os.walk(folder):
        if time.monotonic() > until:
            return size, False
        for name in names:
            try:
                found = os.lstat(os.path.join(parent, name))  # noqa: PTH118 (a Path per file takes twice as long)
            except OSError:
                continue
            if found.st_nlink > 1:
                if (found.st_dev, found.st_ino) in seen:
                    continue
                seen.add((found.st_dev, found.st_ino))
            size += found.st_blocks * 512
    return size, True


class DiskUse:
    """The last count; nobody waits for a new one."""

    def __init__(self, state_dir: Path) -> None:
        self._state_dir = state_dir
        self._last: Disk | None = None

    @property
    def known(self) -> dict[str, Any] | None:
        return None if self._last is None else asdict(self._last)

    async def watch(self) -> None:
        while True:
            try:
                self._last = await at_length(measure, self._state_dir)
            except OSError:
                self._last = None
            await sleep(EVERY_SECONDS)
