"""Repairs a damaged journal on request: copies what can be read into a new journal that can be replayed.

Every row is looked up by its number, so a damaged page costs only the rows on it. An altered event, or one that does
not fit the rest of its history, is left out as well: a daemon could not start with it. Events that were acknowledged,
according to the mark, but are missing are reported; and the new journal records that it is incomplete.
"""

import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from supervisor.adapters.sqlite import codec, mark, unreadable
from supervisor.adapters.sqlite.appending import insert
from supervisor.adapters.sqlite.inspecting import Found, add_up, copied, has_digest_column, read_only
from supervisor.adapters.sqlite.mark import Mark
from supervisor.adapters.sqlite.schema import build, connect, installation_of, place, recognise
from supervisor.adapters.sqlite.tally import event_digest, sealed_digest, total
from supervisor.adapters.sqlite.thread import transaction
from supervisor.flow.history import apply
from supervisor.model.event import BatchEvent, Event, OlderStateAccepted
from supervisor.model.state import State

type Row = tuple[object, ...]

_EVENT = "seq, at, kind, batch, job, attempt, body"
_SEALED = "place, id, created_at, finished_at, status, jobs"


@dataclass(slots=True)
class Salvage:
    """The result of a repair."""

    #: the damaged journal, unchanged
    kept: Path
    installation: str = ""
    #: earlier agents can't be recognised: the name of their installation was lost
    renamed: bool = False
    events: int = 0
    sealed: int = 0
    #: one line for each row that could not be saved
    lost: list[str] = field(default_factory=list)


def salvage(path: Path) -> Salvage:
    """Replace a damaged journal with a new one and keep the old one beside it. Nobody else may use it meanwhile."""
    report, marked = Salvage(kept=_free_name(path)), mark.read(mark.place_of(path))
    if not path.exists():
        raise unreadable.hopeless(path, "it is not there")
    with copied(path) as copy, closing(read_only(copy)) as source:
        try:
            recognise(source, path)
        except sqlite3.DatabaseError as error:
            raise unreadable.hopeless(path, error) from error
        report.installation = marked.installation if marked else ""
        with suppress(sqlite3.DatabaseError):
            report.installation = installation_of(source) or report.installation
        if not report.installation:
            report.installation, report.renamed = secrets.token_hex(6), True
        draft = build(path, report.installation)
        with closing(connect(draft)) as target:
            with transaction(target):
                last = _copy(source, target, report)
            new = _closed(target, draft, report, last, marked)
    # In this order a power failure leaves files that will be refused, and never the journal without its log.
    path.rename(report.kept)
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size:
        log.rename(report.kept.with_name(f"{report.kept.name}-wal"))
    for rest in (log, path.with_name(f"{path.name}-shm")):
        rest.unlink(missing_ok=True)
    place(draft, path)
    mark.create(mark.place_of(path), new)
    return report


def _closed(target: sqlite3.Connection, draft: Path, report: Salvage, last: int, marked: Mark | None) -> Mark:
    """Finish the new journal. The numbers of lost events are not reused; if any were lost, an event records it."""
    found = add_up(target, draft, report.installation, marked)
    acknowledged = marked.seq if marked else 0
    report.lost += _missing(found, last, marked, is_told=bool(report.lost))
    last, tallies = max(last, acknowledged), found.tallies
    with transaction(target):
        target.execute("DELETE FROM sqlite_sequence WHERE name = 'events'")
        target.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('events', ?)", (last,))
        if report.lost:
            event = OlderStateAccepted(time.time(), last=found.last, acknowledged=acknowledged, salvaged=True)
            tallies, last = insert(target, last, [event], tallies), last + 1
    return Mark(report.installation, last, total(tallies))


def _missing(found: Found, last: int, marked: Mark | None, *, is_told: bool) -> list[str]:
    """What is missing according to the mark; rows that could not be saved are reported already."""
    if marked is None:
        return []
    if last < marked.seq:
        return [f"events {last + 1} to {marked.seq}: they were acknowledged, and are not there"]
    if found.at_mark != marked.tally and not is_told:
        return [f"some event up to {marked.seq}: what was saved is not all that was acknowledged, or not as it was"]
    return []


def _free_name(path: Path) -> Path:
    number = 1
    while (kept := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    return kept


def _copy(source: sqlite3.Connection, target: sqlite3.Connection, report: Salvage) -> int:
    """Copy all readable rows. Returns the number of the last event, as far as it can be determined here."""
    sealed, state = set(), State(installation=report.installation)
    has_digests = _has_digests(source)
    for *row, digest in _rows(source, "sealed", "place", has_digests, report):
        if digest not in (None, sealed_digest(*row[1:])):
            report.lost.append(f"the summary of batch {row[1]}: it is not as it was written")
            continue
        target.execute(
            f"INSERT INTO sealed ({_SEALED}, digest) VALUES (?, ?, ?, ?, ?, ?, ?)", (*row, sealed_digest(*row[1:]))
        )
        sealed.add(row[1])
        report.sealed += 1
    for *row, digest in _rows(source, "events", "seq", has_digests, report):
        try:
            event = codec.decode(str(row[2]), str(row[6]))
            if digest not in (None, event_digest(*row)):
                raise ValueError("it is not as it was written")
            state = _applied(state, event, sealed)
        except Exception as error:  # an incomplete history can fail in any way
            report.lost.append(f"event {row[0]} ({row[2]}): {error}")
            continue
        target.execute(
            f"INSERT INTO events ({_EVENT}, digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (*row, event_digest(*row))
        )
        report.events += 1
    return _last(source, "events", "seq")


def _has_digests(source: sqlite3.Connection) -> bool:
    try:
        return has_digest_column(source)
    except sqlite3.DatabaseError:
        return False


def _applied(state: State, event: Event, sealed: set[object]) -> State:
    return state if isinstance(event, BatchEvent) and event.batch in sealed else apply(state, event)


def _rows(source: sqlite3.Connection, table: str, key: str, has_digests: bool, report: Salvage) -> Iterator[Row]:
    columns = f"{_EVENT if table == 'events' else _SEALED}, {'digest' if has_digests else 'NULL'}"
    for number in range(1, _last(source, table, key) + 1):
        try:
            row = source.execute(f"SELECT {columns} FROM {table} WHERE {key} = ?", (number,)).fetchone()
        except sqlite3.DatabaseError as error:
            report.lost.append(f"{table} {number}: {error}")
        else:
            if row is not None:
                yield row


def _last(source: sqlite3.Connection, table: str, key: str) -> int:
    """The highest number in a table, from any place where it can be read; else a generous estimate."""
    for query in (
        f"SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = '{table}'",
        f"SELECT coalesce(max({key}), 0) FROM {table}",
    ):
        with suppress(sqlite3.DatabaseError):
            return int(source.execute(query).fetchone()[0])
    return int(source.execute("PRAGMA page_count").fetchone()[0]) * 100
