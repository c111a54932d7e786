"""Is the state whole? Found out on a copy, so that a refusal leaves every byte as it was.

Theory of operation. SQLite changes files when it opens them, and more when it closes them: it deletes a log that it
takes for a stale one, and moves the other into the database. So the first look is at a folder beside, in which the
database is a hard link, opened read-only, and the log a copy.

There every event that today's state is made of is held against its own digest, and their sum against the mark: so
one that is missing, altered, or no more found by an index is noticed, wherever the damage is. What is sealed is not
read, except in a small journal; its events are held against their digests whenever they are read.
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

#: The batches are found by hopping from one to the next in the index, so what is sealed costs nothing but its name.
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
    #: written by a version that knew no digests, and no mark
    is_older_version: bool
    #: the number of its last event
    last: int
    #: of the events that today's state is made of
    tallies: Tallies
    #: what the mark's sum is to be, by what is found; None: there are not as many events since as there must be
    at_mark: int | None


@contextmanager
def copied(path: Path) -> Iterator[Path]:
    """The journal under another name, where whatever SQLite does to its files does nothing to them."""
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
    except OSError:  # not on every file system
        shutil.copyfile(path, copy)


def read_only(copy: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{copy.as_uri()}?mode=ro", uri=True, isolation_level=None)


def inspect(path: Path, marked: Mark | None, *, thoroughly: bool = False) -> Found:
    """Unreadable when it is not whole in itself."""
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
    tallies.pop(SEALED, None)  # a checkpoint's is of its time
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
    if not has_digests:  # of an older version: replay comes after it is brought up to date, which is not to be undone
        decoded(path, row[0], row[2], row[6])
    elif kept != event_digest(*row):
        raise altered(path, row[0], row[2], row[6])
    return event_digest(*row)


def altered(path: Path, seq: int, kind: str, body: str) -> Exception:
    """What a body that can't be read says of itself comes before that it is not the one that was written."""
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
    """A batch that was sealed by an append without an answer is in the mark's sum with its events until then."""
    sealed = "SELECT batch FROM events WHERE seq > ? AND kind = 'batch-sealed'"
    sums = {batch: 0 for (batch,) in connection.execute(sealed, (since,))} if since else {}
    query = f"SELECT {_ROW}, {'digest' if has_digests else 'NULL'} FROM events WHERE seq <= ? AND batch = ?"
    for batch in sums:
        for *row, kept in connection.execute(query, (since, batch)):
            add(sums, batch, _whole(path, tuple(row), kept, has_digests=has_digests))
    return sums


def _at_mark(connection: sqlite3.Connection, last: int, since: int, summed: int) -> int | None:
    """Events that came after the mark can't have been forgotten yet: there is one for every number."""
    found = connection.execute("SELECT count(*) FROM events WHERE seq > ?", (since,)).fetchone()[0]
    return summed % 2**64 if since == 0 or found == last - since else None


def hold(path: Path, found: Found, marked: Mark | None) -> None:
    """Unreadable when less, or something else, is found than was acknowledged."""
    if marked is None:
        raise unreadable.unmarked(path, mark.place_of(path))
    if found.installation != marked.installation:
        raise unreadable.of_another(path, found.installation, marked.installation)
    if found.last < marked.seq:
        raise unreadable.older(path, found.last, marked.seq)
    if found.at_mark != marked.tally:
        raise unreadable.different(path, marked.seq)
