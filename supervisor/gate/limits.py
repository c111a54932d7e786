"""Why a provider does not serve a request now, and until when. Pure.

This is read from the response's headers and the fields of its error; from the text of its message only if they do not
say it. A refusal that waiting does not resolve (a lost login, no credit, a bad request) is not an obstacle.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Literal
from zoneinfo import ZoneInfo

import msgspec

from supervisor.gate.api import Json, dict_of

#: a time farther ahead than this is ignored: the longest window is a week
FARTHEST_SECONDS = 8 * 86400.0
#: statuses of an overload, from a provider or a proxy in front of it
OVERLOADED = frozenset({502, 503, 504, 529})

type Why = Literal["rate", "window", "overload"]


@dataclass(frozen=True, slots=True)
class Obstacle:
    why: Why
    #: seconds since the epoch; None: the provider does not say
    until: float | None
    #: the message for a person
    said: str = ""


_UNIFIED = "anthropic-ratelimit-unified-"
_UNPAID = re.compile(r"\bbilling\b|\bpayment\b|credit balance|insufficient_quota|\bcredits?\b", re.IGNORECASE)
_EPOCH = re.compile(r"\blimit reached\|(\d{10})\b", re.IGNORECASE)
_CLOCK = re.compile(
    r"\bresets?(?: at)? (?:(?P<month>[A-Z][a-z]{2})[a-z]* (?P<day>\d{1,2})(?:,| at|, at)? )?"
    r"(?P<hour>0?[1-9]|1[0-2])(?::(?P<minute>\d\d))? ?(?P<half>[ap]m) \((?P<zone>[A-Za-z_]+(?:/[A-Za-z_+-]+){0,2})\)",
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def obstacle(status: int, headers: Mapping[str, str], body: bytes, now: float) -> Obstacle | None:
    """Cases: a used-up window, a limit per minute, an overload; None: something that waiting does not resolve."""
    if status in OVERLOADED:
        return Obstacle("overload", _believed(_retry_after(headers, now), now))
    if status != 429 or headers.get("x-should-retry") == "false":
        return None
    error = _error(body)
    said = str(error.get("message") or "")[:500]
    if _UNPAID.search(f"{error.get('type')} {error.get('code')} {said}"):
        return None
    reset = _believed(_window(headers, error, said, now), now)
    if reset is not None or error.get("type") == "usage_limit_reached":
        return Obstacle("window", reset, said)
    return Obstacle("rate", _believed(_retry_after(headers, now), now), said)


def _error(body: bytes) -> Json:
    try:
        return dict_of(dict_of(msgspec.json.decode(body)).get("error"))
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return {}


def _believed(at: float | None, now: float) -> float | None:
    return None if at is None or at > now + FARTHEST_SECONDS else max(at, now)


def _window(headers: Mapping[str, str], error: Json, said: str, now: float) -> float | None:
    """When the exhausted window resets."""
    if headers.get(f"{_UNIFIED}status") == "rejected":
        return _unified(headers)
    if isinstance(at := error.get("resets_at"), int | float):
        return float(at)
    if isinstance(seconds := error.get("resets_in_seconds"), int | float):
        return now + seconds
    if found := _EPOCH.search(said):
        return float(found[1])
    return _clock(said, now)


def _unified(headers: Mapping[str, str]) -> float | None:
    """The reset time of the rejected windows, the last if there are several. The header without a window's name is
    sometimes the reset time of another window, so it is used only if no rejected window has one."""
    rejected = [
        reset
        for name, value in headers.items()
        if name.startswith(_UNIFIED) and name.removeprefix(_UNIFIED).endswith("-status") and value == "rejected"
        if (reset := _number(headers.get(name.removesuffix("status") + "reset"))) is not None
    ]
    return max(rejected, default=_number(headers.get(f"{_UNIFIED}reset")))


def _retry_after(headers: Mapping[str, str], now: float) -> float | None:
    if (milliseconds := _number(headers.get("retry-after-ms"))) is not None:
        return now + milliseconds / 1000
    said = headers.get("retry-after", "")
    if (seconds := _number(said)) is not None:
        return now + seconds
    try:
        return parsedate_to_datetime(said).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None


def _number(text: str | None) -> float | None:
    return float(text) if text and re.fullmatch(r"\d{1,12}(?:\.\d{1,6})?", text) else None


def _clock(said: str, now: float) -> float | None:
    """A time of day in a time zone, such as `resets 8pm (America/New_York)`: the next one."""
    if (found := _CLOCK.search(said)) is None:
        return None
    try:
        zone = ZoneInfo(found["zone"])
        hour = int(found["hour"]) % 12 + (12 if found["half"] == "pm" else 0)
        here = datetime.fromtimestamp(now, zone)
        at = here.replace(hour=hour, minute=int(found["minute"] or 0), second=0, microsecond=0, fold=0)
        if found["day"] is not None:
            at = at.replace(month=_MONTHS.index(found["month"]) + 1, day=int(found["day"]))
            at = at if at > here - timedelta(days=180) else at.replace(year=at.year + 1)
        elif at <= here:
            at += timedelta(days=1)
    except (KeyError, ValueError, OSError):
        return None
    return at.timestamp()
