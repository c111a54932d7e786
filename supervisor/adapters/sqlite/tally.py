"""Digests of events, and the sum of those that make today's state: they prove that events are as they were written.

The sum does not depend on order, allows a sealed batch to be subtracted, and changes if an event is missing, altered
or added. It is kept by batch, because sealing a batch removes its part; from then on the digest of its name counts.
"""

import sqlite3
from collections.abc import Mapping
from hashlib import blake2b

#: Sums by batch; "" is for events that belong to no batch, SEALED for the names of sealed batches.
type Tallies = Mapping[str, int]

SEALED = "\0sealed"
_WRAP = 2**64


def event_digest(*row: object) -> int:
    """Digest of `seq, at, kind, batch, job, attempt, body`, as SQLite stores it: signed, 64 bits."""
    return int.from_bytes(blake2b(repr(row).encode(), digest_size=8).digest(), signed=True)


def name_digest(batch: str) -> int:
    """Digest of a sealed batch's name, which counts because it decides what replay leaves out."""
    return event_digest("sealed", batch)


def sealed_digest(*row: object) -> int:
    """Digest of `id, created_at, finished_at, status, jobs`."""
    return event_digest("sealed", *row)


def add(tallies: dict[str, int], batch: str | None, digest: int) -> None:
    tallies[batch or ""] = (tallies.get(batch or "", 0) + digest) % _WRAP


def total(tallies: Tallies) -> int:
    return sum(tallies.values()) % _WRAP


def know_digests(connection: sqlite3.Connection) -> None:
    """Register the SQL functions with which migrations fill in the digests."""
    connection.create_function("event_digest", 7, event_digest, deterministic=True)
    connection.create_function("sealed_digest", 5, sealed_digest, deterministic=True)
