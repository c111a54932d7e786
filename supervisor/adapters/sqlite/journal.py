"""The journal in SQLite: one thread writes, another reads, and neither blocks the event loop.

Theory of operation. The database is in WAL mode, so a reader sees the journal as it was when it began to read, and
never delays an append. With `synchronous = FULL` a commit returns once the write-ahead log is synced; an append is
acknowledged after that, once the mark is written, too (`mark`). A transaction that a crash cut short fails its
checksum when the log is read back, and is dropped. SQLite moves the log's content into the database every thousand
pages, and truncates the log after that.

Until the first write, the files stay as they are on disk, even on close: replay may still find that the journal can't
be trusted.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from supervisor.adapters.sqlite import appending, checkpoint, mark, unreadable
from supervisor.adapters.sqlite.inspecting import LIVE, altered
from supervisor.adapters.sqlite.mark import MarkFile
from supervisor.adapters.sqlite.opening import settled
from supervisor.adapters.sqlite.schema import connect, decoded, last_of, leave_as_it_is, open_database
from supervisor.adapters.sqlite.tally import add, event_digest, sealed_digest, total
from supervisor.adapters.sqlite.thread import ConnectionThread, transaction
from supervisor.errors import DeviceFailed, Unreadable
from supervisor.model.event import Event
from supervisor.model.state import State
from supervisor.ports import Record, SealedBatch

_REPLAY = LIVE.format(columns="events.seq, kind, body")
_EVENT = "seq, at, kind, batch, job, attempt, body, digest"
_SEALED_SINCE = "SELECT 1 FROM events WHERE seq > ? AND kind = 'batch-sealed' LIMIT 1"
_COUNTED_SINCE = """
    SELECT batch, digest FROM events WHERE seq > ? AND (batch IS NULL OR batch NOT IN (SELECT id FROM sealed))
"""
_SEALED = "SELECT id, created_at, finished_at, status, jobs, digest FROM sealed"
_FORGET = """
    DELETE FROM events WHERE seq IN (
        SELECT seq FROM events WHERE batch IN (SELECT id FROM sealed WHERE finished_at < ?) LIMIT 1000
    )
