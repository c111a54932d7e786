"""Files of the state that are damaged anywhere: the journal is refused and left as it was, or it is whole."""

import asyncio
import random
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supervisor.adapters.sqlite.journal import open_journal
from supervisor.errors import Unreadable
from supervisor.flow.history import apply
from supervisor.model import event as ev
from supervisor.model.state import State
from supervisor.ports import Record, SealedBatch
from tests.adapters.story import everything, seals
from tests.properties import examples

seeds = st.integers(0, 2**64)
NAME, LOG, MARK = "journal.sqlite3", "journal.sqlite3-wal", "journal.mark"
PAGE, LOG_HEADER, FRAME = 4096, 32, 24 + 4096


@dataclass(frozen=True)
class Whole:
    """All that can be read of a journal."""

    installation: str
    state: State
    sealed: Sequence[SealedBatch]
    events: Sequence[Record]

    @property
    def of_state(self) -> object:
        return self.installation, self.state, sorted(self.sealed, key=lambda each: each.id)


def read(path: Path) -> Whole:
    journal = open_journal(path)
    try:
        after, state = journal.checkpoint() or (0, State(installation=journal.installation))
        state = reduce(apply, (record.event for record in journal.replay(after)), state)
        sealed, events = asyncio.run(_everything(journal))
        return Whole(journal.installation, state, sealed, events)
    finally:
        asyncio.run(journal.close())


async def _everything(journal: object) -> tuple[list[SealedBatch], list[Record]]:
    return await journal.sealed(limit=1000), await journal.read(limit=100_000)  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Victim:
    """A state as a killed daemon left it, and as it was some time before."""

    now: Path
    before: Path
    #: what is to be read of it
    whole: Whole

    def copy(self, to: Path) -> Path:
        shutil.rmtree(to, ignore_errors=True)
        shutil.copytree(self.now, to)
        return to / NAME


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Victim:
    """With a part of it in the database, a part in the log, and a checkpoint in either."""
    folder = tmp_path_factory.mktemp("victim")
    asyncio.run(_lived(folder / "live" / NAME, folder / "before", folder / "now"))
    shutil.copytree(folder / "now", folder / "read")
    return Victim(folder / "now", folder / "before", read(folder / "read" / NAME))


async def _lived(path: Path, before: Path, now: Path) -> None:
    path.parent.mkdir()
    journal = open_journal(path)
    events = everything(journal.installation)
    middle = len(events) // 2
    await _tell(journal, events[:middle])
    await journal.close()
    journal = open_journal(path)
    await _tell(journal, events[middle : middle + 20])
    shutil.copytree(path.parent, before)
    await journal.close()
    journal = open_journal(path)
    await _tell(journal, events[middle + 20 :])
    state = reduce(apply, (record.event for record in journal.replay()), State(installation=journal.installation))
    await journal.keep(len(events), state)
    await _tell(journal, [ev.QueuePaused(1.0), ev.QueueResumed(2.0)])
    shutil.copytree(path.parent, now)
    await journal.close()


async def _tell(journal: object, events: Sequence[ev.Event]) -> None:
    for event in events:
        await journal.append([event], seals([event]))  # type: ignore[attr-defined]


def check(path: Path, expected: Whole) -> str:
    """What came of it: "refused" or "whole"; anything else fails."""
    before = bytes_of(path.parent)
    found = or_refusal(path)
    if isinstance(found, Unreadable):
        assert found.message
        assert found.hint
        assert bytes_of(path.parent) == before, "a refusal changed what it refused"
        return "refused"
    assert found.of_state == expected.of_state
    assert {record.seq: record for record in expected.events}.items() >= {r.seq: r for r in found.events}.items()
    return "whole"


