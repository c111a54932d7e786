"""When a profile's jobs may start: a daily window in local time, which may cross midnight or a change of clocks."""

import re
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

_WINDOW = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)\s*-\s*([01]?\d|2[0-3]):([0-5]\d)")


def parse(text: str) -> tuple[time, time]:
    """The opening and closing time of a window such as "22:00-06:00". Raises ValueError for any other form."""
    if not (found := _WINDOW.fullmatch(text.strip())):
        raise ValueError(f"{text!r} is not a window like 22:00-06:00")
    hours = [int(part) for part in found.groups()]
    opens, closes = time(hours[0], hours[1]), time(hours[2], hours[3])
    if opens == closes:
        raise ValueError(f"the window {text!r} opens and closes at the same time; omit it for no limit")
    return opens, closes


def look(window: str, timezone: str, now: float) -> tuple[bool, float]:
    """Whether the window is open now, and the time of the next change."""
    opens, closes = parse(window)
    zone = ZoneInfo(timezone)
    today = datetime.fromtimestamp(now, zone).date()
    # Yesterday's window may still be open, and the next change may be the day after tomorrow. Instants are compared,
    # so a night of 7 or 9 hours has its real length, and a window inside the skipped hour does not exist.
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
