"""A state that is older than what was acknowledged is gone on with only when a person says so, and that is known."""

import asyncio
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from supervisor.adapters.sqlite import mark
from supervisor.adapters.sqlite.journal import open_journal
from supervisor.adapters.sqlite.salvage import salvage
from supervisor.errors import Unreadable
from supervisor.model import event as ev
from supervisor.ports import Record

RELEASED = Path(__file__).parents[1] / "data" / "journals" / "v0.1.0.sqlite3"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.sqlite3"


def write(path: Path, *events: ev.Event, accept_older: bool = False) -> int:
    journal = open_journal(path, accept_older=accept_older)
    try:
        return asyncio.run(journal.append(events))
    finally:
        asyncio.run(journal.close())


def replay(path: Path, *, accept_older: bool = False) -> Sequence[Record]:
    journal = open_journal(path, accept_older=accept_older)
    try:
        return list(journal.replay())
    finally:
        asyncio.run(journal.close())


def test_a_restored_backup_is_refused_with_what_to_type(path: Path, tmp_path: Path) -> None:
    write(path, ev.QueuePaused(1.0))
    backup = shutil.copy(path, tmp_path / "backup")
    write(path, ev.QueueResumed(2.0), ev.QueuePaused(3.0))
    shutil.copy(backup, path)
    with pytest.raises(Unreadable, match="ends with event 1, but events up to 3 were acknowledged") as refused:
        open_journal(path)
    assert f"supervisord --state-dir {path.parent} --accept-older-state" in refused.value.hint
    assert f"supervisord --state-dir {path.parent} --salvage" in refused.value.hint


def test_accepted_it_goes_on_says_so_and_uses_no_number_twice(path: Path, tmp_path: Path) -> None:
    write(path, ev.QueuePaused(1.0))
    backup = path.read_bytes()
    write(path, ev.QueueResumed(2.0), ev.QueuePaused(3.0))
    path.write_bytes(backup)
    [first, accepted] = replay(path, accept_older=True)
    assert (first.seq, accepted.seq) == (1, 4)
    assert accepted.event == ev.OlderStateAccepted(accepted.event.at, last=1, acknowledged=3)
    assert path.with_name(f"{path.name}.older-1").read_bytes() == backup
    assert write(path, ev.QueueResumed(4.0)) == 5, "and from then on it starts as ever"


def test_where_nothing_is_missing_there_is_nothing_to_accept(path: Path) -> None:
    write(path, ev.QueuePaused(1.0))
    assert [record.seq for record in replay(path, accept_older=True)] == [1]
    assert not list(path.parent.glob("*.older-*"))


def test_damage_is_not_accepted(path: Path) -> None:
    write(path, *[ev.JobEnded(1.0, "aaa", job, "clean", "x" * 100) for job in range(1, 300)])
    content = bytearray(path.read_bytes())
    content[8 * 4096 : 9 * 4096] = b"\xa5" * 4096
    path.write_bytes(content)
    with pytest.raises(Unreadable, match="damaged"):
        open_journal(path, accept_older=True)
    assert path.read_bytes() == content


@pytest.mark.parametrize("damage", ["missing", "damaged"])
def test_without_its_mark_it_is_refused_and_can_be_accepted(path: Path, damage: str) -> None:
    write(path, ev.QueuePaused(1.0))
    marked_at = mark.place_of(path)
    marked_at.unlink() if damage == "missing" else marked_at.write_bytes(b"\0" * 8192)
    with pytest.raises(Unreadable, match=damage):
        open_journal(path)
    assert [record.event.kind for record in replay(path, accept_older=True)] == [
        "queue-paused",
        "older-state-accepted",
    ]


def test_a_mark_without_its_journal_is_refused(path: Path) -> None:
    write(path, ev.QueuePaused(1.0))
    path.unlink()
    with pytest.raises(Unreadable, match=r"is not there, but what is left of it is: journal\.mark"):
        open_journal(path)
    with pytest.raises(Unreadable):
        salvage(path)


def test_a_journal_of_a_version_without_marks_gets_one(path: Path) -> None:
    shutil.copy(RELEASED, path)
    before = replay(path)
    assert before
    assert (marked := mark.read(mark.place_of(path))) is not None
    assert marked.seq >= before[-1].seq
    assert replay(path) == before


def test_an_upgrade_that_a_crash_cut_short_is_begun_again(path: Path) -> None:
    """The mark is there, the digests are not yet."""
    shutil.copy(RELEASED, path)
    before = replay(path)
    marked = mark.place_of(path).read_bytes()
    for each in path.parent.iterdir():
        each.unlink()
    shutil.copy(RELEASED, path)
    mark.place_of(path).write_bytes(marked)
    assert replay(path) == before


def test_a_crash_while_it_was_made_leaves_a_mark_that_misses_nothing(path: Path) -> None:
    mark.create(mark.place_of(path), mark.Mark("000000000000", 0, 0))
    assert write(path, ev.QueuePaused(1.0)) == 1
    assert [record.seq for record in replay(path)] == [1]
