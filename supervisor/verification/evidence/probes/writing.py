"""Writes the notes of probes: JSON lines in `seen`, beside this file, each written when it happens.

A process that is killed has said all it did. (For pytest: PYTEST_DONT_REWRITE.)
"""

from __future__ import annotations

import os

try:
    from _json import encode_basestring_ascii as quoted
except ImportError:  # not CPython
    from json import dumps as quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
NOTES = os.path.join(HERE, "seen")


def as_json(what: Any) -> str:
    """Of lists and what they hold here."""
    if isinstance(what, str):
        return quoted(what)
    if isinstance(what, (list, tuple)):
        return f"[{', '.join(map(as_json, what))}]"
    if what is None:
        return "null"
    return str(what).lower() if isinstance(what, bool) else str(what)


class Notes:
    """One file for all processes; appending a short line is atomic."""

    def __init__(self) -> None:
        import fcntl

        low = os.open(NOTES, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        # High, where no program looks for its own files, and looked at each time: a daemon may close all it has.
        self.fd = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, 500)
        os.close(low)
        self.identity = self._identity()

    def _identity(self) -> tuple[int, int]:
        state = os.fstat(self.fd)
        return state.st_dev, state.st_ino

    def add(self, *what: Any) -> None:
        try:
            if self._identity() == self.identity:
                os.write(self.fd, as_json(what).encode() + b"\n")
        except (OSError, ValueError):
            pass
