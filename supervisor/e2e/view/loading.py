"""Reads the results of a run without trusting their content."""

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from supervisor.e2e.processes import started_at
from supervisor.e2e.results import FILE_NAME

LARGEST_RESULT = 8 * 1024 * 1024
LARGEST_EVENTS = 4 * 1024 * 1024
LARGEST_CAST = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of one test."""

    directory: Path
    number: int
    nodeid: str
    status: str
    seconds: float
    started: float
    data: dict[str, Any]

    @property
    def events(self) -> list[dict[str, Any]]:
        path = self.directory / "transcript.jsonl"
        if not path.is_file():
            return []
        with path.open("rb") as file:
            lines = file.read(LARGEST_EVENTS).splitlines()
        read = (_object(line) for line in lines)
        return [event for event in read if event is not None]

    @property
    def casts(self) -> list[Path]:
        return sorted(path for path in self.directory.glob("*.cast") if path.stat().st_size <= LARGEST_CAST)


@dataclass(frozen=True, slots=True)
class TestResult:
    """All attempts of one test; the last one has its outcome."""

    nodeid: str
    attempts: tuple[Attempt, ...]

    __test__ = False  # pytest would collect a class called Test…

    @property
    def last(self) -> Attempt:
        return self.attempts[-1]


@dataclass(frozen=True, slots=True)
class Run:
    """All results of one directory."""

    name: str
    tests: tuple[TestResult, ...]
    unreadable: tuple[str, ...]


def load(directory: Path) -> Run:
    """The run in a directory; files that can't be read are listed, not silently skipped."""
    attempts: dict[str, list[Attempt]] = defaultdict(list)
    unreadable: list[str] = []
    for path in sorted(directory.glob(f"*/attempt-*/{FILE_NAME}")):
        attempt = _attempt(path)
        if attempt is None:
            unreadable.append(str(path.relative_to(directory)))
        else:
            attempts[attempt.nodeid].append(attempt)
    tests = tuple(
        TestResult(nodeid, tuple(sorted(found, key=lambda attempt: attempt.number)))
        for nodeid, found in sorted(attempts.items())
    )
    return Run(directory.resolve().name, tests, tuple(unreadable))


def _attempt(path: Path) -> Attempt | None:
    if path.stat().st_size > LARGEST_RESULT:
        return None
    data = _object(path.read_bytes()) or {}
    match data:
        case {"nodeid": str(nodeid), "status": str(status), "attempt": int(number)}:
            seconds = data.get("duration_seconds")
            return Attempt(
                directory=path.parent,
                number=number,
                nodeid=nodeid,
                status="killed" if status == "running" and not _is_running(data) else status,
                seconds=float(seconds) if isinstance(seconds, int | float) else 0.0,
                started=moment(data.get("started_at")),
                data=data,
            )
    return None


def _is_running(data: dict[str, Any]) -> bool:
    """Older results do not say when their worker was started."""
    pid = data.get("pid")
    started = started_at(pid) if isinstance(pid, int) else None
    return started is not None and data.get("pid_started", started) == started


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def moment(text: object) -> float:
    """Seconds since 1970 of an RFC 3339 time; 0 for anything else."""
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        return 0.0


def strings(values: object) -> Iterator[str]:
    """The strings in a value that should be a list of strings."""
    if isinstance(values, list):
        yield from (value for value in values if isinstance(value, str))
