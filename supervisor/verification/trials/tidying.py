"""Removes byte code before a run, and computes the stamp that shows whether a folder was changed. Blocking.

Byte code may come from any source, or from none, and nobody reads it: what the base does not have is removed. This
module is also packed for verifiers on other hosts (`remote/packing.py`), so it imports nothing of ours.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

LARGEST = 2**20
#: the number of bytes in the head of a file
HEAD = 400


def is_bytecode(path: str) -> bool:
    return path.lower().endswith((".pyc", ".pyo"))


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def remove_bytecode(checkout: Path, own: Mapping[str, str]) -> None:
    """All but the base's `own`; an environment that `setup` made keeps what its installer put there."""
    for file in _bytecode(checkout):
        path = str(file.relative_to(checkout))
        if file.is_symlink() or file.stat().st_size > LARGEST or own.get(path) != digest(file.read_bytes()):
            file.unlink()


def _bytecode(checkout: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(checkout):
        folders[:] = [
            each for each in folders if each != ".git" and not (Path(folder) / each / "pyvenv.cfg").exists()
        ]
        yield from (Path(folder) / each for each in files if is_bytecode(each))


def head_of(file: Path) -> bytes:
    """The first bytes of a file of any kind; empty if it can't be read."""
    try:
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as opened:
            return opened.read(HEAD)
    except OSError:
        return b""


def stamp_of(folder: Path) -> str:
    """A digest that differs once anything below the folder was changed, even if that is hidden: no program can set
    the time of a change."""
    stamp = hashlib.sha256()
    for place, folders, files in os.walk(folder):
        folders.sort()
        for name in (*sorted(files), *folders):
            path = os.path.join(place, name)  # noqa: PTH118
            found = os.lstat(path)
            stamp.update(f"{path}\0{found.st_ctime_ns}\0{found.st_size}\0{found.st_ino}\n".encode(errors="replace"))
    return stamp.hexdigest()
