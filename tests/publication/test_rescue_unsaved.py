"""A rescue names what it could not take: then the clone is kept."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agent_clone import git
from tests.publication.rescue_place import made


def submodule(work: Path) -> Path:
    """One that is committed, populated and clean."""
    other = work.parent / "other"
    other.mkdir()
    git(other, "init", "-q", "-b", "main")
    (other / "o").write_text("o\n")
    git(other, "add", "-A")
    git(other, "commit", "-qm", "o")
    git(work, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "sub")
    git(work, "commit", "-qm", "sub")
    return work / "sub"


def corrupt(work: Path) -> None:
    (work / "app.py").write_text("two\n")
    git(work, "commit", "-qam", "two")
    sha = git(work, "rev-parse", "HEAD:app.py")
    loose = work / ".git" / "objects" / sha[:2] / sha[2:]
    loose.chmod(0o644)
    loose.write_bytes(b"rubbish")


def unborn(work: Path) -> None:
    (work / ".git" / "refs" / "heads" / "x").write_text("f" * 40 + "\n")


def no_objects(work: Path) -> None:
    (work / ".git" / "objects").rename(work / ".git" / "gone")


def nested(work: Path) -> None:
    (work / "nested").mkdir()
    git(work / "nested", "init", "-q")
    (work / "nested" / "n").write_text("n\n")


def dirty_submodule(work: Path) -> None:
    (submodule(work) / "o").write_text("mine\n")


def committed_submodule(work: Path) -> None:
    sub = submodule(work)
    (sub / "o").write_text("mine\n")
    git(sub, "commit", "-qam", "mine")


def stashed_submodule(work: Path) -> None:
    sub = submodule(work)
    (sub / "o").write_text("mine\n")
    git(sub, "stash", "-q")


def reftable(work: Path) -> None:
    (work / ".git" / "reftable").mkdir()


def pipe_for_a_ref(work: Path) -> None:
    os.mkfifo(work / ".git" / "refs" / "heads" / "pipe")


def broken_index(work: Path) -> None:
    (work / ".git" / "index").write_bytes(b"DIRC\0\0\0\2\0\0\0\5rubbish")


def dotgit_is_rubbish(work: Path) -> None:
    (work / ".git").rename(work.parent / "elsewhere")
    (work / ".git").write_text("rubbish\n")


KEEPING: dict[Callable[[Path], None], str] = {
    corrupt: "damaged|corrupt|git",
    unborn: "refs/heads/x",
    no_objects: "damaged",
    nested: "nested/",
    dirty_submodule: "sub",
    committed_submodule: "sub",
    stashed_submodule: "sub",
    reftable: "refs",
    pipe_for_a_ref: "pipe",
    broken_index: "staged",
    dotgit_is_rubbish: "damaged",
}


@pytest.mark.parametrize("harm", KEEPING, ids=lambda harm: harm.__name__)
async def test_what_can_not_be_taken_is_named(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    """Then the clone is kept."""
    here = await made(tmp_path)
    harm(here.clone.work)
    taken = await here.take()
    assert taken.unsaved
    assert any(word in "; ".join(taken.unsaved) for word in KEEPING[harm].split("|"))


async def test_a_submodule_as_it_is_recorded_is_no_work(tmp_path: Path) -> None:
    here = await made(tmp_path)
    submodule(here.clone.work)
    taken = await here.take()
    assert taken.unsaved == []
    assert taken.commits == 1


async def test_a_disk_without_room_keeps_the_clone(tmp_path: Path) -> None:
    """The daemon's repository can't be written: nothing is said to be safe."""
    here = await made(tmp_path)
    here.clone.commit("one", app__py="two\n")
    packs = here.bare / "objects" / "pack"
    shutil.rmtree(packs)
    packs.write_text("in the way")
    taken = await here.take()
    assert taken.head == ""
    assert taken.unsaved
