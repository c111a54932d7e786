"""Power loss and kill -9: what was acknowledged is there afterwards, all of it, once and in order."""

import asyncio
import random
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supervisor.adapters.sqlite.journal import open_journal
from supervisor.adapters.sqlite.mark import place_of
from supervisor.adapters.sqlite.schema import open_database
from supervisor.errors import Unreadable
from supervisor.model import event as ev
from tests.properties import ROUNDS, examples

PAGE, LOG_HEADER, FRAME_HEADER = 4096, 32, 24


@dataclass(frozen=True, slots=True)
class Disk:
    """What was on disk after some appends, each acknowledged; `log` only ever grew meanwhile."""

    database: bytes
    log: bytes
    #: the database after the log was copied into it
    checkpointed: bytes
    #: how long the log was at each acknowledgement, how many events were acknowledged by then, and the mark of that
    acknowledged: tuple[tuple[int, int, bytes], ...]

    def promised(self, length: int) -> list[int]:
        """The jobs whose events were acknowledged when the log had that length."""
        return list(range(1, 1 + max(count for grown, count, _ in self.acknowledged if grown <= length)))

    def mark(self, length: int) -> bytes:
        return max((count, mark) for grown, count, mark in self.acknowledged if grown <= length)[1]

    @property
    def frames(self) -> range:
        """Where each frame of the log begins, and where the last one ends."""
        return range(LOG_HEADER, len(self.log) + 1, FRAME_HEADER + PAGE)


@cache
def disk() -> Disk:
    with tempfile.TemporaryDirectory() as place:
        return _written(Path(place) / "journal.sqlite3")


def _written(path: Path) -> Disk:
    journal = open_journal(path)
    log, database, mark = path.with_name(f"{path.name}-wal"), path.read_bytes(), place_of(path)
    acknowledged = [(0, 0, mark.read_bytes())]
    for count in (1, 1, 40, 1, 3, 100, 1):
        first = acknowledged[-1][1] + 1
        events = [ev.JobEnded(1.0, "aaa", job, "clean", "x" * 150) for job in range(first, first + count)]
        last = asyncio.run(journal.append(events))
        acknowledged.append((log.stat().st_size, last, mark.read_bytes()))
    assert path.read_bytes() == database
    whole = log.read_bytes()
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA wal_checkpoint")
        checkpointed = path.read_bytes()
    asyncio.run(journal.close())
    return Disk(database, whole, checkpointed, tuple(acknowledged))


