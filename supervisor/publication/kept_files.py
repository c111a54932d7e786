"""Reads what is kept of attempts, for reports: what they published, and the end of their logs, with secrets masked.

Each answer is about the requested attempt, and no other; for what is gone or can't be read, it is empty. The total of
a batch is bounded, too: each report has a reader of its own.
"""

import os
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from supervisor.adapters.layout import PUBLISHED, Layout
from supervisor.adapters.logs.store import LogStore
from supervisor.errors import Hostile
from supervisor.model.attempt import AttemptKey
from supervisor.model.publication import Statement
from supervisor.publication.rules.outcome import MAX_BYTES, clean, parse_outcome
from supervisor.transcripts.redact import Open, Redactor

#: the limit for all outcomes of a batch together
MOST_BYTES = 64 * 2**20
MOST_ARTIFACTS = 100
EXCERPT_BYTES, EXCERPT_LINES, LINE_LENGTH = 32 * 1024, 20, 300


class KeptFiles:
    def __init__(self, layout: Layout, redactor: Redactor, *, most_bytes: int = MOST_BYTES) -> None:
        self._layout, self._redactor, self._logs = layout, redactor, LogStore(layout)
        self._left = most_bytes

    def outcome(self, key: AttemptKey) -> Statement | None:
        if self._left <= 0:
            return None
        try:
            data = _plain_file(self._published(key) / "outcome.json")
            self._left -= len(data)
            outcome: Statement = self._masked(replace(parse_outcome(data), extra={}))
        except (OSError, Hostile):
            return None
        return outcome

    def artifacts(self, key: AttemptKey) -> tuple[str, ...]:
        """Paths below `artifacts`."""
        folder = self._published(key) / "artifacts"
        found = sorted(_files_below(folder, MOST_ARTIFACTS))
        return tuple(self._text(clean(str(path.relative_to(folder)), LINE_LENGTH)) for path in found)

    def excerpt(self, key: AttemptKey) -> tuple[str, ...]:
        """The last lines of its log, each with the time and the kind."""
        try:
            end = self._logs.end(key)
            lines, _ = self._logs.read(key, max(0, end - EXCERPT_BYTES), EXCERPT_BYTES)
        except OSError:
            return ()
        told = [row for line in lines for row in _rows(line)]
        return tuple(self._text(row) for row in told[-EXCERPT_LINES:])

    def _published(self, key: AttemptKey) -> Path:
        return self._layout.attempt(key) / Path(PUBLISHED).stem

    def _masked(self, value: Any) -> Any:
        """The same value without secrets in any of its texts."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, tuple):
            return tuple(map(self._masked, value))
        if is_dataclass(value) and not isinstance(value, type):
            return replace(value, **{field.name: self._masked(getattr(value, field.name)) for field in fields(value)})
        return value

    def _text(self, text: str) -> str:
        return self._redactor.masked(text, Open())


def _plain_file(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        return file.read(MAX_BYTES + 1)


def _files_below(folder: Path, most: int) -> Iterator[Path]:
    for parent, _, names in os.walk(folder):
        for name in names:
            if most <= 0:
                return
            most -= 1
            yield Path(parent) / name


def _rows(line: bytes) -> Iterator[str]:
    try:
        told = msgspec.json.decode(line, type=dict[str, Any])
    except msgspec.MsgspecError:
        return
    lines = [row for row in str(told.get("text", "")).splitlines() if row.strip()] or [""]
    yield f"{str(told.get('at', ''))[11:19]} {str(told.get('kind', ''))[:6]:<6} {clean(lines[0], LINE_LENGTH)}"
    yield from (" " * 16 + clean(row, LINE_LENGTH) for row in lines[1:])
