"""Byte code that goes before a run, and the stamp by which it is seen that something was changed. Blocking.

Byte code is what somebody has made of a source, or of none, and nobody reads it: what the base does not have is
removed. This module is also packed for verifiers on other hosts (`remote/packing.py`): it imports nothing of ours.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

LARGEST = 2**20
#: so much of a file is its head
HEAD = 400


def is_bytecode(path: str) -> bool:
    return path.lower().endswith((".pyc", ".pyo"))


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def remove_bytecode(checkout: Path, own: Mapping[str, str]) -> None:
    """All but the base's `own`; an environment that `setup` has made keeps what its installer has put there."""
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
    """How it begins, whatever it is."""
    try:
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as opened:
            return opened.read(HEAD)
    except OSError:
        return b""


def stamp_of(folder: Path) -> str:
    """Another one as soon as anything below the folder is changed, whatever is done to hide it: no program sets the
    time of a change."""
    stamp = hashlib.sha256()
    for place, folders, files in os.walk(folder):
        folders.sort()
        for name in (*sorted(files), *folders):
            path = os.path.join(place, name)  # noqa: PTH118
            found = os.lstat(path)
            stamp.update(f"{path}\0{found.st_ctime_ns}\0{found.st_size}\0{found.st_ino}\n".encode(errors="replace"))
    return stamp.hexdigest()
