"""Tails files that agents may append to, replace, truncate, or replace by something that is not a file.

Only the inode and an offset of a file are remembered: a line without its newline is read again the next time. A line
that is too long is skipped, and noted.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

CHUNK = 2**20
LONGEST_LINE = 8 * 2**20
#: The limit of event files that are read: an agent can create any number.
MOST_SOURCES, DEEPEST = 64, 3
EVENTS = "events.jsonl"
#: how much of the end of a transcript is read to see whether a turn is in progress
LAST_BYTES = 64 * 1024
#: and of its start, where it has begun at all
FIRST_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a file was read."""

    inode: int = 0
    offset: int = 0
    #: in the middle of a line that is too long
    skips: bool = False


@dataclass(frozen=True, slots=True)
class Piece:
    mark: Mark
    lines: tuple[bytes, ...] = ()
    #: a note for the log on what happened to the file
    note: str = ""
    #: there is more to read now
    more: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    name: str
    path: Path


def sources(folder: Path) -> list[Source]:
    """The event files below an agent's `events` directory, without mngr's logs of its own scripts."""
    found: list[Source] = []
    places = [(folder, "")]
    while places and len(found) < MOST_SOURCES:
        place, name = places.pop(0)
        try:
            with os.scandir(place) as entries:
                inside = sorted(entries, key=lambda entry: entry.name)[: 4 * MOST_SOURCES]
        except OSError:
            continue
        for entry in inside:
            if entry.name == EVENTS and name:
                found.append(Source(name, Path(entry.path)))
            elif (
                entry.is_dir(follow_symlinks=False)
                and name.count("/") < DEEPEST
                and not (not name and entry.name == "logs")
            ):
                places.append((Path(entry.path), f"{name}/{entry.name}".lstrip("/")))
    return found[:MOST_SOURCES]


@contextmanager
def _opened(path: Path) -> Iterator[int | None]:
    """Open a regular file; None for anything else, such as a symbolic link, or a pipe that would block."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        yield None
        return
    try:
        yield file if stat.S_ISREG(os.fstat(file).st_mode) else None
    finally:
        os.close(file)


def read(path: Path, mark: Mark, *, last: bool = False) -> Piece:
    """The lines after `mark`; with `last`, also an unfinished last line."""
    with _opened(path) as file:
        if file is None:
            return Piece(mark)
        known = os.fstat(file)
        if mark.inode and known.st_ino != mark.inode:
            return _rotated(path, mark) or Piece(Mark(known.st_ino), more=True)
        if known.st_size < mark.offset:
            return Piece(Mark(known.st_ino), note="the file was truncated; reading from its start", more=True)
        if known.st_size == mark.offset:
            return Piece(mark)
        return _read(file, replace(mark, inode=known.st_ino), known.st_size, last)


def lines_of(path: Path) -> Iterator[bytes]:
    """All lines of a file that is no longer written to."""
    mark, more = Mark(), True
    while more:
        piece = read(path, mark, last=True)
        yield from piece.lines
        mark, more = piece.mark, piece.more


def end_of(path: Path) -> tuple[bytes, bool]:
    """The end of a file, and whether that is the whole file."""
    with _opened(path) as file:
        if file is None:
            return b"", True
        size = os.fstat(file).st_size
        return os.pread(file, LAST_BYTES, max(0, size - LAST_BYTES)), size <= LAST_BYTES


def start_of(path: Path) -> bytes:
    with _opened(path) as file:
        return os.pread(file, FIRST_BYTES, 0) if file is not None else b""


def _rotated(path: Path, mark: Mark) -> Piece | None:
    """The rest of a file that was renamed."""
    for sibling in sorted(path.parent.glob(f"{EVENTS}*"))[:MOST_SOURCES]:
        with _opened(sibling) as file:
            if file is not None and (known := os.fstat(file)).st_ino == mark.inode and known.st_size > mark.offset:
                return replace(_read(file, mark, known.st_size, True), more=True)
    return None


def _read(file: int, mark: Mark, size: int, last: bool) -> Piece:
    data = os.pread(file, CHUNK, mark.offset)
    if b"\n" not in data and len(data) == CHUNK and not mark.skips:
        data = os.pread(file, LONGEST_LINE, mark.offset)
    end = mark.offset + len(data)
    if mark.skips:
        at = data.find(b"\n") + 1
        return Piece(replace(mark, offset=mark.offset + at if at else end, skips=not at), more=end < size or bool(at))
    whole = data.rfind(b"\n") + 1
    if not whole and len(data) >= LONGEST_LINE:
        note = f"a line of more than {LONGEST_LINE} bytes was skipped"
        return Piece(replace(mark, offset=end, skips=True), note=note, more=True)
    if last and end == size:
        whole = len(data)
    lines = tuple(data[:whole].split(b"\n")) if whole else ()
    return Piece(
        replace(mark, offset=mark.offset + whole), tuple(filter(None, lines)), more=end < size and bool(whole)
    )
