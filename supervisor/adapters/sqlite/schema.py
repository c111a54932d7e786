"""Opening the database: made whole or not at all, checked, brought up to date; never started over.

A new journal is built beside its place and moved there when it is complete and synced. So a file that is found there,
however short, was a journal once, and whatever is wrong with it is damage.

How much is checked does not grow with the journal. SQLite itself compares the file's length with its header. A small
file is then checked page by page; of a large one, the newest events are read, whose pages were the last to be
written. Replay reads every event that today's state is made of, and finds what is wrong with those.
"""

import os
import secrets
import sqlite3
from contextlib import closing
from pathlib import Path

from supervisor.adapters.sqlite import codec, unreadable
from supervisor.adapters.sqlite.thread import undone_on_error
from supervisor.model.event import Event

APPLICATION_ID = 0x61677376  # "agsv"
MIGRATIONS = tuple(sorted(Path(__file__).with_name("migrations").glob("*.sql")))

#: Whoever else holds the database, such as a backup, has this long before a write fails.
BUSY_SECONDS = 30.0
#: The write-ahead log is cut back to this once its content is in the database.
LOG_BYTES = 16 << 20
CHECKED_BYTES, CHECKED_EVENTS = 64 << 20, 500


def connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"PRAGMA journal_size_limit = {LOG_BYTES}")
    return connection


def open_database(path: Path) -> sqlite3.Connection:
    """A connection to the journal at this path, made now if there is none; Unreadable when it can't be trusted."""
    with unreadable.damage_found(path):
        if not path.exists():
            _create(path)
        elif path.stat().st_size == 0:  # SQLite would take it for a new one
            raise unreadable.damaged(path, "it is empty")
        connection = connect(path)
        try:
            recognise(connection, path)
            _check(connection, path)
            _migrate(connection)
            if not installation_of(connection):
                raise unreadable.damaged(path, "the name of its installation is missing")
            connection.execute("PRAGMA journal_mode = WAL")
        except BaseException:
            connection.close()
            raise
        return connection


def _create(path: Path) -> None:
    if remains := [
        each.name
        for each in path.parent.iterdir()
        if each.name.startswith((f"{path.name}-wal", f"{path.name}.damaged"))
    ]:
        raise unreadable.missing(path, ", ".join(sorted(remains)))
    place(build(path, secrets.token_hex(6)), path)


def build(path: Path, installation: str) -> Path:
    """A new journal beside this path: closed, synced, and still to be put in its place."""
    draft = path.with_name(f"{path.name}.new")
    for rest in (draft, path.with_name(f"{draft.name}-journal")):
        rest.unlink(missing_ok=True)
    with closing(connect(draft)) as connection:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        _migrate(connection)
        connection.execute("INSERT INTO meta VALUES ('installation', ?)", (installation,))
    return draft


def place(draft: Path, path: Path) -> None:
    """Move it there so that it stays, also when the power fails."""
    draft.rename(path)
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def recognise(connection: sqlite3.Connection, path: Path) -> None:
    if _pragma(connection, "application_id") != APPLICATION_ID:
        raise unreadable.foreign(path)
    if (version := _pragma(connection, "user_version")) > len(MIGRATIONS):
        raise unreadable.newer(path, f"its schema is {version}, this version knows up to {len(MIGRATIONS)}")


def installation_of(connection: sqlite3.Connection) -> str:
    found = connection.execute("SELECT value FROM meta WHERE key = 'installation'").fetchone()
    return str(found[0]) if found else ""


def _check(connection: sqlite3.Connection, path: Path) -> None:
    if path.stat().st_size <= CHECKED_BYTES:
        if (found := connection.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            raise unreadable.damaged(path, " ".join(found.split()))
        return
    for seq, kind, body in connection.execute(
        "SELECT seq, kind, body FROM events ORDER BY seq DESC LIMIT ?", (CHECKED_EVENTS,)
    ):
        decoded(path, seq, kind, body)


def decoded(path: Path, seq: int, kind: str, body: str) -> Event:
    try:
        return codec.decode(kind, body)
    except codec.UnknownKind as error:
        raise unreadable.newer(path, str(error)) from error
    except codec.Undecodable as error:
        raise unreadable.damaged(path, f"event {seq} ({kind}): {error}") from error


def _migrate(connection: sqlite3.Connection) -> None:
    for version, script in enumerate(MIGRATIONS, start=1):
        if version > _pragma(connection, "user_version"):
            upgrade = f"BEGIN IMMEDIATE; {script.read_text()}; PRAGMA user_version = {version}; COMMIT"
            with undone_on_error(connection):
                connection.executescript(upgrade)


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    value: int = connection.execute(f"PRAGMA {name}").fetchone()[0]
    return value