def jobs_after_power_loss(database: bytes, log: bytes, mark: bytes) -> list[int]:
    """What a daemon finds that is started on these files: the jobs that replay tells of, in order."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "journal.sqlite3"
        path.write_bytes(database)
        path.with_name(f"{path.name}-wal").write_bytes(log)
        place_of(path).write_bytes(mark)
        return replayed(path)


def replayed(path: Path) -> list[int]:
    journal = open_journal(path)
    try:
        return [record.event.job for record in journal.replay() if isinstance(record.event, ev.JobEnded)]
    finally:
        asyncio.run(journal.close())


def test_an_append_waits_until_the_log_is_synced(tmp_path: Path) -> None:
    """Files can be cut here, caches not: so the settings that a power loss relies on are looked at."""
    with closing(open_database(tmp_path / "journal.sqlite3")) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,), "2 is FULL"


@pytest.mark.parametrize("beside", [-1, 0, 1, FRAME_HEADER])
def test_a_log_cut_at_any_frame_holds_all_that_was_acknowledged(beside: int) -> None:
    for frame in disk().frames:
        length = min(max(frame + beside, 0), len(disk().log))
        found = jobs_after_power_loss(disk().database, disk().log[:length], disk().mark(length))
        assert found == disk().promised(length)


@given(st.data())
@settings(max_examples=examples(1 / 2))
def test_a_torn_log_holds_all_that_was_acknowledged(data: st.DataObject) -> None:
    """Cut at any byte, and what was written after it, unsynced, is anything: nothing, zeros, garbage."""
    length = data.draw(st.integers(0, len(disk().log)))
    torn = data.draw(st.binary(max_size=64)) * data.draw(st.integers(0, 200))
    found = jobs_after_power_loss(disk().database, disk().log[:length] + torn, disk().mark(length))
    assert found[: len(disk().promised(length))] == disk().promised(length)
    assert found in [disk().promised(grown) for grown, *_ in disk().acknowledged]


@given(st.data())
@settings(max_examples=examples(1 / 2))
def test_a_checkpoint_cut_short_loses_nothing(data: st.DataObject) -> None:
    """While the log is copied into the database, the database may be half old, half new, half written."""
    before, after = disk().database, disk().checkpointed
    length = data.draw(st.integers(0, len(after)))
    mixed = after[:length] + before[length:]
    whole = len(disk().log)
    assert jobs_after_power_loss(mixed, disk().log, disk().mark(whole)) == disk().promised(whole)


@given(st.data())
@settings(max_examples=examples(1 / 2))
def test_a_mark_that_was_cut_short_is_the_one_before_or_the_one_after(data: st.DataObject) -> None:
    """The last append is on disk, and its mark was being written: whatever became of that, all is there."""
    (_, _, before), (_, _, after) = disk().acknowledged[-2:]
    length = data.draw(st.integers(0, len(after)))
    torn = after[:length] + before[length:]
    assert jobs_after_power_loss(disk().database, disk().log, torn) == disk().promised(len(disk().log))


def test_a_log_without_what_was_acknowledged_is_refused_wherever_it_was_cut() -> None:
    whole = len(disk().log)
    for length in [frame for frame in disk().frames if disk().promised(frame) != disk().promised(whole)]:
        with pytest.raises(Unreadable, match="were acknowledged"):
            jobs_after_power_loss(disk().database, disk().log[:length], disk().mark(whole))


APPENDING = """
import asyncio, pathlib, sys
from supervisor.adapters.sqlite.journal import open_journal
from supervisor.adapters.sqlite.mark import place_of
from supervisor.adapters.sqlite.schema import open_database
from supervisor.errors import Unreadable
from supervisor.model.event import JobEnded

async def main():
    journal = open_journal(pathlib.Path(sys.argv[1]))
    while True:
        last = await journal.append([])
        events = [JobEnded(1.0, "aaa", last + n, "clean", "x" * 500) for n in (1, 2, 3)]
        print(await journal.append(events), flush=True)

asyncio.run(main())
"""


@pytest.mark.parametrize("kills", [5, pytest.param(20 * ROUNDS, marks=pytest.mark.proof)])
def test_kills_lose_nothing_that_was_acknowledged(tmp_path: Path, kills: int) -> None:
    """Each at a random moment of a process that does nothing but append; all on the same journal."""
    path, moments = tmp_path / "journal.sqlite3", random.Random(kills)
    for _ in range(kills):
        acknowledged = _killed_while_appending(path, after=moments.randint(1, 50))
        jobs = replayed(path) if moments.random() < 0.5 else _left(path)
        assert jobs == list(range(1, len(jobs) + 1))
        assert len(jobs) - acknowledged in (0, 3), (
            "one append at most was on its way, and is there whole or not at all"
        )


def _killed_while_appending(path: Path, after: int) -> int:
    """The last number that was acknowledged to someone, up to the very end."""
    with subprocess.Popen([sys.executable, "-c", APPENDING, path], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        lines = [child.stdout.readline() for _ in range(after)]
        child.kill()
        lines += child.stdout.readlines()
    return int([line for line in lines if line.endswith("\n")][-1])


def _left(path: Path) -> list[int]:
    """Look without opening it as a journal: the next process finds the log as the killed one left it."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        return [job for (job,) in connection.execute("SELECT job FROM events ORDER BY seq")]
