"""The journal in SQLite: one thread writes, another reads, and the event loop waits for neither.

Theory of operation. The database is in WAL mode, so a reader sees the journal as it was when it began to read, and
never delays an append. With `synchronous = FULL` a commit returns once the write-ahead log is synced: that is when an
append is answered. A transaction that a crash cut short fails its checksum when the log is read back, and is not
there. SQLite moves the log's content into the database every thousand pages, and cuts the log back after that.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from supervisor.adapters.sqlite import checkpoint, codec, unreadable
from supervisor.adapters.sqlite.schema import connect, decoded, installation_of, open_database
from supervisor.adapters.sqlite.thread import ConnectionThread, transaction
from supervisor.errors import DeviceFailed
from supervisor.model.event import AttemptEvent, BatchEvent, Event, JobEvent
from supervisor.model.state import State
from supervisor.ports import Record, SealedBatch

_INSERT = "INSERT INTO events (at, kind, batch, job, attempt, body) VALUES (?, ?, ?, ?, ?, ?)"
_SEAL = "INSERT INTO sealed (id, created_at, finished_at, status, jobs) VALUES (?, ?, ?, ?, ?)"
_LAST = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'events'"

#: The batches are found by hopping from one to the next in the index, so what is sealed costs nothing but its name.
_REPLAY = """
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
    SELECT events.seq, kind, body FROM wanted CROSS JOIN events ON events.seq = wanted.seq ORDER BY wanted.seq
"""

_SEALED_SINCE = "SELECT 1 FROM events WHERE seq > ? AND kind = 'batch-sealed' LIMIT 1"
_SEALED = "SELECT id, created_at, finished_at, status, jobs FROM sealed"
_FORGET = """
    DELETE FROM events WHERE seq IN (
        SELECT seq FROM events WHERE batch IN (SELECT id FROM sealed WHERE finished_at < ?) LIMIT 1000
    )
"""


def open_journal(path: Path) -> "SqliteJournal":
    """Open the journal there, or make one. Blocking: for the start."""
    return SqliteJournal(path)


class SqliteJournal:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._writer = ConnectionThread("journal-writer", lambda: open_database(path))
        self._reader = ConnectionThread("journal-reader", lambda: connect(path))
        with closing(connect(path)) as connection:
            self.installation = installation_of(connection)

    async def append(self, events: Sequence[Event], sealed: Sequence[SealedBatch] = ()) -> int:
        """Cancelled while it waits, it may or may not have been written."""

        def write(connection: sqlite3.Connection) -> int:
            rows = [_row(event) for event in events]
            seals = [(each.id, each.created_at, each.finished_at, each.status, each.jobs) for each in sealed]
            with transaction(connection):
                connection.executemany(_INSERT, rows)
                connection.executemany(_SEAL, seals)
                if seals:
                    checkpoint.drop(connection)
                last: int = connection.execute(_LAST).fetchone()[0]
            return last

        return await self._write(write)

    async def forget(self, before: float) -> int:
        """Drop the events of batches that were finished before that time; what they came to stays in `sealed`.

        In small steps, between which appends go on. The room is used again, the file does not shrink.
        """

        def forget(connection: sqlite3.Connection) -> int:
            with transaction(connection):
                return connection.execute(_FORGET, (before,)).rowcount

        forgotten = 0
        while some := await self._write(forget):
            forgotten += some
        return forgotten

    def checkpoint(self) -> tuple[int, State] | None:
        with unreadable.damage_found(self.path), closing(connect(self.path)) as connection:
            return checkpoint.read(connection)

    async def keep(self, seq: int, state: State) -> None:
        def keep(connection: sqlite3.Connection) -> None:
            with transaction(connection):
                if not connection.execute(_SEALED_SINCE, (seq,)).fetchone():
                    checkpoint.write(connection, seq, state)

        await self._write(keep)

    def replay(self, after: int = 0) -> Iterator[Record]:
        with unreadable.damage_found(self.path), closing(connect(self.path)) as connection:
            for seq, kind, body in connection.execute(_REPLAY, {"after": after}):
                yield Record(seq, decoded(self.path, seq, kind, body))

    async def read(
        self, after: int = 0, *, limit: int = 1000, batch: str = "", job: int | None = None, newest: bool = False
    ) -> list[Record]:
        filters: dict[str, int | str] = {"seq > ?": after} | ({"batch = ?": batch} if batch else {})
        filters |= {"job = ?": job} if job is not None else {}
        order = "DESC" if newest else "ASC"
        query = f"SELECT seq, kind, body FROM events WHERE {' AND '.join(filters)} ORDER BY seq {order} LIMIT ?"

        def read(connection: sqlite3.Connection) -> list[Record]:
            rows = connection.execute(query, (*filters.values(), limit))
            records = [Record(seq, decoded(self.path, seq, kind, body)) for seq, kind, body in rows]
            return records[::-1] if newest else records

        return await self._read(read)

    async def sealed(self, *, limit: int = 100) -> list[SealedBatch]:
        query = f"{_SEALED} ORDER BY place DESC LIMIT ?"
        return await self._read(lambda connection: [SealedBatch(*row) for row in connection.execute(query, (limit,))])

    async def sealed_batch(self, batch: str) -> SealedBatch | None:
        query = f"{_SEALED} WHERE id = ?"
        row = await self._read(lambda connection: connection.execute(query, (batch,)).fetchone())
        return SealedBatch(*row) if row else None

    async def sealed_ids(self, prefix: str, *, limit: int = 10) -> list[str]:
        query = "SELECT id FROM sealed WHERE id >= ? AND id < ? || char(0x10ffff) ORDER BY id LIMIT ?"
        return await self._read(
            lambda connection: [row[0] for row in connection.execute(query, (prefix, prefix, limit))]
        )

    async def close(self) -> None:
        await self._reader.close()
        await self._writer.close()

    async def _read[T](self, work: Callable[[sqlite3.Connection], T]) -> T:
        with unreadable.damage_found(self.path):
            return await self._reader.run(work)

    async def _write[T](self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return await self._writer.run(work)
        except sqlite3.OperationalError as error:
            raise DeviceFailed(
                f"the journal {self.path} can't be written: {error}",
                hint="see to the room and the health of its disk; what was acknowledged before is safe",
            ) from error
        except sqlite3.IntegrityError:  # a batch sealed twice: a bug of ours, not damage
            raise
        except sqlite3.DatabaseError as error:
            raise unreadable.damaged(self.path, error) from error


def _row(event: Event) -> tuple[float, str, str | None, int | None, int | None, str]:
    batch = event.batch if isinstance(event, BatchEvent) else None
    job = event.job if isinstance(event, JobEvent) else None
    attempt = event.attempt if isinstance(event, AttemptEvent) else None
    return event.at, event.kind, batch, job, attempt, codec.encode(event)
