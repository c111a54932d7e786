"""The result of a command."""

import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from supervisor.e2e.processes import LeftBehind

TIMED_OUT = 124


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The end of one command: how it ended, what it printed, what it left behind.

    `exit_code` is as in `$?`: 128 + N for signal N, 124 at the deadline.
    """

    command: str
    exit_code: int
    stdout: str
    stderr: str
    output: str  # both streams in the order they arrived
    duration_seconds: float
    cwd: Path
    started_at: datetime
    number: int = 0
    comment: str = ""
    signal: str | None = None
    timed_out: bool = False
    truncated: bool = False  # the middle of a long output is only in the files `stdout_path` and `stderr_path`
    background: tuple[LeftBehind, ...] = ()
    stdout_path: Path | None = None
    stderr_path: Path | None = None
    cast: Path | None = None
    again: "Callable[[], CommandResult] | None" = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        how = "timed out" if self.timed_out else self.signal or f"exit code {self.exit_code}"
        return f"`{self.command}`: {how} after {self.duration_seconds:.2f} s"


def exit_of(returncode: int) -> tuple[int, str | None]:
    """The exit code and signal name, as in a shell, for a `Popen.returncode`."""
    if returncode >= 0:
        return returncode, None
    try:
        return 128 - returncode, signal.Signals(-returncode).name
    except ValueError:
        return 128 - returncode, f"SIG{-returncode}"
