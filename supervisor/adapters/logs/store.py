"""The logs on disk: for each attempt a stream of lines, in segments that are named after their place in the stream.

A stream only grows at its end and loses whole segments at its beginning; so a place in it stays valid, and a reader
of a place that is gone gets a line that says so. Each stream is bounded, and so are all of them together.
"""

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from supervisor.adapters.layout import Layout
from supervisor.model.attempt import AttemptKey
from supervisor.transcripts.entries import Entry, now

MEBIBYTE = 2**20
SEGMENTS = 4


@dataclass(frozen=True, slots=True)
class Segment:
    path: Path
    start: int
    size: int

    @property
    def end(self) -> int:
        return self.start + self.size


class LogStore:
    def __init__(self, layout: Layout, *, each: int = 32 * MEBIBYTE, total: int = 4096 * MEBIBYTE) -> None:
        self._layout, self._each, self._total = layout, each, total

    def folder(self, key: AttemptKey) -> Path:
        return self._layout.attempt(key) / "log"

    def end(self, key: AttemptKey) -> int:
        found = _segments(self.folder(key))
        return found[-1].end if found else 0

    def append(self, key: AttemptKey, data: bytes) -> int:
        """Append whole lines. Returns where the stream ends then."""
        folder = self.folder(key)
        found = _segments(folder)
        if not found or found[-1].size >= self._each // SEGMENTS:
            folder.mkdir(parents=True, exist_ok=True)
            start = found[-1].end if found else 0
            found.append(Segment(folder / f"{start:016}.jsonl", start, 0))
        with found[-1].path.open("ab") as file:
            file.write(data)
        while len(found) > 1 and found[-1].end + len(data) - found[0].start > self._each:
            found.pop(0).path.unlink(missing_ok=True)
        return found[-1].end + len(data)

    def cut_back(self, key: AttemptKey, end: int) -> None:
        """Undo what was appended after `end`."""
        for segment in reversed(_segments(self.folder(key))):
            if segment.start > end:
                segment.path.unlink()
            elif segment.end > end:
                os.truncate(segment.path, end - segment.start)

    def read(self, key: AttemptKey, after: int, most: int = MEBIBYTE) -> tuple[list[bytes], int]:
        """Lines from a place in the stream on, and the place where they end."""
        found = _segments(self.folder(key))
        lines: list[bytes] = []
        if found and after < found[0].start:
            lines.append(self._cut(key, after, found[0].start))
            after = found[0].start
        for segment in found:
            if segment.start <= after < segment.end and most > 0:
                piece, after = _read(segment, after, most)
                lines += piece
                most -= sum(map(len, piece))
        return lines, after

    def _cut(self, key: AttemptKey, after: int, start: int) -> bytes:
        text = f"{start - after} bytes of this log were cut here, to keep all logs within their bounds"
        return msgspec.json.encode(Entry(now(), key.attempt, "supervisor", "note", text, {}))

    def shrink(self, live: Collection[AttemptKey]) -> None:
        """Keep all logs together within their bound: the oldest segments go, of attempts that are over first."""
        ours = {self.folder(key) for key in live}
        folders = list((self._layout.state_dir / "batches").glob("*/attempts/*/log"))
        found = [
            (folder in ours, segment.path.stat().st_mtime, segment)
            for folder in folders
            for segment in _segments(folder)
        ]
        excess = sum(segment.size for _, _, segment in found) - self._total
        for _, _, segment in sorted(found, key=lambda each: each[:2]):
            if excess <= 0:
                return
            if segment.size:
                # The place where it ended stays known.
                segment.path.with_name(f"{segment.end:016}.jsonl").touch()
                segment.path.unlink()
                excess -= segment.size


def _segments(folder: Path) -> list[Segment]:
    try:
        with os.scandir(folder) as entries:
            found = [(entry.name, entry.path, entry.stat().st_size) for entry in entries if entry.name[:16].isdigit()]
    except FileNotFoundError:
        return []
    return [Segment(Path(path), int(name[:16]), size) for name, path, size in sorted(found)]


def _read(segment: Segment, after: int, most: int) -> tuple[list[bytes], int]:
    """Whole lines only; a place in the middle of one is moved to its end."""
    with segment.path.open("rb") as file:
        file.seek(max(0, after - segment.start - 1))
        if after > segment.start and file.read(1) != b"\n":
            after += len(file.readline())
        lines: list[bytes] = []
        for line in _lines(file, most):
            lines.append(line.rstrip(b"\n"))
            after += len(line)
    return lines, after


def _lines(file: Iterator[bytes], most: int) -> Iterator[bytes]:
    for line in file:
        if not line.endswith(b"\n"):
            return
        yield line
        most -= len(line)
        if most <= 0:
            return
