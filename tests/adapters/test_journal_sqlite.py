"""What the journal on disk promises beyond the port: it lasts, it is quick to answer, it says when it can't go on."""

import asyncio
import json
import resource
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path

import pytest

from supervisor.adapters.sqlite.journal import SqliteJournal, open_journal
from supervisor.adapters.sqlite.tally import event_digest
from supervisor.errors import DeviceFailed
from supervisor.model import event as ev
from supervisor.model.ledger import Fate, LedgerRow
from supervisor.ports import SealedBatch
from tests.adapters.story import everything
from tests.waiting import until


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[SqliteJournal]:
    journal = open_journal(path)
    try:
        yield journal
    finally:
        await journal.close()


def ended(job: int, detail: str = "") -> ev.JobEnded:
    return ev.JobEnded(2.0, "aaa", job, outcome="clean", detail=detail)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.sqlite3"


async def written(path: Path, count: int = 300) -> None:
    async with opened(path) as journal:
        await journal.append([ended(job, "x" * 100) for job in range(1, count + 1)])


# --- it lasts


async def test_what_was_appended_is_there_when_it_is_opened_again(path: Path) -> None:
    events = everything("0" * 12)
    async with opened(path) as journal:
        await journal.append(events)
        before, installation = list(journal.replay()), journal.installation
    async with opened(path) as journal:
        assert list(journal.replay()) == before
        assert journal.installation == installation


async def test_forgetting_takes_the_events_of_old_sealed_batches_only(path: Path) -> None:
    def of(batch: str) -> list[ev.Event]:
        return [ev.JobEnded(1.0, batch, job, outcome="clean") for job in range(1, 1501)]

    async with opened(path) as journal:
        for batch, finished_at in (("old", 100.0), ("new", 200.0)):
            await journal.append(of(batch), [SealedBatch(batch, 1.0, finished_at, "{}", "[]")])
        last = await journal.append(of("open"))
        assert await journal.forget(before=150.0) == 1500
        assert await journal.read(batch="old") == []
        assert len(await journal.read(batch="new", limit=9999)) == 1500
        assert [each.id for each in await journal.sealed()] == ["new", "old"]
        assert len(list(journal.replay())) == 1500
        assert await journal.append([ended(1)]) == last + 1


async def test_a_number_is_never_used_twice(path: Path) -> None:
    """Who follows the events by number misses none, also when the last of them were forgotten."""
    async with opened(path) as journal:
        await journal.append([ended(1), ended(2)], [SealedBatch("aaa", 1.0, 1.0, "{}", "[]")])
        assert await journal.forget(before=2.0) == 2
    async with opened(path) as journal:
        assert await journal.append([ev.QueuePaused(1.0)]) == 3


# --- it keeps nobody waiting


async def test_a_reader_in_the_middle_of_its_reading_does_not_delay_an_append(path: Path) -> None:
    await written(path)
    async with opened(path) as journal:
        replaying = journal.replay()
        next(replaying)
        assert await journal.append([ended(1)]) == 301
        assert len(list(replaying)) == 299


async def test_the_event_loop_goes_on_while_an_append_waits_for_the_disk(path: Path) -> None:
    async with opened(path) as journal:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        append = asyncio.create_task(journal.append([ended(1)]))
        assert await journal.read() == []
        assert not append.done()
        other.execute("ROLLBACK")
        other.close()
        await until("the append is answered", append.done)
        assert await append == 1


# --- events as JSON


async def test_unknown_fields_are_passed_over_and_missing_ones_get_their_defaults(path: Path) -> None:
    body = {"at": 1.0, "batch": "aaa", "job": 1, "outcome": "clean", "mood": "good"}
    async with opened(path):
        with closing(sqlite3.connect(path)) as other, other:
            row = (1, 1.0, "job-ended", None, None, None, json.dumps(body))
            other.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (*row, event_digest(*row)))
    async with opened(path) as journal:
        assert [record.event for record in journal.replay()] == [
            ev.JobEnded(1.0, "aaa", 1, outcome="clean", detail="")
        ]


async def test_a_ledger_keeps_its_numbers(path: Path) -> None:
    integrated = ev.IntegrationEnded(1.0, "aaa", 1, {12: LedgerRow(Fate.MERGED, "", ("c1", "c2"))}, branch="b")
    async with opened(path) as journal:
        await journal.append([integrated])
        (record,) = journal.replay()
    assert record.event == integrated


async def test_half_characters_do_not_stop_the_journal(path: Path) -> None:
    """File names and agents can hold them; UTF-8 can't."""
    async with opened(path) as journal:
        await journal.append([ended(1, "name\ud800\x00\x1b")])
        (record,) = journal.replay()
    assert record.event == ended(1, "name\\ud800\x00\x1b")


async def test_what_could_not_be_read_again_is_not_written(path: Path) -> None:
    async with opened(path) as journal:
        with pytest.raises(Exception, match="Expected `float`"):
            await journal.append([ended(1), ev.WindowOpened(1.0, "aaa", until=float("inf"))])
        assert list(journal.replay()) == []
        assert await journal.append([ended(1)]) == 1


# --- the disk is full


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def test_a_full_disk_is_said_and_loses_nothing_that_was_acknowledged(path: Path) -> None:
    async with opened(path) as journal:
        acknowledged = await journal.append([ended(1)])
        with largest_file(64 << 10):
            with pytest.raises(DeviceFailed, match="can't be written") as failed:
                await journal.append([ended(job, "x" * 1000) for job in range(100)])
            assert "room" in failed.value.hint
            assert [record.seq for record in await journal.read()] == [acknowledged]
        assert await journal.append([ended(2)]) == acknowledged + 1
    async with opened(path) as journal:
        assert [record.event for record in journal.replay()] == [ended(1), ended(2)]
