"""What every journal promises: one suite, on the memory device and on SQLite."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from supervisor.adapters.memory_journal import MemoryJournal
from supervisor.adapters.sqlite.journal import open_journal
from supervisor.model import event as ev
from supervisor.ports import Journal, SealedBatch
from tests.adapters.story import everything, seals

type Opened = Callable[[], AbstractAsyncContextManager[Journal]]


@pytest.fixture(params=["memory", "sqlite"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    @asynccontextmanager
    async def open_it() -> AsyncIterator[Journal]:
        journal: Journal = (
            MemoryJournal() if request.param == "memory" else open_journal(tmp_path / "journal.sqlite3")
        )
        try:
            yield journal
        finally:
            await journal.close()

    return open_it


def submitted(batch: str) -> ev.BatchSubmitted:
    return ev.BatchSubmitted(1.0, batch, repo="/srv/shop", base="b" * 40, tests=("test_a.py::test_one",))


def ended(batch: str, job: int) -> ev.JobEnded:
    return ev.JobEnded(2.0, batch, job, outcome="clean")


def sealed(batch: str, status: str = "{}") -> SealedBatch:
    return SealedBatch(batch, created_at=1.0, finished_at=2.0, status=status, jobs="[]")


async def test_events_come_back_as_they_were_in_order_and_numbered(opened: Opened) -> None:
    """Every kind of event."""
    events = everything("0" * 12)
    async with opened() as journal:
        assert await journal.append(events[:50]) == 50
        assert await journal.append(events[50:]) == len(events)
        records = list(journal.replay())
    assert [record.event for record in records] == events
    assert [record.seq for record in records] == list(range(1, len(events) + 1))


async def test_a_sealed_batch_leaves_replay_and_stays_readable(opened: Opened) -> None:
    async with opened() as journal:
        await journal.append(
            [submitted("aaa"), submitted("bbb"), ev.QueuePaused(1.0), ended("aaa", 1), ended("bbb", 1)]
        )
        await journal.append([ev.BatchSealed(3.0, "aaa")], [sealed("aaa", '{"state": "finished"}')])
        assert [record.seq for record in journal.replay()] == [2, 3, 5]
        assert [record.seq for record in await journal.read(batch="aaa")] == [1, 4, 6]
        assert await journal.sealed_batch("aaa") == sealed("aaa", '{"state": "finished"}')
        assert await journal.sealed_batch("bbb") is None


async def test_sealed_batches_are_listed_newest_first_and_found_by_the_start_of_their_id(opened: Opened) -> None:
    ids = ["k3f9x", "k3a00", "z1", "k%"]
    async with opened() as journal:
        for batch in ids:
            await journal.append([ev.BatchSealed(3.0, batch)], [sealed(batch)])
        assert [each.id for each in await journal.sealed()] == ids[::-1]
        assert [each.id for each in await journal.sealed(limit=2)] == ["k%", "z1"]
        assert await journal.sealed_ids("k3") == ["k3a00", "k3f9x"]
        assert await journal.sealed_ids("k", limit=2) == ["k%", "k3a00"]
        assert await journal.sealed_ids("%") == []


async def test_events_are_read_by_batch_by_job_after_a_number_and_from_the_end(opened: Opened) -> None:
    async with opened() as journal:
        await journal.append([submitted("aaa"), ended("aaa", 1), ended("aaa", 2), ended("bbb", 2), ended("aaa", 1)])

        async def read(
            after: int = 0, *, limit: int = 9, batch: str = "", job: int | None = None, newest: bool = False
        ) -> list[int]:
            records = await journal.read(after, limit=limit, batch=batch, job=job, newest=newest)
            return [record.seq for record in records]

        assert await read() == [1, 2, 3, 4, 5]
        assert await read(3) == [4, 5]
        assert await read(5) == []
        assert await read(limit=2) == [1, 2]
        assert await read(limit=2, newest=True) == [4, 5]
        assert await read(4, limit=2, newest=True) == [5]
        assert await read(batch="aaa") == [1, 2, 3, 5]
        assert await read(batch="aaa", job=1) == [2, 5]
        assert await read(batch="aaa", newest=True, limit=1) == [5]
        assert await read(batch="nobody") == []
        await journal.append([ended("aaa", 0)])
        assert await read(batch="aaa", job=0) == [6]


async def test_appends_at_once_are_all_written_each_in_one_piece(opened: Opened) -> None:
    async with opened() as journal:
        numbers = await asyncio.gather(
            *(journal.append([ended("aaa", job), ended("bbb", job)]) for job in range(1, 50))
        )
        records = await journal.read()
        pairs = {record.seq: record.event for record in records}
        for job, last in enumerate(numbers, start=1):
            assert (pairs[last - 1], pairs[last]) == (ended("aaa", job), ended("bbb", job))


async def test_appending_nothing_answers_the_last_number(opened: Opened) -> None:
    async with opened() as journal:
        assert await journal.append([]) == 0
        await journal.append([submitted("aaa"), submitted("bbb")])
        assert await journal.append([]) == 2


async def test_an_installation_has_a_name_of_its_own(opened: Opened) -> None:
    async with opened() as journal:
        assert len(journal.installation) == 12
        assert int(journal.installation, 16) >= 0


async def test_the_whole_story_can_be_sealed_and_replayed(opened: Opened) -> None:
    events = everything("0" * 12)
    async with opened() as journal:
        await journal.append(events, seals(events))
        replayed = [record.event for record in journal.replay()]
        assert {event.batch for event in replayed if isinstance(event, ev.BatchEvent)} == {"third"}
        assert any(isinstance(event, ev.CommitsReviewed) for event in replayed), "a sealed batch is reviewed still"
