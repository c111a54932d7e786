"""What a provider's refusal means: its kind, until when it lasts, and which model it is about.

Theory of operation. What is structured decides first: the status of the answer, the name of the error, `retry-after`,
a reset as a number. The text that the agent's program writes in place of an answer is read for what is missing, most
of all whether a 429 is a window that is used up or a rate, and when it resets. The phrases are a table, which a
configuration extends. Text of the model, of tools or of people never comes here.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from supervisor.model.hindrance import Hindrance


class Phrase(NamedTuple):
    """A text that matches means this; the first match counts."""

    means: Hindrance
    match: re.Pattern[str]


def phrase(means: str, match: str) -> Phrase:
    """Raises ValueError for an unknown meaning, `re.error` for what is no expression."""
    return Phrase(Hindrance(means), re.compile(match, re.IGNORECASE))


def _status(digits: str) -> str:
    """Not the end or the beginning of a larger number, such as 218,402 tokens."""
    return rf"(?<![\w.,])(?:{digits})(?!\w|[.,]\d)"


PHRASES = (
    phrase(
        "credit", r"credit balance|payment required|\bbilling\b|insufficient_quota|out of credits|" + _status("402")
    ),
    phrase("login", r"invalid api key|/login|not logged in|oauth|authenticat|unauthorized|" + _status("40[13]")),
    phrase("rate", r"tokens per min|requests per|too many requests|rate.?limit (?:reached|exceeded)"),
    phrase(
        "window",
        r"\b(?:usage|session|weekly|daily|5-hour|five-hour|opus|sonnet|haiku)(?: \w+)? limit|limit reached\b"
        r"|hit your (?:\w+ )?limit|out of (?:extra )?usage|limit will reset|usage_limit|\|\d{10}\b",
    ),
    phrase("overload", _status("529") + "|overloaded"),
    phrase(
        "rate", _status("429") + r"|rate.?limit|too many requests|\blimit\b|\bquota\b|requests per|tokens per min"
    ),
    phrase("overload", "^API Error|" + _status(r"5\d\d") + r"|server error|connection|timed? ?out|unavailable"),
)

#: Names of errors, as programs and providers write them.
_NAMES = {
    "authentication_failed": Hindrance.LOGIN,
    "authentication_error": Hindrance.LOGIN,
    "permission_error": Hindrance.LOGIN,
    "oauth_org_not_allowed": Hindrance.LOGIN,
    "unauthorized": Hindrance.LOGIN,
    "billing_error": Hindrance.CREDIT,
    "insufficient_quota": Hindrance.CREDIT,
    "usage_limit_exceeded": Hindrance.WINDOW,
    "usage_limit_reached": Hindrance.WINDOW,
    "overloaded": Hindrance.OVERLOAD,
    "overloaded_error": Hindrance.OVERLOAD,
    "server_error": Hindrance.OVERLOAD,
    "server_overloaded": Hindrance.OVERLOAD,
}
#: Names that say no more than that it was a limit: its text says which.
_LIMITS = {"rate_limit", "rate_limit_error", "rate_limit_exceeded"}


@dataclass(frozen=True, slots=True)
class Refusal:
    problem: Hindrance
    #: when the provider says that it serves again; 0: it does not say
    until: float = 0.0
    #: a part of the names of the models that it is about; "": all
    model: str = ""


def refusal(
    text: str,
    at: float,
    *,
    status: object = None,
    name: str = "",
    retry_after: float = 0.0,
    phrases: tuple[Phrase, ...] = PHRASES,
) -> Refusal | None:
    """What was said at a time; None: it is no refusal that is known."""
    text = text[:2000]
    if (problem := _problem(status, name, text, phrases)) is None:
        return None
    if problem not in (Hindrance.WINDOW, Hindrance.RATE, Hindrance.OVERLOAD):
        return Refusal(problem)
    until = at + retry_after if retry_after > 0 else next(_resets(text, at), 0.0)
    model = _MODEL.search(text) if problem is Hindrance.WINDOW else None
    return Refusal(problem, until, model[1].lower() if model else "")


def _problem(status: object, name: str, text: str, phrases: tuple[Phrase, ...]) -> Hindrance | None:
    """Cases: the error has a name; a status; only a text."""
    said = next((each.means for each in phrases if each.match.search(text)), None)
    if (named := _NAMES.get(name)) is not None:
        return said if named is Hindrance.WINDOW and said is Hindrance.CREDIT else named
    if status == 429 or name in _LIMITS:
        return said if said in (Hindrance.CREDIT, Hindrance.WINDOW) else Hindrance.RATE
    match status:
        case 402:
            return Hindrance.CREDIT
        case 401 | 403:
            return Hindrance.LOGIN
        case int() if status >= 500:
            return Hindrance.OVERLOAD
        case _:
            return said


# --- when it is over

#: A time of day that was so short ago is that of today: clocks differ.
JUST_NOW = timedelta(minutes=10)
HALF_A_DAY, LATER_THAN_ANY = 12, 99
_MODEL = re.compile(r"\b(opus|sonnet|haiku)\b[^.|·∙]{0,20}?\blimit", re.IGNORECASE)
_EPOCH = re.compile(r"\|(\d{10})\b")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_SPAN = re.compile(
    r"(?:in|after|wait)\s+((?:\d+(?:\.\d+)?\s*(?:ms|[smhd])[a-z]*(?:[,\s]+and)?[,\s]*)+)", re.IGNORECASE
)
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|[smhd])", re.IGNORECASE)
_ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)")
_CLOCK = re.compile(
    r"(?:resets?|reset at|again at|available at|until)\s+(?:on\s+|at\s+)?"
    r"(?:(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+(?P<day>\d{1,2})(?:st|nd|rd|th)?"
    r"(?:,?\s+(?P<year>\d{4}))?(?:,|\s+at)?\s+)?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?\s*(?P<half>[ap]\.?m\.?)?"
    r"(?:\s*\((?P<zone>[A-Za-z_]+(?:/[A-Za-z_+-]+)*)\))?",
    re.IGNORECASE,
)
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]


def _resets(text: str, at: float) -> Iterator[float]:
    """Every time in the text that lies ahead, the surest first."""
    told = [float(found) for found in _EPOCH.findall(text)]
    told += [at + _span(found[1]) for found in _SPAN.finditer(text)]
    told += [datetime.fromisoformat(found).timestamp() for found in _ISO.findall(text) if _is_date(found)]
    told += [when for found in _CLOCK.finditer(text) if (when := _clock(found, at)) is not None]
    yield from (each for each in told if each > at)


def _span(text: str) -> float:
    parts = ((float(number), unit.lower()) for number, unit in _PART.findall(text))
    return sum(number / 1000 if unit == "ms" else number * _SECONDS[unit] for number, unit in parts)


def _is_date(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _clock(found: re.Match[str], at: float) -> float | None:
    """A time of day, with or without a date: the next such moment. None: there is no such time."""
    hour, minute = int(found["hour"]), int(found["minute"] or 0)
    if half := (found["half"] or "").lower()[:1]:
        hour = hour % 12 + (12 if half == "p" else 0) if hour <= HALF_A_DAY else LATER_THAN_ANY
    elif found["minute"] is None:
        return None
    try:
        now = datetime.fromtimestamp(at, _zone(found["zone"]))
        when = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
        if not found["month"]:
            if now - JUST_NOW < when <= now:
                return at + JUST_NOW.total_seconds() / 10
            return (when if when > now else when + timedelta(days=1)).astimezone(UTC).timestamp()
        month = _MONTHS.index(found["month"].lower()) + 1
        when = when.replace(year=int(found["year"] or now.year), month=month, day=int(found["day"]))
        if when < now and not found["year"]:
            when = when.replace(year=now.year + 1)
    except ValueError:
        return None
    return when.astimezone(UTC).timestamp()


def _zone(name: str | None) -> tzinfo | None:
    """Without a name it is this machine's, on which the program runs."""
    try:
        return ZoneInfo(name) if name else None
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
