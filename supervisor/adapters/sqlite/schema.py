"""Opens the database: creates it atomically, recognises it and migrates it; never starts over.

A new journal is built beside its final path and moved there when it is complete and synced. So a file at that path,
however short, was a journal once, and whatever is wrong with it is damage.

Whether it is intact is checked before, on a copy: see `inspecting`. A small file is checked page by page there.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

from supervisor.adapters.sqlite import codec, unreadable
from supervisor.adapters.sqlite.mark import sync_folder
from supervisor.adapters.sqlite.tally import know_digests
from supervisor.adapters.sqlite.thread import undone_on_error
from supervisor.model.event import Event

APPLICATION_ID = 0x61677376  # "agsv"
MIGRATIONS = tuple(sorted(Path(__file__).with_name("migrations").glob("*.sql")))

#: A write fails if another process, such as a backup, holds the database for longer.
BUSY_SECONDS = 30.0
#: The write-ahead log is truncated to this size once its content is in the database.
LOG_BYTES = 16 << 20
CHECKED_BYTES = 64 << 20
#: The first schema with digests in its rows and a mark beside the journal.
DIGESTS_SINCE = 3


def connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    know_digests(connection)
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"PRAGMA journal_size_limit = {LOG_BYTES}")
    return connection


def open_database(path: Path) -> sqlite3.Connection:
    """A connection to a journal that was found intact; the journal is migrated first."""
    with unreadable.damage_found(path):
        connection = connect(path)
        try:
            leave_as_it_is(connection)
            _migrate(connection)
            connection.execute("PRAGMA journal_mode = WAL")
        except BaseException:
            connection.close()
            raise
        return connection


def leave_as_it_is(connection: sqlite3.Connection, *, is_left: bool = True) -> None:
    """Closing the connection does not move the log into the database."""
    connection.setconfig(sqlite3.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, is_left)


def build(path: Path, installation: str) -> Path:
    """A new journal beside this path: closed, synced, and ready for `place`."""
    draft = path.with_name(f"{path.name}.new")
    for rest in (draft, path.with_name(f"{draft.name}-journal")):
        rest.unlink(missing_ok=True)
    with closing(connect(draft)) as connection:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        _migrate(connection)
        connection.execute("INSERT INTO meta VALUES ('installation', ?)", (installation,))
    return draft


def place(draft: Path, path: Path) -> None:
    """Move the draft to its path durably, even if the power fails."""
    draft.rename(path)
    sync_folder(path.parent)


def recognise(connection: sqlite3.Connection, path: Path) -> None:
    if pragma(connection, "application_id") != APPLICATION_ID:
        raise unreadable.foreign(path)
    if (version := pragma(connection, "user_version")) > len(MIGRATIONS):
        raise unreadable.newer(path, f"its schema is {version}, this version knows up to {len(MIGRATIONS)}")


def installation_of(connection: sqlite3.Connection) -> str:
    found = connection.execute("SELECT value FROM meta WHERE key = 'installation'").fetchone()
    return str(found[0]) if found else ""


def last_of(connection: sqlite3.Connection) -> int:
    """The number of the last event, even if that event was forgotten."""
    last: int = connection.execute(
        "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'events'"
    ).fetchone()[0]
    return last


def decoded(path: Path, seq: int, kind: str, body: str) -> Event:
    try:
        return codec.decode(kind, body)
    except codec.UnknownKind as error:
        raise unreadable.newer(path, str(error)) from error
    except codec.Undecodable as error:
        raise unreadable.damaged(path, f"event {seq} ({kind}): {error}") from error


def _migrate(connection: sqlite3.Connection) -> None:
    for version, script in enumerate(MIGRATIONS, start=1):
        if version > pragma(connection, "user_version"):
            upgrade = f"BEGIN IMMEDIATE; {script.read_text()}; PRAGMA user_version = {version}; COMMIT"
            with undone_on_error(connection):
                connection.executescript(upgrade)


def pragma(connection: sqlite3.Connection, name: str) -> int:
    value: int = connection.execute(f"PRAGMA {name}").fetchone()[0]
    return value
