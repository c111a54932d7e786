"""What `top` shows, made from the answers of the API: pure, so that it can be tried without a terminal."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from supervisor.cli import printing
from supervisor.cli.looking import claims, waiting

type Answer = Mapping[str, Any]
#: the cells of a row, by its id
type Rows = dict[str, tuple[str, ...]]

BATCH_COLUMNS = ("batch", "state", "over", "waiting", "at work", "checked", "tokens", "outcomes")
JOB_COLUMNS = ("job", "state", "health", "for", "tokens", "pool", "test")


def headline(status: Answer) -> str:
    """Slots, what is verified, and what holds everything up."""
    slots = ", ".join(_slots(pool) for pool in status["pools"])
    verify = status.get("verify") or {}
    parts = [
        f"slots {slots}" if slots else "no pools",
        *([claims({"verify": verify | {"running": verify["claims"]}})] if verify else []),
    ]
    if status["paused"]:
        parts.insert(0, f"PAUSED{_reason(status['pause_reason'])}")
    if wanted := len(status["attention"]):
        parts.append(f"! {wanted} for your attention")
    return printing.clean("  ".join(part for part in parts if part))


def _slots(pool: Answer) -> str:
    return f"{pool['name']} {pool['busy']}/{pool['slots']}{' resting' if pool['resting'] else ''}"


def _reason(text: str) -> str:
    return f" ({text})" if text else ""


def batches(status: Answer, only: str = "") -> Rows:
    return {each["id"]: _batch(each) for each in status["batches"] if only in ("", each["id"])}


def _batch(batch: Answer) -> tuple[str, ...]:
    jobs = batch["jobs"]
    state = batch["state"] if batch["window_open"] else "window"
    state = f"stopped: {batch['stopped']}" if batch["stopped"] else "paused" if batch["paused"] else state
    cells = (
        batch["id"],
        state,
        f"{jobs['done'] + jobs['cancelled']}/{jobs['total']}",
        waiting(jobs),
        batch["at_work"],
        jobs["collecting"] + jobs["verifying"],
        tokens(sum(batch["tokens"].values())),
        printing.counts(batch["outcomes"]),
    )
    return tuple(printing.clean(cell) for cell in cells)


def jobs(rows: Iterable[Answer], now: str, words: str = "") -> Rows:
    """The rows that have all of these words, in any column."""
    found = {row["id"]: _job(row, now) for row in rows}
    wanted = words.lower().split()
    return {key: cells for key, cells in found.items() if all(word in " ".join(cells).lower() for word in wanted)}


def _job(row: Answer, now: str) -> tuple[str, ...]:
    state = row["outcome"] or row["state"]
    cells = (
        row["id"],
        state if row["attempts"] < 2 else f"{state} ({row['attempts']})",
        row["health"],
        _since(row["since"], now),
        tokens(row["tokens"]),
        row["pool"] or "",
        row["test"] or "integrates",
    )
    return tuple(printing.clean(cell) for cell in cells)


def _since(at: str | None, now: str) -> str:
    if at is None:
        return ""
    seconds = (datetime.fromisoformat(now) - datetime.fromisoformat(at)).total_seconds()
    return printing.duration(max(0.0, seconds))


def tokens(number: int) -> str:
    """`950`, `12 k`, `3.4 M`."""
    if number < 10_000:
        return str(number)
    return f"{number / 1e3:.0f} k" if number < 1e6 else f"{number / 1e6:.1f} M"
