"""Checks and rewrites recordings, because their files may contain anything. Pure.

From an asciicast, version 2 or 3, only the size, the title, the time and the events that a player knows are read, and
written anew as version 2. So what is kept was made here, whatever the file contained.
"""

from dataclasses import dataclass
from typing import Any

import msgspec

MOST_HEADER = 64 * 2**10
MOST_EVENTS = 50_000
MOST_SECONDS = 24 * 3600.0
MOST_TITLE = 200
MOST_CELLS = 1_000
_LAST_TIME = 2**33
#: output, input, resize, marker
KNOWN = frozenset("oirm")

type Event = tuple[float, str, str]

_EVENT = msgspec.json.Decoder(tuple[float, str, str])


class NotARecording(ValueError):
    """It is something else."""


@dataclass(frozen=True, slots=True)
class Checked:
    title: str
    #: seconds since 1970; 0: it does not say
    at: float
    seconds: float
    #: an asciicast of ours
    data: bytes
    #: it went on
    is_cut: bool = False


def checked(data: bytes) -> Checked:
    """Raises NotARecording."""
    first, _, rest = data.partition(b"\n")
    header = _header(first)
    events, is_cut = _events(rest, is_relative=header["version"] == 3)
    if not events:
        raise NotARecording("it shows nothing")
    title, at = line(header.get("title"), MOST_TITLE), _number(header.get("timestamp"), _LAST_TIME)
    return Checked(title, at, events[-1][0], written(_size(header), title, at, events), is_cut)


def written(size: tuple[int, int], title: str, at: float, events: list[Event]) -> bytes:
    head = {"version": 2, "width": size[0], "height": size[1], "timestamp": int(at), "title": title}
    return b"\n".join(msgspec.json.encode(each) for each in [head, *events]) + b"\n"


def line(said: object, most: int) -> str:
    text = said[: 4 * most] if isinstance(said, str) else ""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())[:most]


def _header(first: bytes) -> dict[str, Any]:
    if len(first) > MOST_HEADER:
        raise NotARecording("its first line is too long")
    try:
        header = msgspec.json.decode(first, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        raise NotARecording("it does not begin as an asciicast") from None
    if header.get("version") not in (2, 3):
        raise NotARecording("it is no asciicast of version 2 or 3")
    return header


def _size(header: dict[str, Any]) -> tuple[int, int]:
    term = header.get("term")
    told = term if isinstance(term, dict) else {"cols": header.get("width"), "rows": header.get("height")}
    columns, lines = (int(_number(told.get(name), MOST_CELLS)) for name in ("cols", "rows"))
    return columns or 80, lines or 24


def _events(rest: bytes, *, is_relative: bool) -> tuple[list[Event], bool]:
    """Whatever is no event is left out, as is all that comes after the longest time."""
    events, clock = list[Event](), 0.0
    for each in rest.split(b"\n"):
        try:
            at, code, text = _EVENT.decode(each)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
        clock = clock + max(at, 0.0) if is_relative else max(clock, at)
        if clock > MOST_SECONDS or len(events) == MOST_EVENTS:
            return events, True
        if code in KNOWN:
            events.append((round(clock, 6), code, text))
    return events, False


def _number(said: object, most: float) -> float:
    is_one = isinstance(said, int | float) and not isinstance(said, bool)
    return float(said) if is_one and 0 <= said <= most else 0.0  # type: ignore[arg-type, operator]
