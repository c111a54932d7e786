"""Inserts events and summaries as rows, each with its digest."""

import sqlite3
from collections.abc import Sequence

from supervisor.adapters.sqlite import codec
from supervisor.adapters.sqlite.tally import SEALED, Tallies, add, event_digest, name_digest, sealed_digest
from supervisor.model.event import AttemptEvent, BatchEvent, Event, JobEvent
from supervisor.ports import SealedBatch

_INSERT = "INSERT INTO events (seq, at, kind, batch, job, attempt, body, digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_SEAL = "INSERT INTO sealed (id, created_at, finished_at, status, jobs, digest) VALUES (?, ?, ?, ?, ?, ?)"


def insert(connection: sqlite3.Connection, last: int, events: Sequence[Event], tallies: Tallies) -> dict[str, int]:
    """Insert events after number `last`, within a transaction. Returns the new sums."""
    sums = dict(tallies)
    sealed = {batch for batch in {*map(_batch, events)} - sums.keys() if _is_sealed(connection, batch)}
    for seq, event in enumerate(events, start=last + 1):
        row = (seq, *_columns(event))
        digest = event_digest(*row)
        connection.execute(_INSERT, (*row, digest))
        if row[3] not in sealed:  # replay skips events of sealed batches
            add(sums, row[3], digest)
    return sums


def _is_sealed(connection: sqlite3.Connection, batch: str) -> bool:
    return connection.execute("SELECT 1 FROM sealed WHERE id = ?", (batch,)).fetchone() is not None


def _batch(event: Event) -> str:
    return event.batch if isinstance(event, BatchEvent) else ""


def seal(connection: sqlite3.Connection, sealed: Sequence[SealedBatch], tallies: dict[str, int]) -> None:
    """From now on replay and the sums leave these batches out."""
    for each in sealed:
        row = (each.id, float(each.created_at), float(each.finished_at), each.status, each.jobs)
        connection.execute(_SEAL, (*row, sealed_digest(*row)))
        tallies.pop(each.id, None)
        add(tallies, SEALED, name_digest(each.id))


def _columns(event: Event) -> tuple[float, str, str | None, int | None, int | None, str]:
    batch = event.batch if isinstance(event, BatchEvent) else None
    job = event.job if isinstance(event, JobEvent) else None
    attempt = event.attempt if isinstance(event, AttemptEvent) else None
    return float(event.at), event.kind, batch, job, attempt, codec.encode(event)
