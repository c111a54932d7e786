"""A rescue takes all the work that lies in a clone."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from supervisor.model.attempt import ref_of
from supervisor.publication.quarantine import Quarantine
from tests.agent_clone import git
from tests.publication.rescue_place import KEY, made


def fed(work: Path, history: str) -> None:
    subprocess.run(["git", "-C", work, "fast-import", "--quiet"], input=history.encode(), check=True)


async def test_a_clone_at_its_base_has_left_no_work(tmp_path: Path) -> None:
    here = await made(tmp_path)
    taken = await here.take()
    assert (taken.head, taken.commits, taken.unsaved) == ("", 0, [])
    assert not here.has_ref()


async def test_commits_and_what_is_not_committed_come_home(tmp_path: Path) -> None:
    """Also what is staged and then changed again, deleted, executable, a link, or has an odd name."""
    here = await made(tmp_path)
    head = here.clone.commit("[FIX_TEST] one", app__py="two\n")
    work = here.clone.work
    (work / "staged").write_text("staged\n")
    git(work, "add", "staged")
    (work / "staged").write_text("changed again\n")
    (work / "test_app.py").unlink()
    (work / "new\nline é").write_text("odd\n")
    (work / "tool").write_text("#!/bin/sh\n")
    (work / "tool").chmod(0o755)
    (work / "link").symlink_to("/etc/passwd")
    before = {path: path.read_bytes() for path in (work / ".git").rglob("*") if path.is_file()}

    taken = await here.take()

    assert taken.unsaved == []
    assert taken.head == git(here.bare, "rev-parse", ref_of(KEY, rescued=True))
    assert here.reaches(head)
    assert here.file("staged") == "changed again"
    listed = git(here.bare, "ls-tree", "-r", "-z", taken.head)
    assert "new\nline é" in listed
    assert "test_app.py" not in listed
    assert "100755" in listed
    assert "120000" in listed
    [_, staged] = git(here.bare, "rev-parse", f"{taken.head}^@").split()
    assert git(here.bare, "show", f"{staged}:staged") == "staged"
    assert {path: path.read_bytes() for path in (work / ".git").rglob("*") if path.is_file()} == before


async def test_other_branches_the_stash_and_detached_commits_come_home(tmp_path: Path) -> None:
    here = await made(tmp_path)
    work = here.clone.work
    git(work, "switch", "-qc", "feature")
    feature = here.clone.commit("feature", feature="1\n")
    git(work, "tag", "-a", "-m", "tag", "v1")
    git(work, "switch", "-q", "--orphan", "orphan")
    orphan = here.clone.commit("orphan", orphan="1\n")
    git(work, "switch", "-q", "--detach", "base")
    detached = here.clone.commit("detached", detached="1\n")
    git(work, "switch", "-q", "agent/1")
    amended = here.clone.commit("first", app__py="first\n")
    git(work, "commit", "-q", "--amend", "-m", "second")
    head = git(work, "rev-parse", "HEAD")
    (work / "app.py").write_text("stashed\n")
    git(work, "stash", "-q")
    (work / "app.py").write_text("stashed later\n")
    git(work, "stash", "-q")
    stashes = git(work, "log", "-g", "--format=%H", "refs/stash").split()
    git(work, "pack-refs", "--all")

    taken = await here.take()

    assert taken.unsaved == []
    assert len(stashes) == 2
    for sha in (feature, orphan, detached, amended, head, *stashes):
        assert here.reaches(sha), sha
    assert git(here.bare, "rev-parse", f"{taken.head}^1") == head


async def test_nothing_is_too_large(tmp_path: Path) -> None:
    """Many commits, a large blob that is committed, and one that is not: more than a publication may hold."""
    here = await made(tmp_path)
    work, lines = here.clone.work, []
    for number in range(300):
        lines.append(f"commit refs/heads/agent/1\ncommitter a <a@b> {1700000000 + number} +0000\ndata 1\nx\n")
        lines.append("from refs/heads/agent/1^0\n" if not number else "")
        lines.append(f"M 100644 inline n\ndata {len(str(number))}\n{number}\n")
    fed(work, "".join(lines))
    git(work, "reset", "-q", "--hard")
    git(work, "config", "core.compression", "0")  # it is the test's own commit that would take a second
    here.clone.commit("large", large=os.urandom(60 * 2**20))
    (work / "larger").write_bytes(os.urandom(60 * 2**20))

    taken = await here.take()

    assert taken.unsaved == []
    assert taken.commits == 302
    assert git(here.bare, "cat-file", "-s", f"{taken.head}:larger") == str(60 * 2**20)


async def test_without_a_repository_its_files_come_home(tmp_path: Path) -> None:
    here = await made(tmp_path)
    (here.clone.work / "app.py").write_text("mine\n")
    shutil.rmtree(here.clone.work / ".git")

    taken = await here.take()

    assert here.file("app.py") == "mine"
    assert taken.unsaved == []
    assert "its .git is gone" in taken.notes[0]


async def test_the_middle_of_a_rebase_and_a_deleted_branch(tmp_path: Path) -> None:
    here = await made(tmp_path)
    work = here.clone.work
    mine = here.clone.commit("mine", app__py="mine\n")
    git(work, "switch", "-q", "base")
    here.clone.commit("theirs", app__py="theirs\n")
    git(work, "switch", "-q", "agent/1")
    with pytest.raises(AssertionError):
        git(work, "rebase", "-q", "base")
    (work / "app.py").write_text("half resolved\n")
    git(work, "update-ref", "-d", "refs/heads/agent/1")

    taken = await here.take()

    assert taken.unsaved == []
    assert here.reaches(mine)
    assert here.file("app.py") == "half resolved"


async def test_what_is_ignored_is_named_and_caches_are_not(tmp_path: Path) -> None:
    here = await made(tmp_path)
    (here.clone.work / "debug.log").write_text("ignored\n")
    (here.clone.work / "__pycache__").mkdir()
    (here.clone.work / "__pycache__" / "a.pyc").write_text("cache\n")
    taken = await here.take()
    assert (taken.head, taken.unsaved) == ("", [])
    assert taken.notes == ["not taken, because git ignores it: debug.log"]


async def test_no_program_of_the_clone_is_run(tmp_path: Path) -> None:
    """Filters, hooks, a monitor, a helper: what its configuration names stays unheard."""
    here = await made(tmp_path)
    work, trap = here.clone.work, tmp_path / "sprung"
    evil = tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {trap}\ncat\n")
    evil.chmod(0o755)
    for key in ("core.fsmonitor", "filter.x.clean", "filter.x.smudge", "diff.external", "core.sshCommand"):
        git(work, "config", key, str(evil))
    for key in (
        "uploadpack.packObjectsHook",
        "core.alternateRefsCommand",
        "gpg.program",
        "core.pager",
        "core.editor",
    ):
        git(work, "config", key, str(evil))
    (work / ".gitattributes").write_text("* filter=x diff=x\n")
    (work / ".git" / "hooks").mkdir(exist_ok=True)
    for hook in ("pre-commit", "post-index-change", "reference-transaction", "post-checkout"):
        (work / ".git" / "hooks" / hook).symlink_to(evil)
    (work / "app.py").write_text("mine\n")

    taken = await here.take()

    assert not trap.exists()
    assert here.file("app.py") == "mine"
    assert taken.unsaved == []


async def test_a_linked_work_tree_gives_its_own_work(tmp_path: Path) -> None:
    """Not that of the agents beside it, whose branches are in the same repository."""
    here = await made(tmp_path)
    work = here.clone.work
    git(work, "worktree", "add", "-q", "-b", "supervisor/b1/1-1", str(tmp_path / "linked"), here.clone.base)
    git(work, "branch", "supervisor/b1/2-1")
    (work / "theirs").write_text("x")
    git(work, "switch", "-q", "supervisor/b1/2-1")
    theirs = here.clone.commit("theirs", theirs="1\n")
    linked = tmp_path / "linked"
    (linked / "mine").write_text("mine\n")
    git(linked, "add", "mine")
    git(linked, "commit", "-qm", "mine")
    mine = git(linked, "rev-parse", "HEAD")
    (linked / "app.py").write_text("mine, too\n")

    taken = await Quarantine(here.store).take(work, linked, KEY, base=here.clone.base)

    assert taken.unsaved == []
    assert here.reaches(mine)
    assert not here.reaches(theirs)
    assert here.file("app.py") == "mine, too"
