"""Checks whether a journal is intact, on a copy, so that a refusal changes no byte of it.

Theory of operation. SQLite changes files when it opens them, and more when it closes them: it deletes a log that it
takes for stale, and moves any other log into the database. So the check works in a folder beside the journal, with a
hard link to the database, opened read-only, and a copy of the log.

There it compares every event that makes today's state with its digest, and the sum of their digests with the mark: so
it notices an event that is missing, altered, or no longer found by an index, wherever the damage is. Sealed batches
are not read, except in a small journal; their events are compared with their digests whenever they are read.
"""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from supervisor.adapters.sqlite import checkpoint, codec, mark, unreadable
from supervisor.adapters.sqlite.mark import Mark
from supervisor.adapters.sqlite.schema import (
    CHECKED_BYTES,
    DIGESTS_SINCE,
    decoded,
    installation_of,
    last_of,
    pragma,
    recognise,
)
from supervisor.adapters.sqlite.tally import SEALED, Tallies, add, event_digest, name_digest, sealed_digest, total

_ROW = "events.seq, at, kind, batch, job, attempt, body"

#: The query finds the batches by seeking from one to the next in the index, so a sealed batch costs only its name.
LIVE = """
    WITH RECURSIVE batches (id) AS (
        SELECT min(batch) FROM events
        UNION ALL
        SELECT (SELECT min(batch) FROM events WHERE batch > id) FROM batches WHERE id IS NOT NULL
    ),
    wanted (seq) AS (
        SELECT seq FROM events WHERE batch IS NULL AND seq > :after
        UNION ALL
        SELECT seq FROM events
        WHERE batch IN (SELECT id FROM batches WHERE id NOT IN (SELECT id FROM sealed)) AND seq > :after
        ORDER BY seq
    )
    SELECT {columns} FROM wanted CROSS JOIN events ON events.seq = wanted.seq ORDER BY wanted.seq
"""


@dataclass(frozen=True, slots=True)
class Found:
    """A journal as it is on disk."""

    installation: str
    #: written by a version without digests and marks
    is_older_version: bool
    #: the number of its last event
    last: int
    #: of the events that make today's state
    tallies: Tallies
    #: the sum that the mark should hold, computed from the events; None: events after the mark are missing
    at_mark: int | None


@contextmanager
def copied(path: Path) -> Iterator[Path]:
    """The journal under another name, so that what SQLite does there leaves the journal's own files alone."""
    path = path.resolve()
    folder = path.with_name(f"{path.name}.look")
    shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.mkdir(mode=0o700)
        copy = folder / path.name
        _link(path, copy)
        if (log := _log_of(path)).exists():
            shutil.copyfile(log, _log_of(copy))
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise unreadable.out_of_reach(path, error) from error
    try:
        yield copy
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _link(path: Path, copy: Path) -> None:
    try:
        os.link(path, copy)
    except OSError:  # some file systems have no hard links
        shutil.copyfile(path, copy)


