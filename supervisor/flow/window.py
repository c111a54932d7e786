"""When a profile's jobs may start: a daily window in local time, also across midnight and a change of clocks."""

import re
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

_WINDOW = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)\s*-\s*([01]?\d|2[0-3]):([0-5]\d)")


def parse(text: str) -> tuple[time, time]:
    """The opening and closing time of "22:00-06:00"; ValueError when it is not of that form."""
    if not (found := _WINDOW.fullmatch(text.strip())):
        raise ValueError(f"{text!r} is not a window like 22:00-06:00")
    hours = [int(part) for part in found.groups()]
    opens, closes = time(hours[0], hours[1]), time(hours[2], hours[3])
    if opens == closes:
        raise ValueError(f"the window {text!r} opens and closes at the same time; leave it out to work always")
    return opens, closes


def look(window: str, timezone: str, now: float) -> tuple[bool, float]:
    """Whether the window is open now, and until when it stays so."""
    opens, closes = parse(window)
    zone = ZoneInfo(timezone)
    today = datetime.fromtimestamp(now, zone).date()
    # Yesterday's window may still be open, and the next change may be the day after tomorrow's. Compared as
    # instants, so that a night of 7 or 9 hours is what it is, and a window that falls into the missing hour is none.
    spans: list[tuple[float, float]] = []
    for day in range(-1, 3):
        date = today + timedelta(days=day)
        end = date if opens < closes else date + timedelta(days=1)
        spans.append((_instant(datetime.combine(date, opens, zone)), _instant(datetime.combine(end, closes, zone))))

    def is_open(at: float) -> bool:
        return any(start <= at < end for start, end in spans)

    changes = sorted(at for span in spans for at in span)
    return is_open(now), next(at for at in changes if at > now and is_open(at) is not is_open(now))


def _instant(local: datetime) -> float:
    return local.astimezone(UTC).timestamp()
