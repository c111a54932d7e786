"""The two files that daemon and gate share, each with one writer.

When a commit returns, the kernel has the data, but it is not on disk: this takes a hundredth of the time, and a
killed process loses nothing. A thread of the gate syncs all commits to disk every few seconds.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from supervisor.errors import Unreadable

FOLDER, KEYS, COUNTS, LOCK = "gate", "keys.sqlite3", "counts.sqlite3", "lock"
SYNC_SECONDS = 5.0
#: how long a reader or a second writer waits; both normally wait only for a moment
BUSY_SECONDS = 5.0


def folder_of(state_dir: Path) -> Path:
    return state_dir / FOLDER


def opened(path: Path, schema: str) -> sqlite3.Connection:
    """Open the file; the first of the two processes creates it. Raises Unreadable."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=BUSY_SECONDS)
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute("PRAGMA wal_autocheckpoint = 0")
            db.executescript(schema)
        except BaseException:
            db.close()
            raise
    except (sqlite3.Error, OSError) as error:
        hint = "it is kept as it is: move it away to begin anew, without what it has counted"
        raise Unreadable(f"{path} can't be used: {error}", hint=hint) from None
    return db


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def synced(path: Path) -> None:
    """Sync all commits to disk, on a connection of its own, so that no other one waits for it."""
    db = sqlite3.connect(path, isolation_level=None, timeout=BUSY_SECONDS)
    try:
        db.execute("PRAGMA wal_checkpoint(PASSIVE)")
    finally:
        db.close()
