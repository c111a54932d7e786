"""A stream of events from any sequence number on, without gaps or duplicates.

A follower reads only the journal; the loop's commits merely wake it up. So there are no queues for followers: a
slow or disconnected one catches up from the journal, in pieces of bounded size.
"""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import asdict, fields
from typing import Any

import anyio

from supervisor.model.account import Budget
from supervisor.model.event import AttemptEvent, BatchEvent, Event, JobEvent, ReviewEvent
from supervisor.model.evidence import Evidence
from supervisor.model.ledger import LedgerRow
from supervisor.model.pressure import Pressure
from supervisor.model.profile import Profile
from supervisor.model.review import ReviewedBranch
from supervisor.model.state import State
from supervisor.model.survey import Surveyed
from supervisor.model.waking import Waking
from supervisor.observe.snapshot import rfc3339
from supervisor.ports import Journal, Record

PIECE = 500
_IDS = {"at", "batch", "job", "attempt"}


class Stream:
    def __init__(self, journal: Journal, caught_up: Callable[[], Awaitable[None]]) -> None:
        """`caught_up`: see `Loop`; with it, a follower that gets an event finds it in the state."""
        self._journal, self._caught_up = journal, caught_up
        #: set when the next event is written
        self._written = anyio.Event()
        #: the daemon is about to end: followers get nothing more
        self.is_closed = False

    def notify(self, state: State, events: Iterable[Event]) -> None:
        """Wake the followers: events were written. For `Loop.watch`."""
        self._wake()

    def close(self) -> None:
        """End all followers."""
        self.is_closed = True
        self._wake()

    async def follow(
        self, after: int = 0, *, batch: str = "", job: int | None = None, idle_seconds: float = 15.0
    ) -> AsyncIterator[list[Record]]:
        """Past and future events after a sequence number, in pieces; an empty one after `idle_seconds` of silence."""
        while not self.is_closed:
            written = self._written  # before reading, so that a concurrent write is not missed
            if piece := await self._journal.read(after, limit=PIECE, batch=batch, job=job):
                after = piece[-1].seq
                await self._caught_up()
                yield piece
            elif not await _happens(written, idle_seconds):
                yield []

    def _wake(self) -> None:
        happened, self._written = self._written, anyio.Event()
        happened.set()


async def _happens(event: anyio.Event, within: float) -> bool:
    with anyio.move_on_after(within):
        await event.wait()
    return event.is_set()


def as_data(record: Record) -> dict[str, Any]:
    """An event for JSON. Values as long as the batch become counts."""
    event = record.event
    data: dict[str, Any] = {
        "seq": record.seq,
        "at": rfc3339(event.at),
        "kind": event.kind,
        "batch": event.batch if isinstance(event, BatchEvent | ReviewEvent) else None,
        "job": f"{event.batch}.{event.job}" if isinstance(event, JobEvent) else None,
        "attempt": event.attempt if isinstance(event, AttemptEvent) else None,
    }
    for field in fields(event):
        if field.name not in _IDS:
            data |= _told(field.name, getattr(event, field.name))
    return data


def _told(name: str, value: Any) -> dict[str, Any]:
    """Cases: tests, a profile, a ledger, plain values with fields, times, pools, accounts, budget."""
    if name == "tests":
        return {"jobs": len(value)}
    if isinstance(value, Profile):
        return {name: value.name}
    if name == "ledger" and isinstance(value, Mapping):
        return {name: Counter(row.fate.value for row in value.values() if isinstance(row, LedgerRow))}
    if isinstance(value, Evidence | Surveyed | Pressure | Waking | ReviewedBranch):
        return {name: asdict(value)}
    if name in ("since", "until", "retry_at", "ready_at"):
        return {name: rfc3339(value)}
    if name in ("pools", "accounts"):  # an account's variables may be secret
        return {name: [each.name for each in value]}
    if isinstance(value, Budget):
        return {name: asdict(value.caps)}
    return {name: value}
