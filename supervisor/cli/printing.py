"""Text for a person: tables that fit, colours where they are wanted, and nothing that a terminal would obey."""

import os
import shutil
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Any

_COLOURS = {"red": 31, "green": 32, "yellow": 33, "blue": 34, "grey": 90, "bold": 1}

#: how a state or outcome is painted
PAINT = {
    "running": "blue",
    "finished": "green",
    "fixed": "green",
    "improved": "green",
    "clean": "green",
    "merged": "green",
    "parked": "yellow",
    "blocked": "yellow",
    "failed": "red",
    "lost": "red",
    "stalled": "red",
    "timed-out": "red",
    "cancelled": "grey",
}


def has_terminal() -> bool:
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def paint(text: str, colour: str) -> str:
    if not colour or not has_terminal() or os.environ.get("NO_COLOR"):
        return text
    return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m"


def clean(value: object) -> str:
    """Test names and agents' words may hold anything."""
    return "".join(char if char.isprintable() else "�" for char in str(value))


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns; on a terminal, the widest gives way so that a line is a line."""
    cells = [[("-" if cell in (None, "") else clean(cell)) for cell in row] for row in rows]
    widths = [max(len(line[column]) for line in [head, *cells]) for column in range(len(head))]
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    excess = sum(widths) + 2 * (len(widths) - 1) - room
    if room and excess > 0:
        widest = widths.index(max(widths))
        widths[widest] = max(8, widths[widest] - excess)
    lines = [paint(_line([title.upper() for title in head], widths), "bold")]
    return "\n".join([*lines, *(_line(row, widths, PAINT) for row in cells)])


def _line(cells: Sequence[str], widths: Sequence[int], colours: dict[str, str] | None = None) -> str:
    fitted = [_fit(cell, width) for cell, width in zip(cells, widths, strict=True)]
    painted = [paint(text, (colours or {}).get(cell, "")) for cell, text in zip(cells, fitted, strict=True)]
    return "  ".join(painted).rstrip()


def _fit(text: str, width: int) -> str:
    return text.ljust(width) if len(text) <= width else "…" + text[len(text) - width + 1 :]


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


def event_line(event: dict[str, Any]) -> str:
    """`  12  22:04:01  k3f9x.3  launch-failed  no answer within 60 s`."""
    who = event["job"] or event["batch"] or "daemon"
    said = [event.get(key) for key in ("outcome", "reason", "why", "detail", "agent_name", "jobs", "slots", "author")]
    words = ", ".join(clean(word) for word in said if word not in (None, ""))
    return f"{event['seq']:>6}  {clock(event['at'])}  {clean(who):<10}  {event['kind']:<20}  {words}".rstrip()


def duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
