"""A journal that can't be trusted is refused, in one sentence, with what to do; and it is left as it was."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from supervisor.adapters.sqlite.journal import open_journal
from supervisor.errors import Unreadable
from supervisor.model import event as ev


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.sqlite3"


def written(path: Path, count: int = 300) -> int:
    async def write() -> int:
        journal = open_journal(path)
        last = await journal.append([ev.JobEnded(1.0, "aaa", job, "clean", "x" * 100) for job in range(1, count + 1)])
        await journal.close()
        return last

    return asyncio.run(write())


def run_sql(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def refusal(path: Path) -> Unreadable:
    """How opening and replaying is refused. The file is not touched by it."""
    before = path.read_bytes()
    with pytest.raises(Unreadable) as refused:
        _replay(path)
    assert path.read_bytes() == before
    assert refused.value.hint
    return refused.value


def _replay(path: Path) -> None:
    journal = open_journal(path)
    try:
        list(journal.replay())
    finally:
        asyncio.run(journal.close())


def test_a_newer_schema_is_refused(path: Path) -> None:
    written(path)
    run_sql(path, "PRAGMA user_version = 99")
    error = refusal(path)
    assert "newer version" in error.message
    assert "run that version" in error.hint


def test_an_unknown_kind_of_event_is_refused_by_name(path: Path) -> None:
    written(path)
    run_sql(path, "INSERT INTO events (at, kind, body) VALUES (1, 'moon-landed', '{}')")
    error = refusal(path)
    assert "'moon-landed'" in error.message
    assert "newer version" in error.message


@pytest.mark.parametrize(
    "body", ["{", "null", '{"at": 1}', '{"at": "noon", "batch": "aaa", "job": 1, "outcome": "clean"}']
)
def test_a_garbled_event_is_refused_by_number(path: Path, body: str) -> None:
    written(path)
    run_sql(path, f"UPDATE events SET body = '{body}' WHERE seq = 7")
    error = refusal(path)
    assert "event 7 (job-ended)" in error.message
    assert f"supervisord --state-dir {path.parent} --salvage" in error.hint


def test_text_that_is_not_utf8_is_refused(path: Path) -> None:
    written(path)
    run_sql(path, "UPDATE events SET body = CAST(x'ff00fe' AS TEXT) WHERE seq = 7")
    assert "damaged" in (refusal(path)).message


def test_another_programs_database_is_refused(path: Path) -> None:
    run_sql(path, "CREATE TABLE bookmarks (url)")
    assert "not a journal" in (refusal(path)).message


@pytest.mark.parametrize("content", [b"", b"\n", b"not a database " * 1000])
def test_a_file_that_is_no_database_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    refusal(path)


def test_a_journal_cut_anywhere_is_refused(path: Path) -> None:
    """Never taken for a shorter history, nor for a new one."""
    written(path)
    whole = path.read_bytes()
    for length in {1, 15, 16, 50, 99, 100, 101, 4095, 4096, 4097, len(whole) // 2, len(whole) - 4096, len(whole) - 1}:
        path.write_bytes(whole[:length])
        assert "--salvage" in (refusal(path)).hint or length < 4096


def test_a_page_of_garbage_is_refused(path: Path) -> None:
    written(path)
    content = bytearray(path.read_bytes())
    content[8 * 4096 : 9 * 4096] = b"\xa5" * 4096
    path.write_bytes(content)
    assert "--salvage" in (refusal(path)).hint


@pytest.mark.parametrize("suffix", ["-wal", ".damaged-1"])
def test_where_only_remains_are_left_nothing_is_started_over_them(path: Path, suffix: str) -> None:
    remains = path.with_name(path.name + suffix)
    remains.write_bytes(b"what is left")
    with pytest.raises(Unreadable, match=remains.name) as refused:
        open_journal(path)
    assert refused.value.hint
    assert [each.read_bytes() for each in path.parent.iterdir()] == [b"what is left"]


def test_a_directory_in_its_place_is_said_to_be_out_of_reach(path: Path) -> None:
    path.mkdir()
    with pytest.raises(Unreadable, match="can't be opened"):
        open_journal(path)


def test_a_crash_while_it_was_made_leaves_nothing_in_the_way(path: Path) -> None:
    path.with_name(f"{path.name}.new").write_bytes(b"half a journ")
    assert written(path, 5) == 5
