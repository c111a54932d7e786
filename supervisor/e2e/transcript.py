"""The transcript of a test: written as things happen, read by people, parsed back without loss.

    # comment            one line per line of the comment
    $ command            first line of the command
    > command            its other lines
      output             a line of standard output (two spaces in front)
    ! output             a line of standard error
    \\                    the output line above has no newline at its end
    & 4242 sleep 8       a process that was left behind
    ~ note               a remark of the framework
    ? 0 (1.24s)          exit code and duration; then ` SIGKILL` or ` timed out` where that is so

Every line starts with a two-character mark, so output may contain anything. Text is written as it arrives: a killed
test leaves everything but its last few characters, if they might have become a secret.
"""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from supervisor.e2e.output import Stream
from supervisor.e2e.redact import Redactor

_MARKS: dict[Stream, str] = {"stdout": "  ", "stderr": "! "}
_STREAMS: dict[str, Stream] = {mark: stream for stream, mark in _MARKS.items()}
_NO_NEWLINE = "\\"
_END = re.compile(r"\? (-?\d+) \((\d+\.\d+)s\)(?: (SIG\w+))?( timed out)?\Z")
_PROCESS = re.compile(r"& (\d+) (.*)\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class End:
    """How a command ended."""

    exit_code: int
    duration_seconds: float
    signal: str | None = None
    timed_out: bool = False

    def __str__(self) -> str:
        signal = f" {self.signal}" if self.signal else ""
        return f"? {self.exit_code} ({self.duration_seconds:.2f}s){signal}{' timed out' * self.timed_out}"


@dataclass(frozen=True, slots=True)
class Entry:
    """One command of a transcript; `end` is None when the test was killed while it ran."""

    command: str
    comment: str = ""
    pieces: tuple[tuple[Stream, str], ...] = ()
    notes: tuple[str, ...] = ()
    background: tuple[tuple[int, str], ...] = ()
    end: End | None = None

    def text(self, *streams: Stream) -> str:
        return "".join(text for stream, text in self.pieces if not streams or stream in streams)


class TranscriptFile:
    """The file of one transcript. Each write is one system call, so nothing is buffered."""

    def __init__(self, path: Path, redactor: Redactor) -> None:
        self.path = path
        self._redactor = redactor
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._open_line: Stream | None = None
        self._empty = True

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _write(self, text: str) -> None:
        data = text.encode("utf-8", errors="replace")
        while data:
            data = data[os.write(self._fd, data) :]

    def start(self, command: str, comment: str = "") -> None:
        text = "" if self._empty else "\n"
        self._empty = False
        if comment:
            text += _marked(self._redactor.text(comment), "# ", "# ")
        self._write(text + _marked(self._redactor.text(command), "$ ", "> "))

    def output(self, stream: Stream, text: str) -> None:
        """Write a piece of output (already redacted by its stream)."""
        if text:
            self._write(self._as_lines(stream, text))

    def _as_lines(self, stream: Stream, text: str) -> str:
        mark = _MARKS[stream]
        before = "" if self._open_line == stream else self._closed() + mark
        ended = text.endswith("\n")
        body = text[:-1] if ended else text
        self._open_line = None if ended else stream
        return before + body.replace("\n", f"\n{mark}") + "\n" * ended

    def _closed(self) -> str:
        """The end of a line that the output did not end."""
        open_line, self._open_line = self._open_line, None
        return f"\n{_NO_NEWLINE}\n" if open_line else ""

    def note(self, text: str) -> None:
        self._write(self._closed() + _marked(self._redactor.text(text), "~ ", "~ "))

    def end(self, end: End, background: Iterable[tuple[int, str]] = ()) -> None:
        named = "".join(f"& {pid} {_one_line(self._redactor.text(name))}\n" for pid, name in background)
        self._write(f"{self._closed()}{named}{end}\n")


def _one_line(text: str) -> str:
    return text.replace("\n", " ")


def _marked(text: str, first: str, other: str) -> str:
    return first + text.replace("\n", f"\n{other}") + "\n"


def parse(text: str) -> Iterator[Entry]:
    """The entries of a transcript; the last one may be unfinished."""
    lines = text.split("\n")
    reader = _Reader()
    for position, line in enumerate(lines):
        is_cut = position == len(lines) - 1  # without a newline: the writer was killed here
        if is_cut and not line:
            break
        if (entry := reader.take(line, is_cut)) is not None:
            yield entry
    if (entry := reader.finish(None)) is not None:
        yield entry


class _Reader:
    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._comment: list[str] = []
        self._command: list[str] = []
        self._pieces: list[tuple[Stream, str]] = []
        self._notes: list[str] = []
        self._background: list[tuple[int, str]] = []

    def take(self, line: str, is_cut: bool) -> Entry | None:
        mark, rest = line[:2], line[2:]
        if line == _NO_NEWLINE and self._pieces:
            stream, text = self._pieces[-1]
            self._pieces[-1] = (stream, text.removesuffix("\n"))
        elif stream_of := _STREAMS.get(mark):
            self._pieces.append((stream_of, rest + "\n" * (not is_cut)))
        elif mark == "# ":
            self._comment.append(rest)
        elif mark in ("$ ", "> "):
            self._command.append(rest)
        elif mark == "~ ":
            self._notes.append(rest)
        elif found := _PROCESS.match(line):
            self._background.append((int(found[1]), found[2]))
        elif found := _END.match(line):
            return self.finish(End(int(found[1]), float(found[2]), found[3], bool(found[4])))
        return None

    def finish(self, end: End | None) -> Entry | None:
        if not self._command:
            return None
        entry = Entry(
            command="\n".join(self._command),
            comment="\n".join(self._comment),
            pieces=tuple(_merged(self._pieces)),
            notes=tuple(self._notes),
            background=tuple(self._background),
            end=end,
        )
        self._reset()
        return entry


def _merged(pieces: Iterable[tuple[Stream, str]]) -> Iterator[tuple[Stream, str]]:
    """Join adjacent pieces of the same stream."""
    stream: Stream | None = None
    texts: list[str] = []
    for each, text in pieces:
        if each != stream and stream is not None:
            yield stream, "".join(texts)
            texts = []
        stream = each
        texts.append(text)
    if stream is not None:
        yield stream, "".join(texts)
