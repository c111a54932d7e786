"""Writes files into a checkout, and never through hostile links in it. Blocking.

This module is also packed for verifiers on other hosts (`remote/packing.py`): any Python from 3.11 runs it, and it
imports nothing of ours.
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Kind = Literal["file", "program", "link"]


@dataclass(frozen=True)
class Content:
    data: bytes
    kind: Kind = "file"


#: None: there is no such file
Contents = Mapping[str, Content | None]


def put(checkout: Path, files: Contents) -> None:
    """Removes what is in the way, and folders in which nothing is left; follows no link."""
    for path, content in files.items():
        place = _place(checkout, path)
        if place.is_symlink() or place.is_file():
            place.unlink()
        elif place.is_dir():
            shutil.rmtree(place)
        if content is None:
            _remove_empty(checkout, place.parent)
            continue
        if content.kind == "link":
            place.symlink_to(content.data.decode(errors="surrogateescape"))
            continue
        place.write_bytes(content.data)
        place.chmod(0o755 if content.kind == "program" else 0o644)


def _remove_empty(checkout: Path, folder: Path) -> None:
    while folder != checkout and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def _place(checkout: Path, path: str) -> Path:
    """Where the file belongs; whatever is in place of its folders is replaced by folders."""
    *folders, name = [part for part in path.split("/") if part]
    place = checkout
    for part in folders:
        place /= part
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            place.unlink()
        place.mkdir(exist_ok=True)
    return place / name
