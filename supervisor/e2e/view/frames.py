"""A recording as frames of changed rows. pyte emulates the terminal here, so the page only draws text."""

from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from supervisor.e2e.casts import Cast, Event
from supervisor.e2e.ptys import Size
from supervisor.e2e.screens import Screen
from supervisor.e2e.view.styled import BOLD, ITALIC, STRIKE, UNDERLINE, Run, Style, named

SECONDS_PER_FRAME = 1 / 25
TEXT_LIMIT = 4 * 1024 * 1024
MOST_MARKERS = 500
LARGEST = Size(400, 200)  # the limit for a hostile recording


@dataclass(slots=True)
class _Film:
    size: Size
    screen: Screen
    rows: list[list[Run]] = field(default_factory=list)
    known: dict[tuple[Run, ...], int] = field(default_factory=dict)
    shown: dict[int, int] = field(default_factory=dict)
    frames: list[list[Any]] = field(default_factory=list)
    markers: list[list[Any]] = field(default_factory=list)
    text_left: int = TEXT_LIMIT

    def take(self, event: Event) -> None:
        if event.code == "o":
            self.screen.feed(event.data[: self.text_left])
            self.text_left -= min(len(event.data), self.text_left)
        elif event.code == "r" and (size := _size(event.data)):
            self.size = size
            self.screen.resize(size)
            self.screen.emulator.dirty.update(range(size.lines))
        elif event.code in "im" and len(self.markers) < MOST_MARKERS:
            self.markers.append([round(event.time, 3), event.code, event.data[:2000]])

    def shoot(self, time: float) -> None:
        """Add a frame with the rows that changed since the previous one."""
        changed = {line: self._row(line) for line in sorted(self.screen.emulator.dirty) if line < self.size.lines}
        self.screen.emulator.dirty.clear()
        changes = {line: row for line, row in changed.items() if self.shown.get(line) != row}
        self.shown |= changes
        cursor = [*self.screen.cursor, 0 if self.screen.emulator.cursor.hidden else 1]
        frame = [round(time, 3), changes, cursor, [self.size.columns, self.size.lines]]
        if changes or not self.frames or self.frames[-1][2:] != frame[2:]:
            self.frames.append(frame)

    def height(self) -> int:
        """The number of lines that are ever used; the page leaves out the rest of a tall terminal."""
        used = [line for _, changes, _, _ in self.frames for line, row in changes.items() if self.rows[row]]
        highest: int = max([*used, *(frame[2][0] for frame in self.frames), 5])
        return highest + 1

    def _row(self, line: int) -> int:
        """The index of a styled row; equal rows, such as empty ones, are stored once."""
        row = tuple(_runs(self.screen, line, self.size.columns))
        if row not in self.known:
            self.known[row] = len(self.rows)
            self.rows.append(list(row))
        return self.known[row]


def film(cast: Cast) -> dict[str, Any]:
    """The recording in the format of the page's player."""
    size = _bounded(cast.size)
    made = _Film(size, Screen(size))
    for _, events in groupby(cast.events, key=lambda event: int(event.time / SECONDS_PER_FRAME)):
        time = 0.0
        for event in events:
            if event.code in "im":  # show the exact moment, even within the time of one frame
                made.shoot(event.time)
            made.take(event)
            time = event.time
        made.shoot(time)
    return {
        "title": cast.title,
        "duration": round(cast.duration_seconds, 3),
        "rows": made.rows,
        "frames": made.frames,
        "markers": made.markers,
        "height": made.height(),
        "is_cut": made.text_left == 0,
    }


def _runs(screen: Screen, line: int, columns: int) -> list[Run]:
    cells = [screen.emulator.buffer[line][column] for column in range(columns)]
    runs: list[Run] = []
    for look, same in groupby(cells, key=lambda cell: cell[1:]):
        foreground, background, bold, italics, underscore, strike, is_reversed, *_ = look
        flags = BOLD * bold | ITALIC * italics | UNDERLINE * underscore | STRIKE * strike
        style = Style(named(foreground), named(background), flags, is_reversed)
        runs.append(style.run("".join(cell.data for cell in same)))
    while runs and runs[-1][1:] == ("", "", 0) and not runs[-1][0].strip():
        runs.pop()
    if runs and runs[-1][1:] == ("", "", 0):
        runs[-1] = (runs[-1][0].rstrip(" "), "", "", 0)
    return runs


def _size(text: str) -> Size | None:
    columns, _, lines = text.partition("x")
    return _bounded(Size(int(columns), int(lines))) if columns.isdecimal() and lines.isdecimal() else None


def _bounded(size: Size) -> Size:
    return Size(max(1, min(size.columns, LARGEST.columns)), max(1, min(size.lines, LARGEST.lines)))
