"""Whether events are the ones that were written: a digest of each, and the sum of those that make today's state.

A sum does not mind the order, takes a batch out when it is sealed, and differs when an event is missing, altered or
one too many. It is kept for each batch, because a sealed batch leaves with its part: its name counts from then on.
"""

import sqlite3
from collections.abc import Mapping
from hashlib import blake2b

#: Sums by batch; "" is for what belongs to no batch, SEALED for the names of batches that are sealed.
type Tallies = Mapping[str, int]

SEALED = "\0sealed"
_WRAP = 2**64


def event_digest(*row: object) -> int:
    """Of `seq, at, kind, batch, job, attempt, body`, as SQLite keeps it: signed, 64 bits."""
    return int.from_bytes(blake2b(repr(row).encode(), digest_size=8).digest(), signed=True)


def name_digest(batch: str) -> int:
    """Of a batch that is sealed: that it is, decides what replay leaves out."""
    return event_digest("sealed", batch)


def sealed_digest(*row: object) -> int:
    """Of `id, created_at, finished_at, status, jobs`."""
    return event_digest("sealed", *row)


def add(tallies: dict[str, int], batch: str | None, digest: int) -> None:
    tallies[batch or ""] = (tallies.get(batch or "", 0) + digest) % _WRAP


def total(tallies: Tallies) -> int:
    return sum(tallies.values()) % _WRAP


def know_digests(connection: sqlite3.Connection) -> None:
    """Migrations fill them in with these."""
    connection.create_function("event_digest", 7, event_digest, deterministic=True)
    connection.create_function("sealed_digest", 5, sealed_digest, deterministic=True)
