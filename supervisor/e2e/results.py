"""`result.json`: the record of a test, for other tools. Written when it starts and completed when it ends.

If it still says `running` after the run is over, its worker (`pid`, since `pid_started`) was killed.
Each try of a test has a folder of its own, `<readable part of the node id>-<hash>/attempt-N`.
"""

import hashlib
import json
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from supervisor.e2e import processes

SCHEMA_VERSION = 1
FILE_NAME = "result.json"
_LONGEST_SLUG = 80


def folder_name(nodeid: str) -> str:
    """A readable name that is unique per node id, also if only the file or a parameter differs."""
    slug = re.sub(r"[^A-Za-z0-9_.]+", "-", nodeid.replace(".py::", "-")).strip("-.")
    if len(slug) > _LONGEST_SLUG:
        slug = slug[-_LONGEST_SLUG:].partition("-")[2] or slug[-_LONGEST_SLUG:]
    return f"{slug}-{hashlib.sha256(nodeid.encode()).hexdigest()[:8]}"


def new_attempt(run_directory: Path, nodeid: str) -> tuple[Path, int]:
    """Create the folder of this attempt; an existing one is never reused."""
    test = run_directory / folder_name(nodeid)
    test.mkdir(parents=True, exist_ok=True)
    number = 1
    while True:
        try:
            (test / f"attempt-{number}").mkdir()
        except FileExistsError:
            number += 1
        else:
            return test / f"attempt-{number}", number


@dataclass(slots=True)
class TestRecord:
    """The record of one attempt of one test."""

    nodeid: str
    directory: Path
    attempt: int
    started_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat())
    status: str = "running"
    phases: dict[str, dict[str, object]] = field(default_factory=dict)
    citations: list[dict[str, str]] = field(default_factory=list)
    #: what its source cites; None: unknown
    cites: list[dict[str, object]] | None = None
    commands: list[dict[str, object]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    docstring: str = ""
    location: str = ""
    error: str = ""
    home: str | None = None
    redact: Callable[[str], str] = str
    _begun: float = field(default_factory=time.monotonic)

    __test__ = False  # pytest would collect a class called Test…

    def add_phase(self, when: str, status: str, seconds: float, error: str = "") -> None:
        self.phases[when] = {"status": status, "duration_seconds": round(seconds, 4)}
        self.error = self.error or error

    def complete(self) -> None:
        """A failing setup or teardown is an error; otherwise the outcome of the call counts."""
        statuses = {when: str(phase["status"]) for when, phase in self.phases.items()}
        if any(statuses.get(when) == "failed" for when in ("setup", "teardown")):
            self.status = "error" if statuses.get("call") != "failed" else "failed"
        else:
            self.status = statuses.get("call") or statuses.get("setup", "error")

    @property
    def is_failure(self) -> bool:
        return self.status in ("failed", "error", "running", "killed")

    def as_json(self) -> dict[str, Any]:
        casts = sorted(path.name for path in self.directory.glob("*.cast"))
        transcripts = sorted(path.name for path in self.directory.glob("transcript-*.txt"))
        return {
            "schema_version": SCHEMA_VERSION,
            "nodeid": self.nodeid,
            "attempt": self.attempt,
            "status": self.status,
            "pid": os.getpid(),
            "pid_started": processes.started_at(os.getpid()),
            "started_at": self.started_at,
            "duration_seconds": round(time.monotonic() - self._begun, 4),
            "phases": self.phases,
            "unhappy": any(command["exit_code"] != 0 for command in self.commands),
            "docstring": self.docstring,
            "location": self.location,
            "citations": self.citations,
            "cites": self.cites,
            "commands": self.commands,
            "casts": casts,
            "transcript": "transcript.txt",
            "transcripts": transcripts,
            "events": "transcript.jsonl",
            "notes": self.notes,
            "error": self.redact(self.error),
            "home": self.home,
        }

    def write(self) -> None:
        """Write the file atomically."""
        write_json(self.directory / FILE_NAME, self.as_json())


def write_json(path: Path, data: dict[str, Any]) -> None:
    unfinished = path.with_suffix(".tmp")
    unfinished.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    unfinished.replace(path)


def mark_killed(run_directory: Path, nodeid: str) -> None:
    """Mark the test of a dead worker as failed by it."""
    for path in sorted((run_directory / folder_name(nodeid)).glob(f"attempt-*/{FILE_NAME}")):
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["status"] == "running":
            write_json(path, data | {"status": "killed", "error": "the worker died while this test ran"})
