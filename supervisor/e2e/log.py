"""Writes one command to the transcript and its JSON lines, and output that is too long to a file."""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol

from supervisor.e2e.events import EventFile
from supervisor.e2e.output import HEAD_CHARACTERS, Stream
from supervisor.e2e.redact import RedactedStream, Redactor
from supervisor.e2e.result import CommandResult
from supervisor.e2e.transcript import End, TranscriptFile

WHOLE_LIMIT = 256 * 1024 * 1024


@dataclass(slots=True)
class Whole:
    """One stream's complete output: in memory while it is short, else in its own file."""

    path: Path
    _redacted: RedactedStream
    _short: list[str] = field(default_factory=list)
    _length: int = 0
    _file: IO[str] | None = None

    def add(self, text: str) -> str:
        """Keep a piece; returns the redacted part of it that the transcript still has room for."""
        return self._keep(self._redacted.feed(text))

    def close(self) -> str:
        rest = self._keep(self._redacted.close())
        if self._file is not None:
            self._file.close()
        return rest

    @property
    def is_spilled(self) -> bool:
        return self._file is not None

    def _keep(self, text: str) -> str:
        self._length += len(text)
        if self._length <= HEAD_CHARACTERS:
            self._short.append(text)
            return text
        if self._file is None:
            self._file = self.path.open("w", encoding="utf-8", errors="replace", newline="")
            self._file.write("".join(self._short))
            self._short.clear()
        if self._length <= WHOLE_LIMIT:
            self._file.write(text)
            self._file.flush()
        return ""


class Log(Protocol):
    """What a running command reports."""

    @property
    def number(self) -> int: ...
    def start(self, command: str, comment: str, cwd: Path, at: str) -> None: ...
    def output(self, stream: Stream, text: str) -> None: ...
    def note(self, text: str) -> None: ...
    def end(self, result: CommandResult) -> None: ...
    def path(self, stream: Stream) -> Path | None: ...


class CommandLog:
    """Writes one command as it happens, from its first line to its exit code."""

    def __init__(
        self,
        number: int,
        transcript: TranscriptFile,
        events: EventFile,
        redactor: Redactor,
        is_apart: bool = False,
    ) -> None:
        self.number = number
        self._is_apart = is_apart  # the transcript has only this command
        self._transcript = transcript
        self._events = events
        self._redactor = redactor
        self._begun = time.monotonic()
        self.whole: dict[Stream, Whole] = {
            stream: Whole(transcript.path.parent / f"output-{number:03}.{stream}.txt", redactor.stream())
            for stream in ("stdout", "stderr")
        }

    def start(self, command: str, comment: str, cwd: Path, at: str) -> None:
        self._begun = time.monotonic()
        self._transcript.start(command, comment)
        self._events.write(
            "start",
            self.number,
            text=self._redactor.text(command),
            comment=self._redactor.text(comment),
            cwd=str(cwd),
            at=at,
            transcript=self._transcript.path.name,
        )

    def output(self, stream: Stream, text: str) -> None:
        whole = self.whole[stream]
        was_spilled = whole.is_spilled
        self._write(stream, whole.add(text))
        if whole.is_spilled and not was_spilled:
            self.note(f"the complete {stream} is in {whole.path.name}")

    def _write(self, stream: Stream, text: str) -> None:
        if text:
            self._transcript.output(stream, text)
            self._events.write("output", self.number, stream=stream, text=text, t=self._elapsed())

    def _elapsed(self) -> float:
        return round(time.monotonic() - self._begun, 4)

    def note(self, text: str) -> None:
        self._transcript.note(text)
        self._events.write("note", self.number, text=self._redactor.text(text), t=self._elapsed())

    def end(self, result: CommandResult) -> None:
        for stream, whole in self.whole.items():
            self._write(stream, whole.close())
        background = [(process.pid, process.command) for process in result.background]
        ended = End(result.exit_code, result.duration_seconds, result.signal, result.timed_out)
        self._transcript.end(ended, background)
        self._events.write("end", self.number, **summary(result, self._redactor))
        if self._is_apart:
            self._transcript.close()

    def path(self, stream: Stream) -> Path | None:
        return self.whole[stream].path if self.whole[stream].is_spilled else None


def summary(result: CommandResult, redactor: Redactor) -> dict[str, object]:
    """A command as it is in `result.json` and in the JSON lines."""
    return {
        "number": result.number,
        "command_line": redactor.text(result.command),
        "comment": redactor.text(result.comment),
        "exit_code": result.exit_code,
        "signal": result.signal,
        "timed_out": result.timed_out,
        "truncated": result.truncated,
        "started_at": result.started_at.isoformat(),
        "duration_seconds": round(result.duration_seconds, 4),
        "cwd": str(result.cwd),
        "background": [{"pid": each.pid, "command": redactor.text(each.command)} for each in result.background],
        "cast": result.cast.name if result.cast else None,
        "stdout_path": result.stdout_path.name if result.stdout_path else None,
        "stderr_path": result.stderr_path.name if result.stderr_path else None,
    }