def read_only(copy: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{copy.as_uri()}?mode=ro", uri=True, isolation_level=None)


def inspect(path: Path, marked: Mark | None, *, thoroughly: bool = False) -> Found:
    """Raises Unreadable if the journal is not intact in itself."""
    with unreadable.damage_found(path), copied(path) as copy, closing(read_only(copy)) as connection:
        recognise(connection, path)
        if path.stat().st_size <= CHECKED_BYTES or thoroughly:
            _check_pages(connection, path, thoroughly=thoroughly)
        if not (installation := installation_of(connection)):
            raise unreadable.damaged(path, "the name of its installation is missing")
        return add_up(connection, path, installation, marked)


def _check_pages(connection: sqlite3.Connection, path: Path, *, thoroughly: bool) -> None:
    check = "integrity_check" if thoroughly else "quick_check"
    if (found := connection.execute(f"PRAGMA {check}(1)").fetchone()[0]) != "ok":
        raise unreadable.damaged(path, " ".join(found.split()))


def add_up(connection: sqlite3.Connection, path: Path, installation: str, marked: Mark | None) -> Found:
    has_digests = pragma(connection, "user_version") >= DIGESTS_SINCE
    if has_digests != has_digest_column(connection):
        raise unreadable.damaged(path, "its version does not fit its tables")
    since = marked.seq if marked else 0
    start = checkpoint.sums(connection) if has_digests else None
    after, tallies = start if start is not None and start[0] <= since else (0, {})
    tallies.pop(SEALED, None)  # the checkpoint's sum of sealed names may be outdated
    last, by_now = last_of(connection), total(tallies)
    for row, kept in _live(connection, after, has_digests=has_digests):
        digest = _whole(path, row, kept, has_digests=has_digests)
        add(tallies, row[3], digest)
        if row[0] <= since:
            by_now += digest
    if has_digests:
        _check_sealed(connection, path)
    names = {name for (name,) in connection.execute("SELECT id FROM sealed")}
    for name in names:
        add(tallies, SEALED, name_digest(name))
    newly = _sealed_since(connection, path, since, has_digests=has_digests)
    by_now += sum(name_digest(name) for name in names - newly.keys()) + sum(newly.values())
    return Found(installation, not has_digests, last, tallies, _at_mark(connection, last, since, by_now))


def has_digest_column(connection: sqlite3.Connection) -> bool:
    return any(column[1] == "digest" for column in connection.execute("PRAGMA table_info(events)"))


type _Row = tuple[int, float, str, str | None, int | None, int | None, str]


def _live(connection: sqlite3.Connection, after: int, *, has_digests: bool) -> Iterator[tuple[_Row, int | None]]:
    query = LIVE.format(columns=f"{_ROW}, {'digest' if has_digests else 'NULL'}")
    for *row, kept in connection.execute(query, {"after": after}):
        yield tuple(row), kept


def _whole(path: Path, row: _Row, kept: int | None, *, has_digests: bool) -> int:
    if not has_digests:  # an older version: decode now, because replay comes after the migration, which is final
        decoded(path, row[0], row[2], row[6])
    elif kept != event_digest(*row):
        raise altered(path, row[0], row[2], row[6])
    return event_digest(*row)


def altered(path: Path, seq: int, kind: str, body: str) -> Exception:
    """The error for an event that does not fit its digest: a body that can't be decoded gets the more precise one."""
    try:
        codec.decode(kind, body)
    except codec.UnknownKind as error:
        return unreadable.newer(path, str(error))
    except codec.Undecodable as error:
        return unreadable.damaged(path, f"event {seq} ({kind}): {error}")
    return unreadable.damaged(path, f"event {seq} ({kind}) is not as it was written")


def _check_sealed(connection: sqlite3.Connection, path: Path) -> None:
    if path.stat().st_size <= CHECKED_BYTES:
        for *row, digest in connection.execute(
            "SELECT id, created_at, finished_at, status, jobs, digest FROM sealed"
        ):
            if digest != sealed_digest(*row):
                raise unreadable.damaged(path, f"the summary of batch {row[0]!r} is not as it was written")


def _sealed_since(connection: sqlite3.Connection, path: Path, since: int, *, has_digests: bool) -> dict[str, int]:
    """Batches sealed by an append that was not acknowledged: the mark's sum holds their events, not their names."""
    sealed = "SELECT batch FROM events WHERE seq > ? AND kind = 'batch-sealed'"
    sums = {batch: 0 for (batch,) in connection.execute(sealed, (since,))} if since else {}
    query = f"SELECT {_ROW}, {'digest' if has_digests else 'NULL'} FROM events WHERE seq <= ? AND batch = ?"
    for batch in sums:
        for *row, kept in connection.execute(query, (since, batch)):
            add(sums, batch, _whole(path, tuple(row), kept, has_digests=has_digests))
    return sums


def _at_mark(connection: sqlite3.Connection, last: int, since: int, summed: int) -> int | None:
    """Events after the mark can't have been forgotten yet, so there must be one for every number."""
    found = connection.execute("SELECT count(*) FROM events WHERE seq > ?", (since,)).fetchone()[0]
    return summed % 2**64 if since == 0 or found == last - since else None


def hold(path: Path, found: Found, marked: Mark | None) -> None:
    """Raises Unreadable if the journal holds less than was acknowledged, or something else."""
    if marked is None:
        raise unreadable.unmarked(path, mark.place_of(path))
    if found.installation != marked.installation:
        raise unreadable.of_another(path, found.installation, marked.installation)
    if found.last < marked.seq:
        raise unreadable.older(path, found.last, marked.seq)
    if found.at_mark != marked.tally:
        raise unreadable.different(path, marked.seq)
