"""Events for those who follow them, from any sequence number on, without a gap or a repeat.

A follower reads the journal, which is the only place events come from; the loop's commits merely wake it up. So
nothing is queued for anybody: one that is slow, or was away, catches up from the journal, a bounded piece at a time.
"""

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import asdict, fields
from typing import Any

import anyio

from supervisor.model.batch import Profile
from supervisor.model.event import AttemptEvent, BatchEvent, Event, JobEvent
from supervisor.model.evidence import Evidence
from supervisor.model.ledger import LedgerRow
from supervisor.model.state import State
from supervisor.observe.snapshot import rfc3339
from supervisor.ports import Journal, Record

PIECE = 500
_IDS = {"at", "batch", "job", "attempt"}


class Stream:
    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        #: set with the next event that is written
        self._written = anyio.Event()
        self._is_closed = False

    def notify(self, state: State, events: Iterable[Event]) -> None:
        """For `Loop.watch`: something was written."""
        self._wake()

    def close(self) -> None:
        """End all that follow."""
        self._is_closed = True
        self._wake()

    async def follow(
        self, after: int = 0, *, batch: str = "", job: int | None = None, idle_seconds: float = 15.0
    ) -> AsyncIterator[list[Record]]:
        """Pieces of what was and will be written after a sequence number; an empty one whenever nothing happens."""
        while not self._is_closed:
            written = self._written  # before reading: what is written meanwhile is not missed
            if piece := await self._journal.read(after, limit=PIECE, batch=batch, job=job):
                after = piece[-1].seq
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
    """An event for JSON. What is as long as its batch is told by its numbers."""
    event = record.event
    data: dict[str, Any] = {
        "seq": record.seq,
        "at": rfc3339(event.at),
        "kind": event.kind,
        "batch": event.batch if isinstance(event, BatchEvent) else None,
        "job": f"{event.batch}.{event.job}" if isinstance(event, JobEvent) else None,
        "attempt": event.attempt if isinstance(event, AttemptEvent) else None,
    }
    for field in fields(event):
        if field.name not in _IDS:
            data |= _told(field.name, getattr(event, field.name))
    return data


def _told(name: str, value: Any) -> dict[str, Any]:
    """Cases: the tests of a batch, its profile, a ledger, evidence, a time, pools, and plain values."""
    if name == "tests":
        return {"jobs": len(value)}
    if isinstance(value, Profile):
        return {name: value.name}
    if name == "ledger" and isinstance(value, Mapping):
        return {name: Counter(row.fate.value for row in value.values() if isinstance(row, LedgerRow))}
    if isinstance(value, Evidence):
        return {name: asdict(value)}
    if name in ("since", "until", "retry_at", "ready_at"):
        return {name: rfc3339(value)}
    if name == "pools":
        return {name: [pool.name for pool in value]}
    return {name: value}
