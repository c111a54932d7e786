"""Watches which files of a checkout a setup opens, with any program, as the kernel reports it (inotify).

Everything that exists when the setup starts is watched. The kernel reports a file when it is opened or executed, and
a folder when it is listed; a query for only a size or a name is not reported.
"""

import ctypes
import os
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from anyio import wait_readable

from supervisor.tasks import beside
from supervisor.threads import in_thread

_OPEN, _IS_FOLDER, _OVERFLOW, _ONLY_FOLDERS = 0x20, 0x40000000, 0x4000, 0x01000000
_HEAD = struct.Struct("iIII")
_MOST = 2**20
GIT = ".git"

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(slots=True)
class Opened:
    #: relative to the checkout; "." is the checkout itself
    paths: set[str] = field(default_factory=set)
    #: files of the repository itself were read, which contain every other file
    has_history: bool = False
    #: the kernel could not report everything
    is_partial: bool = False

    def take(self, data: bytes, folders: dict[int, str]) -> None:
        place = 0
        while place < len(data):
            watch, mask, _, length = _HEAD.unpack_from(data, place)
            name = os.fsdecode(data[place + _HEAD.size : place + _HEAD.size + length].rstrip(b"\0"))
            place += _HEAD.size + length
            if mask & _OVERFLOW or watch not in folders:
                self.is_partial = self.is_partial or bool(mask & _OVERFLOW)
            elif folders[watch] == GIT:
                self.has_history = self.has_history or not mask & _IS_FOLDER
            else:
                self.paths.add(os.path.normpath(os.path.join(folders[watch], name)))  # noqa: PTH118


@asynccontextmanager
async def opening(checkout: Path) -> AsyncIterator[Opened]:
    """What is opened there during the block; complete at its end."""
    opened = Opened()
    try:
        number, folders = await in_thread(_watched, checkout)
    except OSError:  # no more watches are available
        opened.is_partial = True
        yield opened
        return
    try:
        async with beside() as tasks:
            tasks.start_soon(_listen, number, folders, opened)
            yield opened
        _read(number, folders, opened)
    finally:
        os.close(number)


async def _listen(number: int, folders: dict[int, str], opened: Opened) -> None:
    while True:
        await wait_readable(number)
        _read(number, folders, opened)


def _read(number: int, folders: dict[int, str], opened: Opened) -> None:
    with suppress(BlockingIOError):
        while True:
            opened.take(os.read(number, _MOST), folders)


def _watched(checkout: Path) -> tuple[int, dict[int, str]]:
    """The kernel's queue, and the folder of each watch. Folders are listed first, because listing opens them."""
    found = []
    for folder, below, _ in os.walk(checkout):
        found.append(os.path.relpath(folder, checkout))
        below[:] = [each for each in below if each != GIT]
    found += [GIT] if (checkout / GIT).is_dir() else []
    number = _libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    if number < 0:
        raise OSError(ctypes.get_errno(), "inotify_init1")
    try:
        return number, {_watch(number, checkout / folder): folder for folder in found}
    except OSError:
        os.close(number)
        raise


def _watch(number: int, folder: Path) -> int:
    watch = int(_libc.inotify_add_watch(number, os.fsencode(folder), _OPEN | _ONLY_FOLDERS))
    if watch < 0:
        raise OSError(ctypes.get_errno(), "inotify_add_watch")
    return watch
