"""What the publish tool packs of whatever an agent left, and what it names because it can not."""

from pathlib import Path

import pytest

from tests.agent_clone import AgentClone, git, half_rebased


def state_of(clone: AgentClone) -> list[object]:
    """All that a rescue must leave as it was."""
    index = (clone.work / ".git" / "index").read_bytes()
    refs = git(clone.work, "for-each-ref")
    return [index, refs, git(clone.work, "status", "--porcelain"), (clone.work / ".git" / "HEAD").read_text()]


def rescued_files(clone: AgentClone) -> dict[str, str]:
    into = clone.bundled("rescued.tar")
    return {
        name: git(into, "show", f"work:{name}") for name in git(into, "ls-tree", "-r", "--name-only", "work").split()
    }


def test_a_rescue_keeps_dirty_and_untracked_work_and_touches_nothing(tmp_path: Path) -> None:
    clone = AgentClone.make(tmp_path)
    clone.commit("[FIX_TEST] wait", test_app__py="wait\n")
    (clone.work / "app.py").write_text("dirty\n")
    (clone.work / "-new file").write_text("new\n")
    (clone.work / "noise.log").write_text("ignored\n")
    (clone.folder / "outcome.json").write_text("not JSON")
    before = state_of(clone)
    assert clone.publish("--rescue").returncode == 0
    assert state_of(clone) == before
    into = clone.bundled("rescued.tar")
    assert git(into, "show", "work:app.py") == "dirty"
    assert git(into, "show", "work:-new file") == "new"
    assert "noise.log" not in git(into, "ls-tree", "-r", "--name-only", "work")
    assert git(into, "rev-parse", "work^") == git(clone.work, "rev-parse", "HEAD")
    assert clone.published("rescued.tar")["outcome.json"] == b"not JSON"
    assert clone.meta("rescued.tar")["rescued"] is True


def test_a_rescue_of_nothing_has_no_bundle(tmp_path: Path) -> None:
    clone = AgentClone.make(tmp_path)
    assert clone.publish("--rescue").returncode == 0
    assert set(clone.published("rescued.tar")) == {"meta.json", "outcome.json"}


def test_a_rescue_amid_a_rebase_keeps_both_sides(tmp_path: Path) -> None:
    clone = half_rebased(tmp_path)
    (clone.work / "app.py").write_text("half resolved\n")
    mine = git(clone.work, "rev-parse", "agent/1")
    before = state_of(clone)
    assert clone.publish("--rescue").returncode == 0
    assert state_of(clone) == before
    assert rescued_files(clone)["app.py"] == "half resolved"
    git(clone.home / "into-rescued.tar", "merge-base", "--is-ancestor", mine, "work")


def test_a_rescue_amid_a_merge(tmp_path: Path) -> None:
    clone = AgentClone.make(tmp_path)
    git(clone.work, "switch", "-qc", "side")
    clone.commit("[FIX_IMPL] side", app__py="side\n")
    git(clone.work, "switch", "-q", "agent/1")
    clone.commit("[FIX_IMPL] mine", app__py="mine\n")
    with pytest.raises(AssertionError):
        git(clone.work, "merge", "side")
    assert clone.publish("--rescue").returncode == 0
    assert "<<<<<<<" in rescued_files(clone)["app.py"]


def test_a_rescue_of_a_deleted_branch(tmp_path: Path) -> None:
    clone = AgentClone.make(tmp_path)
    head = clone.commit("[FIX_TEST] wait", test_app__py="wait\n")
    git(clone.work, "update-ref", "-d", "refs/heads/agent/1")
    assert clone.publish("--rescue").returncode == 0
    assert clone.meta("rescued.tar")["head"] == head
    assert rescued_files(clone)["test_app.py"] == "wait"


def test_a_rescue_keeps_other_branches_and_the_stash(tmp_path: Path) -> None:
    clone = AgentClone.make(tmp_path)
    side = clone.commit("[FIX_IMPL] side", app__py="side\n")
    git(clone.work, "switch", "-qc", "second", clone.base)
    (clone.work / "app.py").write_text("stashed\n")
    git(clone.work, "stash", "-q")
    assert clone.publish("--rescue").returncode == 0
    into = clone.bundled("rescued.tar")
    for tip in (side, git(clone.work, "rev-parse", "refs/stash")):
        git(into, "merge-base", "--is-ancestor", tip, "work")


def test_a_rescue_takes_what_is_large_and_names_what_it_can_not_take(tmp_path: Path) -> None:
    clone = AgentClone.make(tmp_path)
    (clone.work / "core dump").write_bytes(b"x" * 120 * 2**20)
    (clone.work / "heap").mkdir()
    for number in range(5_001):
        (clone.work / "heap" / str(number)).touch()
    (clone.work / "nested").mkdir()
    git(clone.work / "nested", "init", "-q")
    done = clone.publish("--rescue")
    assert done.returncode == 0
    assert f"bundle: {(clone.folder / 'rescued.bundle').stat().st_size}" in done.stdout
    into = clone.bundled("rescued.tar")
    assert git(into, "cat-file", "-s", "work:core dump") == str(120 * 2**20)
    assert len(git(into, "ls-tree", "-r", "--name-only", "work").splitlines()) == 5_005
    assert clone.meta("rescued.tar")["unsaved"] == ["the nested repository in nested/"]


def test_a_rescue_keeps_what_is_staged_and_what_is_on_no_branch(tmp_path: Path) -> None:
    clone = AgentClone.make(tmp_path)
    amended = clone.commit("first", app__py="first\n")
    git(clone.work, "commit", "-q", "--amend", "-m", "second")
    (clone.work / "app.py").write_text("staged\n")
    git(clone.work, "add", "-A")
    (clone.work / "app.py").write_text("changed\n")
    assert clone.publish("--rescue").returncode == 0
    into = clone.bundled("rescued.tar")
    git(into, "merge-base", "--is-ancestor", amended, "work")
    assert git(into, "show", "work:app.py") == "changed"
    assert git(into, "show", "work^2:app.py") == "staged"


@pytest.mark.parametrize("gone", ["work", "git", "base"])
def test_a_rescue_makes_do_with_what_is_left(tmp_path: Path, gone: str) -> None:
    clone = AgentClone.make(tmp_path)
    clone.commit("[FIX_TEST] wait", test_app__py="wait\n")
    if gone == "work":
        clone.work.rename(tmp_path / "elsewhere")
    elif gone == "git":
        (clone.work / ".git").rename(tmp_path / "elsewhere")
    else:
        clone.base = "1" * 40
    done = clone.publish("--rescue", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "outcome.json" in clone.published("rescued.tar")
    meta = clone.meta("rescued.tar")
    assert meta["notes"] if gone == "base" else meta["unsaved"] == ["the files: there is no git work tree"]
    assert (clone.folder / "rescued.bundle").exists() == (gone == "base")