"""


def open_journal(path: Path, *, accept_older: bool = False) -> "SqliteJournal":
    """Open the journal at `path`, or create it. Blocks; meant for the start. Raises Unreadable if it is not what was
    acknowledged; with `accept_older`, it is used nevertheless."""
    return SqliteJournal(path, accept_older=accept_older)


def _reading(path: Path) -> sqlite3.Connection:
    connection = connect(path)
    leave_as_it_is(connection)
    return connection


class SqliteJournal:
    def __init__(self, path: Path, *, accept_older: bool = False) -> None:
        self.path = path
        found = settled(path, accept_older=accept_older)
        self.installation = found.installation
        #: of the events that make today's state; used by the writer only
        self._tallies = dict(found.tallies)
        self._mark: MarkFile | None = None
        self._writer = ConnectionThread("journal-writer", lambda: open_database(path))
        self._reader = ConnectionThread("journal-reader", lambda: _reading(path))

    async def append(self, events: Sequence[Event], sealed: Sequence[SealedBatch] = ()) -> int:
        """If this is cancelled while it waits, the events may or may not have been written."""

        def write(connection: sqlite3.Connection) -> int:
            with transaction(connection):
                last = last_of(connection)
                tallies = appending.insert(connection, last, events, self._tallies)
                appending.seal(connection, sealed, tallies)
                if sealed:
                    checkpoint.drop(connection)
            self._tallies = tallies
            if events or sealed:
                self._acknowledge(last + len(events))
            return last + len(events)

        return await self._write(write)

    def _acknowledge(self, last: int) -> None:
        """Advance the mark. The events are on disk and must not be written again, so a failure ends the daemon."""
        try:
            if self._mark is None:
                self._mark = MarkFile(mark.place_of(self.path))
            self._mark.advance(last, total(self._tallies))
        except OSError as error:
            raise Unreadable(
                f"can't write down in {mark.place_of(self.path)} what was acknowledged: {error}",
                hint="see to its disk and its permissions, then start again: nothing is lost",
            ) from error

    async def forget(self, before: float) -> int:
        """Delete the events of sealed batches that finished before that time; their summaries stay in `sealed`.

        It works in small steps, with appends in between. The space is reused; the file does not shrink.
        """

        def forget(connection: sqlite3.Connection) -> int:
            with transaction(connection):
                return connection.execute(_FORGET, (before,)).rowcount

        forgotten = 0
        while some := await self._write(forget):
            forgotten += some
        return forgotten

    def checkpoint(self) -> tuple[int, State] | None:
        with unreadable.damage_found(self.path), closing(_reading(self.path)) as connection:
            return checkpoint.read(connection)

    async def keep(self, seq: int, state: State) -> None:
        def keep(connection: sqlite3.Connection) -> None:
            with transaction(connection):
                if not connection.execute(_SEALED_SINCE, (seq,)).fetchone():
                    tallies = dict(self._tallies)
                    for batch, digest in connection.execute(_COUNTED_SINCE, (seq,)):
                        add(tallies, batch, -digest)
                    checkpoint.write(connection, seq, state, tallies)

        await self._write(keep)

    def replay(self, after: int = 0) -> Iterator[Record]:
        with unreadable.damage_found(self.path), closing(_reading(self.path)) as connection:
            for seq, kind, body in connection.execute(_REPLAY, {"after": after}):
                yield Record(seq, decoded(self.path, seq, kind, body))

    async def read(
        self, after: int = 0, *, limit: int = 1000, batch: str = "", job: int | None = None, newest: bool = False
    ) -> list[Record]:
        filters: dict[str, int | str] = {"seq > ?": after} | ({"batch = ?": batch} if batch else {})
        filters |= {"job = ?": job} if job is not None else {}
        order = "DESC" if newest else "ASC"
        query = f"SELECT {_EVENT} FROM events WHERE {' AND '.join(filters)} ORDER BY seq {order} LIMIT ?"

        def read(connection: sqlite3.Connection) -> list[Record]:
            rows = connection.execute(query, (*filters.values(), limit))
            records = [self._record(*row) for row in rows]
            return records[::-1] if newest else records

        return await self._read(read)

    async def sealed(self, *, limit: int = 100) -> list[SealedBatch]:
        query = f"{_SEALED} ORDER BY place DESC LIMIT ?"
        return await self._read(
            lambda connection: [self._summary(*row) for row in connection.execute(query, (limit,))]
        )

    async def sealed_batch(self, batch: str) -> SealedBatch | None:
        query = f"{_SEALED} WHERE id = ?"
        row = await self._read(lambda connection: connection.execute(query, (batch,)).fetchone())
        return self._summary(*row) if row else None

    async def sealed_ids(self, prefix: str, *, limit: int = 10) -> list[str]:
        query = "SELECT id FROM sealed WHERE id >= ? AND id < ? || char(0x10ffff) ORDER BY id LIMIT ?"
        return await self._read(
            lambda connection: [row[0] for row in connection.execute(query, (prefix, prefix, limit))]
        )

    def _record(self, *row: Any) -> Record:
        if row[7] != event_digest(*row[:7]):
            raise altered(self.path, row[0], row[2], row[6])
        return Record(row[0], decoded(self.path, row[0], row[2], row[6]))

    def _summary(self, *row: Any) -> SealedBatch:
        if row[5] != sealed_digest(*row[:5]):
            raise unreadable.damaged(self.path, f"the summary of batch {row[0]!r} is not as it was written")
        return SealedBatch(*row[:5])

    async def close(self) -> None:
        await self._reader.close()
        await self._writer.close()
        if self._mark is not None:
            self._mark.close()

    async def _read[T](self, work: Callable[[sqlite3.Connection], T]) -> T:
        with unreadable.damage_found(self.path):
            return await self._reader.run(work)

    async def _write[T](self, work: Callable[[sqlite3.Connection], T]) -> T:
        def settling(connection: sqlite3.Connection) -> T:
            done = work(connection)
            leave_as_it_is(connection, is_left=False)
            return done

        try:
            return await self._writer.run(settling)
        except sqlite3.OperationalError as error:
            raise DeviceFailed(
                f"the journal {self.path} can't be written: {error}",
                hint="see to the room and the health of its disk; what was acknowledged before is safe",
            ) from error
        except sqlite3.IntegrityError:  # a batch sealed twice: a bug of ours, not damage
            raise
        except sqlite3.DatabaseError as error:
            raise unreadable.damaged(self.path, error) from error
