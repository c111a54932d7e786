"""The used share of a subscription's windows, from the headers of a response.

Anthropic's headers name each window by its length (`anthropic-ratelimit-unified-5h-utilization: 0.42`); those for
single models are ignored. OpenAI's headers describe two windows, with their minutes
(`x-codex-primary-used-percent: 42`). The gate only records them: the daemon decides.
"""

import re
import time
from collections.abc import Iterator, Mapping
from itertools import islice

from supervisor.gate.counts import Counts, Window

_UNIFIED = "anthropic-ratelimit-unified-"
_NAMED = re.compile(rf"{_UNIFIED}(([1-9][0-9]{{0,2}})([hd]))-utilization")
_NUMBER = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,20})?")
HOUR, DAY = 60, 24 * 60
MOST_WINDOWS, LONGEST = 4, 7 * DAY
#: A window is recorded again after this time, or when its share changes by this much.
SAME_SECONDS, SAME_SHARE = 60.0, 0.005


def windows(account: str, headers: Mapping[str, str], now: float) -> list[Window]:
    found = (*_anthropic(headers), *_openai(headers, now))
    believed = (each for each in found if 1 <= each[0] <= LONGEST)
    return [Window(account, *each, now) for each in islice(believed, MOST_WINDOWS)]


def _anthropic(headers: Mapping[str, str]) -> Iterator[tuple[int, float, float]]:
    for header, value in headers.items():
        if (found := _NAMED.fullmatch(header)) is None:
            continue
        used, resets_at = _number(value), _number(headers.get(f"{_UNIFIED}{found[1]}-reset"))
        if used is not None and resets_at is not None:
            yield int(found[2]) * (HOUR if found[3] == "h" else DAY), used, resets_at


def _openai(headers: Mapping[str, str], now: float) -> Iterator[tuple[int, float, float]]:
    for place in ("primary", "secondary"):
        used, minutes, at, left = (
            _number(headers.get(f"x-codex-{place}-{what}"))
            for what in ("used-percent", "window-minutes", "reset-at", "reset-after-seconds")
        )
        resets_at = at if at is not None or left is None else now + left
        if used is not None and resets_at is not None and minutes is not None:
            yield int(minutes), used / 100, resets_at


def _number(text: str | None) -> float | None:
    return float(text) if text and _NUMBER.fullmatch(text) else None


class Windows:
    """What each account's provider last reported."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        self._known = {(each.account, each.minutes): each for each in counts.windows()}

    def heard(self, account: str, headers: Mapping[str, str]) -> None:
        for each in windows(account, headers, time.time()):
            known = self._known.get((account, each.minutes))
            if known is None or _differs(known, each):
                self._counts.see(each)
                self._known[account, each.minutes] = each


def _differs(known: Window, told: Window) -> bool:
    return (
        told.at - known.at >= SAME_SECONDS
        or abs(told.used - known.used) >= SAME_SHARE
        or abs(told.resets_at - known.resets_at) >= SAME_SECONDS
    )
