"""Text for people: with colours where they are wanted, and never with terminal escapes from agents."""

import os
import shutil
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Any

_COLOURS = {"red": 31, "green": 32, "yellow": 33, "blue": 34, "bright_black": 90, "bold": 1}

#: the colour of each state and outcome, by rich's names
PAINT = {
    "running": "blue",
    "finished": "green",
    "fixed": "green",
    "fixed-by-sibling": "green",
    "held": "bright_black",
    "improved": "green",
    "clean": "green",
    "merged": "green",
    "parked": "yellow",
    "blocked": "yellow",
    "failed": "red",
    "lost": "red",
    "stalled": "red",
    "timed-out": "red",
    "cancelled": "bright_black",
}


def has_terminal() -> bool:
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def terminal_columns() -> int:
    return shutil.get_terminal_size().columns


def has_colours() -> bool:
    return has_terminal() and not os.environ.get("NO_COLOR")


def paint(text: str, colour: str) -> str:
    if not colour or not has_colours():
        return text
    return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m"


def clean(value: object) -> str:
    """Remove what a terminal would interpret: test names and agents' text are untrusted."""
    return "".join(char if char.isprintable() else "�" for char in str(value))


def counts(found: dict[str, int], *, without: Sequence[str] = ()) -> str:
    """`3 fixed, 1 clean`."""
    return ", ".join(f"{count} {word}" for word, count in found.items() if count and word not in without) or "none"


def disk(found: dict[str, Any]) -> str:
    """`state 1.2 GB, 30.1 GB free`."""
    more = "more than " if found["more"] else ""
    return f"state {more}{_gigabytes(found['state_bytes'])}, {_gigabytes(found['free_bytes'])} free"


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e6:.0f} MB"


def clock(rfc3339: str | None) -> str:
    return datetime.fromisoformat(rfc3339).astimezone().strftime("%H:%M:%S") if rfc3339 else "-"


def moment(rfc3339: str) -> str:
    """`2026-01-31 22:00`, in local time."""
    return datetime.fromisoformat(rfc3339).astimezone().strftime("%Y-%m-%d %H:%M")


_SAID = ("outcome", "reason", "name", "why", "detail", "agent_name", "batch_id", "jobs", "slots", "message", "author")


def event_line(event: dict[str, Any]) -> str:
    """`  12  22:04:01  k3f9x.3  launch-failed  no answer within 60 s`."""
    who = event["job"] or event["batch"] or "daemon"
    said = [
        event.get(key)
        for key in (
            "outcome",
            "reason",
            "why",
            "detail",
            "place",
            "agent_name",
            "jobs",
            "slots",
            "name",
            "batch_id",
            "message",
            "author",
        )
    ]
    if (sibling := event.get("from_job") or event.get("first")) and event.get("batch"):
        said.append(f"{'the work of ' * ('from_job' in event)}{event['batch']}.{sibling}")
    if event["kind"] == "survey-started":
        said.append(f"at the base: {', '.join(event['files'])}")
    if found := event.get("found"):
        said += [f"{found[key]} {key}" for key in ("green", "red", "unrun") if found[key]]
    if event["kind"] == "nudge-started" and (costs := event.get("waking")):
        said.append(f"{costs['context']:,} tokens are sent again, {'not ' * costs['cold']}cached")
    if event.get("continues"):
        said.append(f"with what attempt {event['continues']} left")
    words = ", ".join(clean(word) for word in said if word not in (None, ""))
    return f"{event['seq']:>6}  {clock(event['at'])}  {clean(who):<10}  {event['kind']:<20}  {words}".rstrip()


def duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
