"""Finished batches beside each other: what they brought and what that took, as bars. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from supervisor.observe.snapshot import View

HEIGHT = 48


@dataclass(frozen=True, slots=True)
class Bar:
    batch: str
    value: float | None
    #: of `HEIGHT`
    height: float


@dataclass(frozen=True, slots=True)
class Trend:
    title: str
    unit: str
    bars: tuple[Bar, ...]


def trends(newest_first: Sequence[View]) -> list[Trend]:
    """Oldest first; none for fewer than two batches."""
    batches = list(reversed(newest_first))
    if len(batches) < 2:
        return []
    limits = sorted({reason for batch in batches for reason in batch.get("held_up", {})})
    lost = [(f"Hours lost to {_LIMITS.get(name, name)}", "hours", _hours(name)) for name in limits]
    return [Trend(title, unit, _bars(batches, value)) for title, unit, value in (*_TRENDS, *lost)]


def _bars(batches: Sequence[View], value: Callable[[View], float | None]) -> tuple[Bar, ...]:
    values = [value(batch) for batch in batches]
    most = max((each for each in values if each), default=1) or 1
    return tuple(
        Bar(batch["id"], each, round(HEIGHT * (each or 0) / most, 1))
        for batch, each in zip(batches, values, strict=True)
    )


def _brought(batch: View) -> int:
    outcomes: Mapping[str, Any] = batch["outcomes"]
    return int(outcomes.get("fixed", 0)) + int(outcomes.get("improved", 0))


def _failed(batch: View) -> float:
    outcomes: Mapping[str, Any] = batch["outcomes"]
    return float(sum(outcomes.get(name, 0) for name in ("failed", "timed-out", "stalled", "lost")))


def _per_success(batch: View) -> float | None:
    brought = _brought(batch)
    return sum(batch["tokens"].values()) / brought if brought else None


def _minutes(batch: View) -> float | None:
    if not batch.get("finished_at"):
        return None
    began, ended = (datetime.fromisoformat(batch[name]) for name in ("created_at", "finished_at"))
    return (ended - began).total_seconds() / 60


def _hours(limit: str) -> Callable[[View], float | None]:
    """None where an older version sealed the batch, which did not measure it."""
    return lambda batch: batch["held_up"].get(limit, 0.0) / 3600 if "held_up" in batch else None


#: what pauses an account, in words
_LIMITS = {
    "window": "the usage window",
    "rate": "the rate limit",
    "overload": "overload",
    "login": "a lost login",
    "credit": "used up credit",
    "cap": "the budget",
    "no-use": "hours for people",
    "pace": "the pace",
}

_TRENDS: tuple[tuple[str, str, Callable[[View], float | None]], ...] = (
    ("Fixed or improved", "tests", lambda batch: float(_brought(batch))),
    ("Failed", "tests", _failed),
    ("Tokens for each fix", "tokens", _per_success),
    ("Minutes", "minutes", _minutes),
)
