"""The mark: the last acknowledged event, kept outside of the database and its log.

SQLite can't distinguish a truncated log from one that was never longer. The mark can: it holds the number of the last
acknowledged event, and the sum of the events that make the state (`tally`).

It is written after an append is on disk and before the append is acknowledged. So after a crash the journal may be
one append ahead of the mark, but never behind it. The file has two slots of one page each, and a write goes to the
older slot: a torn write leaves the newer slot intact. The file does not grow, so a write is one page and one
fdatasync.
"""

import os
import struct
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

_PAGE = 4096
_MAGIC = b"agsvmrk1"
#: magic, turn, number of the last event, sum, installation
_SLOT = struct.Struct(">8sQQQ32s")
_CHECK_BYTES = 16


@dataclass(frozen=True, slots=True)
class Mark:
    installation: str
    seq: int
    tally: int
    #: how often it was written
    turn: int = 0


def place_of(journal: Path) -> Path:
    return journal.with_name(f"{journal.stem}.mark")


def read(path: Path) -> Mark | None:
    """The newest intact slot, or None."""
    try:
        with path.open("rb") as file:
            content = file.read(2 * _PAGE)
    except FileNotFoundError:
        return None
    slots = [_decoded(content[start : start + _PAGE]) for start in (0, _PAGE)]
    return max((slot for slot in slots if slot), key=lambda slot: slot.turn, default=None)


def create(path: Path, mark: Mark) -> None:
    """Write the file atomically and durably, replacing any older one."""
    draft = path.with_name(f"{path.name}.new")
    with draft.open("wb") as file:
        file.write(_encoded(mark) * 2)
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class MarkFile:
    """The mark of a journal that is open for writing."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        found = read(path)
        assert found is not None, "a journal is only written to when its mark was found whole"
        self._mark = found

    def advance(self, seq: int, tally: int) -> None:
        """Write a new mark; it is on disk when this returns."""
        turn = self._mark.turn + 1
        mark = Mark(self._mark.installation, seq, tally, turn)
        os.pwrite(self._descriptor, _encoded(mark), turn % 2 * _PAGE)
        os.fdatasync(self._descriptor)
        self._mark = mark

    def close(self) -> None:
        os.close(self._descriptor)


def _encoded(mark: Mark) -> bytes:
    slot = _SLOT.pack(_MAGIC, mark.turn, mark.seq, mark.tally, mark.installation.encode())
    return (slot + _check(slot)).ljust(_PAGE, b"\0")


def _decoded(page: bytes) -> Mark | None:
    slot, check = page[: _SLOT.size], page[_SLOT.size : _SLOT.size + _CHECK_BYTES]
    if len(slot) < _SLOT.size or check != _check(slot):
        return None
    magic, turn, seq, tally, installation = _SLOT.unpack(slot)
    return Mark(installation.rstrip(b"\0").decode(), seq, tally, turn) if magic == _MAGIC else None


def _check(slot: bytes) -> bytes:
    return blake2b(slot, digest_size=_CHECK_BYTES).digest()
