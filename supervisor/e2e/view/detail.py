"""One attempt for the page: its commands with timed output, and its recordings."""

import re
import textwrap
from collections.abc import Callable
from typing import Any

from supervisor.e2e import casts
from supervisor.e2e.view.loading import Attempt, moment, strings
from supervisor.e2e.view.styled import runs

OUTPUT_LIMIT = 200_000  # characters of one command that are shown
_TEXT_LIMIT, _MESSAGE_LIMIT = 20_000, 4_000

type Filmer = Callable[[casts.Cast], dict[str, Any]]


def detail(attempt: Attempt, label: str, film: Filmer | None) -> dict[str, Any]:
    return {
        "label": label,
        "status": attempt.status,
        "seconds": attempt.seconds,
        "location": _text(attempt.data.get("location")),
        "docstring": _text(attempt.data.get("docstring")),
        "message": message(_text(attempt.data.get("error"))),
        "error": _text(attempt.data.get("error")),
        "notes": [_text(note) for note in strings(attempt.data.get("notes"))],
        "commands": _commands(attempt),
        "casts": [shown for path in attempt.casts if (shown := _cast(attempt, path, film))],
    }


def message(error: str) -> str:
    """The error without its traceback: the lines of pytest's output that are marked with an E."""
    marked = [line[1:] for line in error.splitlines() if re.match(r"E(\s|$)", line)]
    lines = textwrap.dedent("\n".join(marked)).strip() or error.strip().partition("\n")[0]
    return lines[:_MESSAGE_LIMIT]


def _commands(attempt: Attempt) -> list[dict[str, Any]]:
    """The commands from the events, which are complete up to the moment a worker was killed."""
    commands: dict[int, dict[str, Any]] = {}
    left: dict[int, int] = {}
    for event in attempt.events:
        number = event.get("command")
        if not isinstance(number, int):
            continue
        if event.get("event") == "start":
            commands[number] = _started(attempt, event)
            left[number] = OUTPUT_LIMIT
        elif number in commands:
            left[number] -= _add(commands[number], event, left[number])
    return [commands[number] for number in sorted(commands)]


def _started(attempt: Attempt, event: dict[str, Any]) -> dict[str, Any]:
    return {
        "number": event["command"],
        "command": _text(event.get("text")),
        "comment": _text(event.get("comment")),
        "at": max(0.0, moment(event.get("at")) - attempt.started),
        "pieces": [],
        "end": None,
    }


def _add(command: dict[str, Any], event: dict[str, Any], room: int) -> int:
    """Add an event to its command; returns how many characters it used."""
    time = event.get("t")
    at = float(time) if isinstance(time, int | float) else 0.0
    if event.get("event") == "end":
        command["end"] = _end(event)
        return 0
    text = event.get("text")
    if not isinstance(text, str) or room <= 0:
        return 0
    kind = "note" if event.get("event") == "note" else "stderr" if event.get("stream") == "stderr" else "stdout"
    shown = text[:room].replace("\r\n", "\n").replace("\r", "␍")
    command["pieces"].append([kind, at, runs(shown)])
    if len(text) >= room:
        command["pieces"].append(["note", at, runs("… more in the transcript")])
    return len(text)


def _end(event: dict[str, Any]) -> dict[str, Any]:
    background = event.get("background")
    return {
        "exit_code": event.get("exit_code") if isinstance(event.get("exit_code"), int) else None,
        "signal": _text(event.get("signal")),
        "timed_out": event.get("timed_out") is True,
        "seconds": event["duration_seconds"] if isinstance(event.get("duration_seconds"), int | float) else 0,
        "cast": _text(event.get("cast")),
        "background": [
            _text(each.get("command")) for each in (background if isinstance(background, list) else [])
            if isinstance(each, dict)
        ],
    }  # fmt: skip


def _cast(attempt: Attempt, path: Any, film: Filmer | None) -> dict[str, Any] | None:
    if film is None:
        return None
    try:
        cast = casts.read(path)
    except (casts.NotACast, ValueError, OSError) as error:
        return {"name": path.name, "error": str(error)}
    return {"name": path.name, "start": cast.started_at - attempt.started, "error": ""} | film(cast)


def _text(value: object) -> str:
    return value[:_TEXT_LIMIT] if isinstance(value, str) else ""
