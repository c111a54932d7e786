"""Recordings of terminals: asciicast files, version 3 or 2, written event by event and read back.

Every event is written by one system call, so a recording is readable up to the moment its writer was killed. Secrets
are masked even if they span events. Version 3 has times relative to the previous event; version 2 has times since the
start, and no exit event.
"""

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from supervisor.e2e.ptys import Size
from supervisor.e2e.redact import Redactor

SIZE_LIMIT = 32 * 1024 * 1024
_STARTED_AT = "E2E_STARTED_AT"  # in the header's `env`, the only place for custom fields

type Code = Literal["o", "i", "r", "m", "x"]


@dataclass(frozen=True, slots=True)
class Event:
    """An event at `time` seconds since the start: output, input, resize, marker or exit."""

    time: float
    code: str
    data: str


@dataclass(frozen=True, slots=True)
class Cast:
    """A recording of either version."""

    size: Size
    started_at: float
    title: str
    events: tuple[Event, ...]

    @property
    def duration_seconds(self) -> float:
        return self.events[-1].time if self.events else 0.0


def new_path(directory: Path, name: str) -> Path:
    """Reserve a file for a recording: a second one of the same name gets a number instead of overwriting it."""
    number = 1
    while True:
        path = directory / (f"{name}.cast" if number == 1 else f"{name}-{number}.cast")
        try:
            path.touch(exist_ok=False)
        except FileExistsError:
            number += 1
        else:
            return path


class CastFile:
    """Writes one recording. The time of an event is that of the method call."""

    def __init__(self, path: Path, size: Size, title: str, redactor: Redactor, version: int = 3) -> None:
        self.path = path
        self._version = version
        self._redacted = redactor.stream()
        self._redactor = redactor
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        self._begun = self._last = time.monotonic()
        self._written = 0
        self._is_full = False
        self._line(_header(size, redactor.text(title), version))

    def output(self, text: str) -> None:
        self._text(self._redacted.feed(text))

    def _text(self, text: str) -> None:
        if text and not self._is_full:
            self._is_full = self._written + len(text) > SIZE_LIMIT
            if self._is_full:
                self.marker(f"recording cut off at {SIZE_LIMIT // 2**20} MiB")
            else:
                self._event("o", text)

    def input(self, text: str) -> None:
        self._event("i", self._redactor.text(text))

    def resize(self, size: Size) -> None:
        self._event("r", f"{size.columns}x{size.lines}")

    def marker(self, label: str) -> None:
        self._event("m", self._redactor.text(label))

    def close(self, exit_code: int) -> None:
        self._text(self._redacted.close())
        if self._version == 3:
            self._event("x", str(exit_code))
        os.close(self._fd)
        self._fd = -1

    def _event(self, code: Code, data: str) -> None:
        now = time.monotonic()
        at = now - (self._last if self._version == 3 else self._begun)
        self._last = now
        self._line([round(at, 6), code, data])

    def _line(self, value: object) -> None:
        data = (json.dumps(value) + "\n").encode()
        self._written += len(data)
        while data and self._fd >= 0:
            data = data[os.write(self._fd, data) :]


def _header(size: Size, title: str, version: int) -> dict[str, object]:
    if version not in (2, 3):
        raise ValueError(f"asciicast has versions 2 and 3, not {version}")
    now = time.time()
    about = {"timestamp": int(now), "title": title, "env": {_STARTED_AT: f"{now:.6f}", "TERM": "xterm-256color"}}
    if version == 2:
        return {"version": 2, "width": size.columns, "height": size.lines} | about
    return {"version": 3, "term": {"cols": size.columns, "rows": size.lines, "type": "xterm-256color"}} | about


class NotACast(ValueError):
    """The file does not begin with an asciicast header."""


def read(path: Path) -> Cast:
    """Read a recording of version 2 or 3; a partial last line, as after a kill, is ignored."""
    with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
        header = _json(file.readline())
        if not isinstance(header, dict) or header.get("version") not in (2, 3):
            raise NotACast(f"{path} is not an asciicast of version 2 or 3")
        events = tuple(_events(file, is_relative=header["version"] == 3))
    term = header.get("term") or {"cols": header.get("width"), "rows": header.get("height")}
    started = (header.get("env") or {}).get(_STARTED_AT) or header.get("timestamp") or 0
    size = Size(int(term.get("cols") or 80), int(term.get("rows") or 24))
    return Cast(size, float(started), str(header.get("title") or ""), events)


def _events(lines: Iterator[str], is_relative: bool) -> Iterator[Event]:
    clock = 0.0
    for line in lines:
        value = _json(line)
        match value:
            case [int() | float() as at, str(code), str(data)]:
                clock = clock + at if is_relative else float(at)
                yield Event(clock, code, data)


def _json(line: str) -> Any:
    """The JSON value of a line; None if it is not JSON: a comment, or a partial line after a kill."""
    try:
        return json.loads(line)
    except ValueError:
        return None
