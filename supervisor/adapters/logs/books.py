"""How far each attempt is read and what was counted, in one transaction: a crash neither loses nor doubles anything.

What was appended to a log after the last transaction is truncated, and read again from its source.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field, replace
from pathlib import Path

from supervisor.errors import Unreadable
from supervisor.model.attempt import AttemptKey
from supervisor.model.usage import NOTHING, Usage
from supervisor.transcripts.entries import Counted, Word
from supervisor.transcripts.tail import Mark

_SCHEMA = """
CREATE TABLE IF NOT EXISTS marks (
    batch TEXT, job INTEGER, attempt INTEGER, source TEXT, inode INTEGER, at INTEGER, skips INTEGER,
    PRIMARY KEY (batch, job, attempt, source)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pages (
    batch TEXT, job INTEGER, attempt INTEGER, written INTEGER,
    input INTEGER, output INTEGER, cached INTEGER, tool_calls INTEGER, errors INTEGER, model TEXT,
    problem TEXT, detail TEXT,
    cache_written INTEGER DEFAULT 0, until REAL DEFAULT 0, refused_model TEXT DEFAULT '', refused_at REAL DEFAULT 0,
    context INTEGER DEFAULT 0,
    PRIMARY KEY (batch, job, attempt)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS counted (
    batch TEXT, job INTEGER, attempt INTEGER, id TEXT, PRIMARY KEY (batch, job, attempt, id)
) WITHOUT ROWID;
"""
#: columns that came later, in their order
_SINCE = {
    "cache_written": "INTEGER DEFAULT 0",
    "until": "REAL DEFAULT 0",
    "refused_model": "TEXT DEFAULT ''",
    "refused_at": "REAL DEFAULT 0",
    "context": "INTEGER DEFAULT 0",
}
_OF_ATTEMPT = "WHERE batch = ? AND job = ? AND attempt = ?"


@dataclass(slots=True)
class Page:
    """What is known of one attempt. A page is changed and then saved, or discarded and loaded again."""

    key: AttemptKey
    #: where its log ends
    written: int = 0
    usage: Usage = NOTHING
    word: Word = field(default_factory=Word)
    marks: dict[str, Mark] = field(default_factory=dict)


class Books:
    def __init__(self, path: Path) -> None:
        try:
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._db.execute("PRAGMA journal_mode = WAL")
            # A power loss may take the last moments; what they held is read again.
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.executescript(_SCHEMA)
            self._add_columns()
        except sqlite3.DatabaseError as error:
            hint = f"move {path} away to go on: logs are read again from the agents that are still there"
            raise Unreadable(f"{path} can't be read: {error}", hint=hint) from None

    def _add_columns(self) -> None:
        """To books that an older version began."""
        known = {row[1] for row in self._db.execute("PRAGMA table_info(pages)")}
        for column, kind in _SINCE.items():
            if column not in known:
                self._db.execute(f"ALTER TABLE pages ADD COLUMN {column} {kind}")

    @contextmanager
    def saving(self) -> Iterator[None]:
        """A transaction: all changes within it are saved, or none."""
        self._db.execute("BEGIN")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def page(self, key: AttemptKey) -> Page | None:
        found = self._db.execute(f"SELECT * FROM pages {_OF_ATTEMPT}", key).fetchone()
        if found is None:
            return None
        marks = self._db.execute(f"SELECT source, inode, at, skips FROM marks {_OF_ATTEMPT}", key)
        return Page(
            key,
            found[3],
            replace(Usage(*found[4:10]), written=found[12], context=found[16]),
            Word(*found[10:12], *found[13:16]),
            {source: Mark(inode, at, bool(skips)) for source, inode, at, skips in marks},
        )

    def keys(self) -> list[AttemptKey]:
        return [AttemptKey(*row) for row in self._db.execute("SELECT batch, job, attempt FROM pages")]

    def is_new(self, key: AttemptKey, id_: str) -> bool:
        """Whether this was never seen before; it is remembered."""
        return bool(self._db.execute("INSERT OR IGNORE INTO counted VALUES (?, ?, ?, ?)", (*key, id_)).rowcount)

    def count(self, page: Page, counted: Counted) -> None:
        if not counted.id or self.is_new(page.key, counted.id):
            usage = counted.usage
            context = usage.tokens if usage.input or usage.cached else 0
            page.usage = page.usage + replace(usage, context=context)

    def save(self, page: Page, *sources: str) -> None:
        *usage, written, context = astuple(page.usage)
        problem, detail, *rest = astuple(page.word)
        values = (*page.key, page.written, *usage, problem, detail, written, *rest, context)
        self._db.execute(f"INSERT OR REPLACE INTO pages VALUES ({', '.join('?' * 17)})", values)
        rows = [(*page.key, source, *astuple(page.marks[source])) for source in sources]
        self._db.executemany("INSERT OR REPLACE INTO marks VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    def forget(self, key: AttemptKey) -> None:
        """It is over: its log stays, and nothing more is read."""
        with self.saving():
            for table in ("marks", "pages", "counted"):
                self._db.execute(f"DELETE FROM {table} {_OF_ATTEMPT}", key)

    def close(self) -> None:
        self._db.close()
