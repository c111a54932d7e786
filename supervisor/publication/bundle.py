"""Reads the header of a hostile bundle: its ref, its prerequisites, and where its pack begins."""

import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from supervisor.errors import Hostile

#: the only ref that the publish tool puts into a bundle
REF = "refs/heads/work"
MAX_HEADER = 64 * 1024

_PREREQUISITE = re.compile(rb"-([0-9a-f]{40})(?: .*)?")
_TIP = re.compile(rb"([0-9a-f]{40}) (.+)")


@dataclass(frozen=True, slots=True)
class BundleLimits:
    size: int = 100 * 2**20
    objects: int = 100_000
    object_size: int = 50 * 2**20
    total_size: int = 2**30
    commits: int = 200
    paths: int = 20_000
    #: `size` is what the disk has room for
    by_room: bool = False

    @property
    def too_large(self) -> str:
        if self.by_room:
            return "the disk has no room for it"
        return f"the bundle is larger than {self.size} bytes"


@dataclass(frozen=True, slots=True)
class Bundle:
    head: str
    prerequisites: tuple[str, ...]


def read_bundle(file: IO[bytes], limits: BundleLimits) -> Bundle:
    """Leaves the file at the first byte of the pack."""
    if file.seek(0, 2) > limits.size:
        raise Hostile(limits.too_large, reason="bundle-too-large")
    file.seek(0)
    head, separator, _ = file.read(MAX_HEADER).partition(b"\n\n")
    signature, *lines = head.split(b"\n")
    if signature == b"# v3 git bundle":
        raise Hostile("the bundle is of version 3: only version 2 is accepted", reason="bundle-version")
    if signature != b"# v2 git bundle" or not separator:
        raise Hostile("the bundle is no git bundle", reason="not-a-bundle")
    bundle = _parsed(lines)
    _check_pack(file, len(head) + len(separator), limits)
    return bundle


def _parsed(lines: list[bytes]) -> Bundle:
    prerequisites, tips = [], []
    for line in lines:
        if found := _PREREQUISITE.fullmatch(line):
            prerequisites.append(found[1].decode())
        elif found := _TIP.fullmatch(line):
            tips.append((found[2], found[1].decode()))
        else:
            raise Hostile("the bundle has a header that can't be read", reason="not-a-bundle")
    if [ref for ref, _ in tips] != [REF.encode()]:
        raise Hostile(f"the bundle brings other refs than {REF}", reason="wrong-ref")
    return Bundle(tips[0][1], tuple(prerequisites))


def _check_pack(file: IO[bytes], offset: int, limits: BundleLimits) -> None:
    file.seek(offset)
    pack = file.read(12)
    if len(pack) < 12 or pack[:8] != b"PACK\0\0\0\2":
        raise Hostile("the bundle holds no pack", reason="not-a-bundle")
    if int.from_bytes(pack[8:]) > limits.objects:
        raise Hostile(f"the bundle holds more than {limits.objects} objects", reason="too-many-objects")
    file.seek(offset)


def open_plain(path: Path) -> IO[bytes]:
    """An unbuffered file, so that a child that inherits it continues where we stopped."""
    if path.is_symlink() or not path.is_file() or not stat.S_ISREG(path.lstat().st_mode):
        raise Hostile("the bundle is not a plain file", reason="not-a-bundle")
    return path.open("rb", buffering=0)
