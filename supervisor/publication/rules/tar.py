"""Reads the members of a hostile tar file: bytes in, names and offsets out. Nothing is written.

The standard library's reader is not used: it follows chains of extended headers, allocates as much as they declare,
accepts sparse files and negative sizes, and decompresses. The tars of our publish tool (GNU, BSD or busybox tar,
uncompressed) need only five kinds of header; any other kind is refused by name:

    0, NUL  file        5  folder (only skipped)        L  GNU long name        x  POSIX extended header: `path`

A member with a valid but unacceptable header becomes a Refusal, and reading continues after it. If the structure
itself is broken, nothing after that can be trusted: the last item is a Refusal, and reading ends.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from supervisor.model.publication import Refusal

BLOCK = 512
MAX_ENTRIES = 2_000
MAX_LONG_NAME = 4_096

_COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"\x5d\x00\x00", b"\x1f\x9d")
_REFUSED_KINDS = {
    b"1": "link",
    b"2": "link",
    b"K": "link",
    b"3": "device",
    b"4": "device",
    b"6": "device",
    b"S": "sparse",
}


@dataclass(frozen=True, slots=True)
class Member:
    name: bytes
    size: int
    offset: int


class _Broken(Exception):
    """The structure can't be followed any further."""

    def __init__(self, reason: str, message: str) -> None:
        self.refusal = Refusal("archive", reason, message)


def members(file: BinaryIO, length: int) -> Iterator[Member | Refusal]:
    """The files of the tar in `file`, which is `length` bytes long."""
    try:
        yield from _members(file, length)
    except _Broken as broken:
        yield broken.refusal


def _members(file: BinaryIO, length: int) -> Iterator[Member | Refusal]:
    offset, long_name = 0, b""
    for entry in range(MAX_ENTRIES + 1):
        header = _read(file, offset, BLOCK, length)
        offset += BLOCK
        if header == bytes(BLOCK):
            return
        _check(header, first=entry == 0)
        kind, size = header[156:157], _octal(header[124:136])
        data, offset = offset, offset + -(-size // BLOCK) * BLOCK
        if data + size > length:
            raise _Broken("truncated", "the archive ends in the middle of a file")
        name, long_name = long_name or _name(header), b""
        if kind in b"0\0":
            yield Member(name, size, data)
        elif kind == b"L":
            long_name = _long(file, data, size, length).rstrip(b"\0")
        elif kind == b"x":
            long_name = _pax_path(_long(file, data, size, length))
        elif kind != b"5":
            reason = _REFUSED_KINDS.get(kind, "odd-member")
            yield Refusal("archive", reason, f"the archive contains a member of the refused kind {reason}")
    raise _Broken("too-many-entries", f"the archive contains more than {MAX_ENTRIES} entries")


def _read(file: BinaryIO, offset: int, size: int, length: int) -> bytes:
    if offset + size > length:
        raise _Broken("truncated", "the archive ends without an end mark")
    file.seek(offset)
    return file.read(size)


def _check(header: bytes, *, first: bool) -> None:
    """Raise _Broken if the header's checksum is wrong; for the first header, with what the file is instead."""
    if first and header.startswith(_COMPRESSED):
        raise _Broken("compressed", "the archive is compressed, which is refused")
    stated = header[148:156].strip(b" \0")
    if stated.isdigit() and len(stated) < 8:
        total = sum(header) - sum(header[148:156]) + 8 * ord(" ")
        if stated.lstrip(b"0") == b"%o" % total:
            return
    raise _Broken("not-a-tar" if first else "broken-header", "the archive has a header that is not a tar header")


def _octal(field: bytes) -> int:
    digits = field.strip(b" \0")
    if not all(digit in b"01234567" for digit in digits):
        raise _Broken("odd-number", "the archive has a header with a number that is not octal")
    return int(digits or b"0", 8)


def _name(header: bytes) -> bytes:
    name = header[:100].split(b"\0", 1)[0]
    prefix = header[345:500].split(b"\0", 1)[0] if header[257:263] == b"ustar\0" else b""
    return prefix + b"/" + name if prefix else name


def _long(file: BinaryIO, offset: int, size: int, length: int) -> bytes:
    if size > MAX_LONG_NAME:
        raise _Broken("name-too-long", "the archive has an extended header that is too long")
    return _read(file, offset, size, length)


def _pax_path(records: bytes) -> bytes:
    """The `path` in records such as `30 path=artifacts/über.txt\\n`. Records that change a size are refused."""
    path = b""
    while records:
        digits, _, _ = records.partition(b" ")
        if not digits.isdigit() or len(digits) > 5 or not len(digits) < int(digits) <= len(records):
            raise _Broken("odd-header", "the archive has an extended header that can't be read")
        record, records = records[len(digits) + 1 : int(digits)], records[int(digits) :]
        key, _, value = record.removesuffix(b"\n").partition(b"=")
        if key == b"size" or key.startswith(b"GNU.sparse"):
            raise _Broken("sparse", "the archive has an extended header that changes a file's size")
        path = value if key == b"path" else path
    return path
