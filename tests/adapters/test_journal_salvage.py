"""Salvage makes a journal that a daemon can start with of what can be read, and keeps the damaged one."""

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from functools import reduce
from pathlib import Path

import pytest

from supervisor.adapters.sqlite.journal import open_journal
from supervisor.adapters.sqlite.mark import place_of
from supervisor.adapters.sqlite.salvage import salvage
from supervisor.errors import Unreadable
from supervisor.flow.history import apply
from supervisor.model import event as ev
from supervisor.model.state import State
from supervisor.ports import Record
from tests.adapters.story import everything, seals


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.sqlite3"


def write(path: Path, events: Sequence[ev.Event], *, seal: bool = False) -> str:
    journal = open_journal(path)
    asyncio.run(journal.append(events, seals(events) if seal else ()))
    asyncio.run(journal.close())
    return journal.installation


def replay(path: Path) -> tuple[str, list[Record]]:
    journal = open_journal(path)
    try:
        return journal.installation, list(journal.replay())
    finally:
        asyncio.run(journal.close())


def run_sql(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def pages_of(path: Path, table: str) -> list[int]:
    """Where the pages that hold a table's rows begin."""
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT pgoffset FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY pageno"
        return [offset for (offset,) in connection.execute(query, (table,))]


def spoil(path: Path, offset: int) -> None:
    content = bytearray(path.read_bytes())
    content[offset : offset + 4096] = b"\xa5" * 4096
    path.write_bytes(content)


def test_of_a_healthy_journal_nothing_is_lost(path: Path) -> None:
    installation = write(path, everything("0" * 12), seal=True)
    before = replay(path)
    report = salvage(path)
    assert (report.lost, report.renamed) == ([], False)
    assert (report.events, report.sealed) == (len(everything("0" * 12)), len(seals(everything("0" * 12))))
    assert replay(path) == before
    assert before[0] == installation


def test_a_garbled_event_is_left_out_and_named_and_its_number_stays_free(path: Path) -> None:
    write(path, [ev.QueuePaused(1.0), ev.QueueResumed(2.0), ev.QueuePaused(3.0), ev.QueueResumed(4.0)])
    for seq in (2, 4):
        run_sql(path, f"UPDATE events SET body = 'garbage' WHERE seq = {seq}")
    report = salvage(path)
    assert [line.split(":")[0] for line in report.lost] == ["event 2 (queue-resumed)", "event 4 (queue-resumed)"]
    found = replay(path)[1]
    assert [record.seq for record in found] == [1, 3, 5]
    assert found[-1].event == ev.OlderStateAccepted(found[-1].event.at, last=3, acknowledged=4, salvaged=True)
    write(path, [ev.QueueResumed(5.0)])
    assert [record.seq for record in replay(path)[1]] == [1, 3, 5, 6]


def test_a_damaged_page_costs_the_events_on_it_and_the_rest_can_be_replayed(path: Path) -> None:
    installation = write(path, everything("0" * 12))
    leaves = pages_of(path, "events")
    spoil(path, leaves[len(leaves) // 2])
    damaged = path.read_bytes()
    with pytest.raises(Unreadable):
        open_journal(path)
    report = salvage(path)
    assert report.kept.read_bytes() == damaged
    assert report.lost
    found, records = replay(path)
    assert found == installation
    assert len(records) - 1 == report.events == len(everything("0" * 12)) - len(report.lost)
    reduce(apply, (record.event for record in records), State(installation=found))


def test_events_that_no_longer_make_sense_are_left_out(path: Path) -> None:
    """Without its submission, nothing that happened to a batch can be replayed."""
    events = everything("0" * 12)
    write(path, events)
    run_sql(path, "DELETE FROM events WHERE kind = 'batch-submitted' AND batch = 'first'")
    report = salvage(path)
    events = [record.event for record in replay(path)[1]]
    found = {event.batch for event in events if isinstance(event, ev.BatchEvent)}
    assert found == {"second", "third", "fourth", "fifth"}
    assert any("which is not open" in line for line in report.lost)


def test_the_name_of_the_installation_is_in_its_mark_too(path: Path) -> None:
    installation = write(path, [ev.QueuePaused(1.0)])
    run_sql(path, "DELETE FROM meta")
    assert not salvage(path).renamed
    assert replay(path)[0] == installation


def test_a_lost_name_of_the_installation_is_told(path: Path) -> None:
    installation = write(path, [ev.QueuePaused(1.0)])
    run_sql(path, "DELETE FROM meta")
    place_of(path).unlink()
    with pytest.raises(Unreadable, match="installation"):
        open_journal(path)
    report = salvage(path)
    assert report.renamed
    assert replay(path)[0] == report.installation != installation


def test_the_log_that_a_killed_daemon_left_is_read_too_and_kept(path: Path, tmp_path: Path) -> None:
    journal = open_journal(path)
    asyncio.run(journal.append([ev.QueuePaused(1.0)]))
    found = tmp_path / "found" / "journal.sqlite3"
    found.parent.mkdir()
    for name in (path.name, f"{path.name}-wal", place_of(path).name):
        found.with_name(name).write_bytes(path.with_name(name).read_bytes())
    asyncio.run(journal.close())
    report = salvage(found)
    kept = {report.kept.name, f"{report.kept.name}-wal"}
    assert {each.name for each in found.parent.iterdir()} == {found.name, place_of(found).name} | kept
    assert [record.event for record in replay(found)[1]] == [ev.QueuePaused(1.0)]


def test_what_was_acknowledged_and_is_not_there_is_told_by_number(path: Path) -> None:
    write(path, [ev.QueuePaused(1.0), ev.QueueResumed(2.0)])
    older = path.read_bytes()
    write(path, [ev.QueuePaused(3.0), ev.QueueResumed(4.0), ev.QueuePaused(5.0)])
    path.write_bytes(older)
    report = salvage(path)
    assert report.lost == ["events 3 to 5: they were acknowledged, and are not there"]
    assert [record.seq for record in replay(path)[1]] == [1, 2, 6]


def test_salvaging_twice_keeps_both_old_journals(path: Path) -> None:
    write(path, [ev.QueuePaused(1.0)])
    assert salvage(path).kept != salvage(path).kept
    assert len(list(path.parent.glob("*.damaged-*"))) == 2


@pytest.mark.parametrize("content", [b"", b"not a database " * 1000])
def test_where_nothing_can_be_read_the_file_stays(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(Unreadable) as refused:
        salvage(path)
    assert "--salvage" not in refused.value.hint
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    assert path.read_bytes() == content


def test_a_newer_journal_is_not_salvaged(path: Path) -> None:
    write(path, [ev.QueuePaused(1.0)])
    run_sql(path, "PRAGMA user_version = 99")
    with pytest.raises(Unreadable, match="newer version"):
        salvage(path)
    assert not list(path.parent.glob("*.damaged-*"))