def or_refusal(path: Path) -> Whole | Unreadable:
    try:
        return read(path)
    except Unreadable as refused:
        return refused


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Of all that is state; what SQLite shares between its readers is none, nor is a log that has not begun."""
    files = {each.name: each.read_bytes() for each in folder.iterdir() if not each.name.endswith("-shm")}
    return {name: content for name, content in files.items() if content or name != LOG}


def flip(content: bytearray, at: int, chance: random.Random) -> None:
    content[at] ^= 1 << chance.randrange(8)


def zero(content: bytearray, at: int, chance: random.Random) -> None:
    length = chance.choice((1, 16, 512, 4096))
    content[at : at + length] = bytes(len(content[at : at + length]))


def scribble(content: bytearray, at: int, chance: random.Random) -> None:
    length = chance.choice((1, 8, 300))
    content[at : at + length] = chance.randbytes(len(content[at : at + length]))


def truncate(content: bytearray, at: int, chance: random.Random) -> None:
    del content[at:]


def cut_out(content: bytearray, at: int, chance: random.Random) -> None:
    del content[at : at + chance.choice((1, 24, 4096, FRAME))]


type Way = Callable[[bytearray, int, random.Random], None]
WAYS: Sequence[Way] = (flip, zero, scribble, truncate, cut_out)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("name", [NAME, LOG, MARK])
@settings(max_examples=examples(1 / 6))
@given(seed=seeds)
def test_a_file_damaged_anywhere_is_refused_or_whole(
    victim: Victim, tmp_path_factory: pytest.TempPathFactory, name: str, way: Way, seed: int
) -> None:
    chance = random.Random(seed)
    path = victim.copy(tmp_path_factory.getbasetemp() / "state")
    content = bytearray((victim.now / name).read_bytes())
    way(content, chance.randrange(len(content)), chance)
    (path.parent / name).write_bytes(content)
    check(path, victim.whole)


def test_a_log_cut_at_any_frame_is_refused(victim: Victim, tmp_path: Path) -> None:
    """All that is in it was acknowledged: but for its last frames, which hold no event of their own."""
    content = (victim.now / LOG).read_bytes()
    came = []
    for length in range(LOG_HEADER, len(content), FRAME)[-20:]:
        path = victim.copy(tmp_path / "state")
        (path.parent / LOG).write_bytes(content[:length])
        came.append(check(path, victim.whole))
    assert set(came) == {"refused"}


@pytest.mark.parametrize("name", [NAME, LOG, MARK])
def test_a_file_that_is_gone_is_missed(victim: Victim, tmp_path: Path, name: str) -> None:
    path = victim.copy(tmp_path / "state")
    (path.parent / name).unlink()
    assert check(path, victim.whole) == "refused"


FILES = (NAME, LOG, MARK)
SOME = ([NAME], [LOG], [MARK], [NAME, LOG], [NAME, MARK])


@pytest.mark.parametrize("names", SOME, ids=" ".join)
def test_some_files_of_an_older_copy_are_refused_or_make_no_difference(
    victim: Victim, tmp_path: Path, names: list[str]
) -> None:
    """An older log with the mark of its time can't be told from the state as it was then: but agents that it does not
    know are left alone, see `daemon/test_strays.py`."""
    path = victim.copy(tmp_path / "state")
    for name in names:
        shutil.copy(victim.before / name, path.parent / name)
    check(path, victim.whole)


TABLES = {"events": "seq", "sealed": "place", "checkpoint": "id", "meta": "key", "sqlite_sequence": "rowid"}


@pytest.mark.parametrize("table", TABLES)
@settings(max_examples=examples(1 / 6))
@given(seed=seeds)
def test_a_row_that_is_altered_or_missing_is_refused_or_makes_no_difference(
    victim: Victim, tmp_path_factory: pytest.TempPathFactory, table: str, seed: int
) -> None:
    path = victim.copy(tmp_path_factory.getbasetemp() / "state")
    tamper(path, table, random.Random(seed))
    check(path, victim.whole)


def tamper(path: Path, table: str, chance: random.Random) -> None:
    """One row, by SQL: nothing that SQLite itself could notice."""
    with closing(sqlite3.connect(path)) as connection, connection:
        key = TABLES[table]
        rows = connection.execute(f"SELECT {key} FROM {table}").fetchall()
        columns = [column[1] for column in connection.execute(f"PRAGMA table_info({table})")]
        row, column = chance.choice(rows)[0], chance.choice(columns)
        was = connection.execute(f"SELECT {column} FROM {table} WHERE {key} = ?", (row,)).fetchone()[0]
        statement = chance.choice((f"DELETE FROM {table}", f"UPDATE {table} SET {column} = ?"))
        values = () if statement.startswith("DELETE") else (other(was, chance),)
        try:
            connection.execute(f"{statement} WHERE {key} = ?", (*values, row))
        except sqlite3.IntegrityError:
            connection.rollback()


def other(was: object, chance: random.Random) -> object:
    match was:
        case None:
            return None
        case str():
            at = chance.randrange(len(was) + 1)
            return f"{was[:at]}{chance.choice('abc019')}{was[at:]}"
        case bytes():
            at = chance.randrange(len(was))
            return was[:at] + bytes([was[at] ^ 1]) + was[at + 1 :]
        case _:
            return was + chance.randrange(1, 5)  # type: ignore[operator]
