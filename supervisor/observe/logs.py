"""Logging: readable on a terminal, native fields in the systemd journal, JSON elsewhere.

`journalctl BATCH=k3f9x JOB=k3f9x.3` finds the entries of one job. Entries use the journal's native protocol: one
datagram for each entry, with `FIELD=value` lines, or a length before a value of several lines.
"""

import json
import logging
import os
import socket
import struct
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from supervisor.model.event import AttemptEvent, BatchEvent, Event, JobEvent
from supervisor.model.state import State

JOURNAL = Path("/run/systemd/journal/socket")
#: limit of a field, because datagrams have a maximum size; the events have the full values
FIELD_BYTES = 16_384
_PRIORITIES = {"debug": 7, "info": 6, "warning": 4, "error": 3, "critical": 2}
_OMITTED = {"at", "batch", "job", "attempt", "tests", "profile", "ledger", "pools", "jobs", "files", "found"}


class Format(StrEnum):
    AUTO = "auto"
    CONSOLE = "console"
    JSON = "json"
    JOURNAL = "journal"


def set_up(form: Format = Format.AUTO, *, program: str = "supervisord", journal: Path = JOURNAL) -> None:
    """Configure logging. Call it once, at the start of a program."""
    if form is Format.AUTO:
        form = _fitting()
    head: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    to_stderr = structlog.PrintLoggerFactory(sys.stderr)
    structlog.configure(
        processors=[*head, *_tail(form, program)],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=(lambda *_: _Journal(journal)) if form is Format.JOURNAL else to_stderr,
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(level=logging.WARNING, handlers=[_Foreign()], force=True)


def narrate(state: State, events: Iterable[Event]) -> None:
    """Log each event. For `Loop.watch`."""
    log = structlog.get_logger()
    for event in events:
        told = {name: getattr(event, name) for name in event.__dataclass_fields__ if name not in _OMITTED}
        log.info(event.kind, **_whose(event, state), **{name: value for name, value in told.items() if value != ""})


def _whose(event: Event, state: State) -> dict[str, Any]:
    whose: dict[str, Any] = {}
    if isinstance(event, BatchEvent):
        whose["batch"] = event.batch
    if isinstance(event, JobEvent):
        whose["job"] = f"{event.batch}.{event.job}"
        if (batch := state.batches.get(event.batch)) is not None and (agent := batch.job(event.job).agent):
            whose["agent"] = agent
    if isinstance(event, AttemptEvent):
        whose["attempt"] = event.attempt
    return whose


def _fitting() -> Format:
    """The format for stderr: systemd sets JOURNAL_STREAM to the stream that it connected to the journal."""
    try:
        status = os.fstat(sys.stderr.fileno())
    except (OSError, ValueError):
        return Format.JSON
    if os.environ.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}" and JOURNAL.exists():
        return Format.JOURNAL
    return Format.CONSOLE if sys.stderr.isatty() else Format.JSON


def _tail(form: Format, program: str) -> list[Processor]:
    match form:
        case Format.CONSOLE:
            colours = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
            plain = structlog.dev.plain_traceback
            return [structlog.dev.ConsoleRenderer(colors=colours, exception_formatter=plain)]
        case Format.JOURNAL:
            return [structlog.processors.format_exc_info, partial(_as_fields, program)]
        case _:
            return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(default=str)]


def _as_fields(
    program: str, logger: WrappedLogger, method: str, event: EventDict
) -> tuple[tuple[bytes], dict[str, Any]]:
    """MESSAGE for readers, and each value as a field for searches."""
    said = str(event.pop("event", ""))
    level = str(event.pop("level", method))
    event.pop("timestamp", None)  # the journal has its own
    rest = " ".join(f"{key}={value}" for key, value in event.items() if key not in ("batch", "exception"))
    fields: dict[str, Any] = {
        "MESSAGE": f"{said} {rest}".strip(),
        "PRIORITY": _PRIORITIES.get(level, 6),
        "SYSLOG_IDENTIFIER": program,
        **{key.upper(): value for key, value in event.items()},
    }
    return (b"".join(_field(name, value) for name, value in fields.items()),), {}


def _field(name: str, value: object) -> bytes:
    key = "".join(char if char.isascii() and (char.isalnum() or char == "_") else "_" for char in name).lstrip("_")
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    data = text.encode(errors="backslashreplace")[:FIELD_BYTES]
    if b"\n" not in data:
        return key.encode() + b"=" + data + b"\n"
    return key.encode() + b"\n" + struct.pack("<Q", len(data)) + data + b"\n"


class _Journal:
    """Sends entries to the journal. Entries that it does not accept are lost: logging must not block the daemon."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)

    def msg(self, entry: bytes) -> None:
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as sender:
            sender.sendto(entry, self._path)

    debug = info = warning = error = critical = exception = msg


class _Foreign(logging.Handler):
    """Passes the log records of libraries to the same pipeline."""

    def emit(self, record: logging.LogRecord) -> None:
        said: Mapping[str, Any] = {"logger": record.name, "exc_info": record.exc_info}
        log = structlog.get_logger()
        log.log(record.levelno, record.getMessage(), **{key: value for key, value in said.items() if value})
