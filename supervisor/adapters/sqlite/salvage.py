"""Repair, when a person asks for it: what can be read of a damaged journal becomes a new one, which can be replayed.

Every row is looked up by its number, so a damaged page costs the rows on it and no others. An event that does not
fit what is left of its history is left out as well: a daemon could not start with it.
"""

import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from supervisor.adapters.sqlite import codec, unreadable
from supervisor.adapters.sqlite.schema import build, installation_of, place, recognise
from supervisor.adapters.sqlite.thread import transaction
from supervisor.flow.history import apply
from supervisor.model.event import BatchEvent, Event
from supervisor.model.state import State

type Row = tuple[object, ...]

_EVENT = "seq, at, kind, batch, job, attempt, body"
_SEALED = "place, id, created_at, finished_at, status, jobs"


@dataclass(slots=True)
class Salvage:
    """What came of it."""

    #: the damaged journal, as it was
    kept: Path
    installation: str = ""
    #: agents of before can't be recognised: the name of their installation was lost
    renamed: bool = False
    events: int = 0
    sealed: int = 0
    #: one line for each row that could not be saved
    lost: list[str] = field(default_factory=list)


def salvage(path: Path) -> Salvage:
    """Put a new journal in the place of a damaged one, which is kept beside it. Nobody else may use it meanwhile."""
    report = Salvage(kept=_free_name(path))
    with closing(_read_only(path)) as source:
        try:
            recognise(source, path)
        except sqlite3.DatabaseError as error:
            raise unreadable.hopeless(path, error) from error
        with suppress(sqlite3.DatabaseError):
            report.installation = installation_of(source)
        if not report.installation:
            report.installation, report.renamed = secrets.token_hex(6), True
        draft = build(path, report.installation)
        with closing(sqlite3.connect(draft, isolation_level=None)) as target, transaction(target):
            _copy(source, target, report)
    # In this order a power failure leaves what will be refused, and never the journal without its log.
    path.rename(report.kept)
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size:
        log.rename(report.kept.with_name(f"{report.kept.name}-wal"))
    for rest in (log, path.with_name(f"{path.name}-shm")):
        rest.unlink(missing_ok=True)
    place(draft, path)
    return report


def _free_name(path: Path) -> Path:
    number = 1
    while (kept := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    return kept


def _read_only(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None)


def _copy(source: sqlite3.Connection, target: sqlite3.Connection, report: Salvage) -> None:
    sealed = set()
    for row in _rows(source, "sealed", "place", _SEALED, report):
        target.execute(f"INSERT INTO sealed ({_SEALED}) VALUES (?, ?, ?, ?, ?, ?)", row)
        sealed.add(row[1])
        report.sealed += 1
    state = State(installation=report.installation)
    for row in _rows(source, "events", "seq", _EVENT, report):
        try:
            event = codec.decode(str(row[2]), str(row[6]))
            state = _applied(state, event, sealed)
        except Exception as error:  # half a history can fail in any way
            report.lost.append(f"event {row[0]} ({row[2]}): {error}")
            continue
        target.execute(f"INSERT INTO events ({_EVENT}) VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        report.events += 1
    # The numbers of lost events were given out: they are not used again.
    target.execute("DELETE FROM sqlite_sequence WHERE name = 'events'")
    target.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('events', ?)", (_last(source, "events", "seq"),))


def _applied(state: State, event: Event, sealed: set[object]) -> State:
    return state if isinstance(event, BatchEvent) and event.batch in sealed else apply(state, event)


def _rows(source: sqlite3.Connection, table: str, key: str, columns: str, report: Salvage) -> Iterator[Row]:
    for number in range(1, _last(source, table, key) + 1):
        try:
            row = source.execute(f"SELECT {columns} FROM {table} WHERE {key} = ?", (number,)).fetchone()
        except sqlite3.DatabaseError as error:
            report.lost.append(f"{table} {number}: {error}")
        else:
            if row is not None:
                yield row


def _last(source: sqlite3.Connection, table: str, key: str) -> int:
    """The highest number in a table, from wherever it can still be read; else a generous guess."""
    for query in (
        f"SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = '{table}'",
        f"SELECT coalesce(max({key}), 0) FROM {table}",
    ):
        with suppress(sqlite3.DatabaseError):
            return int(source.execute(query).fetchone()[0])
    return int(source.execute("PRAGMA page_count").fetchone()[0]) * 100
