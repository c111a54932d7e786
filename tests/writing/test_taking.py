"""What writers have made is put onto a person's branch whole, or left with a reason; nothing of theirs is lost."""

import base64
import subprocess
from pathlib import Path
from typing import Any

import pytest

from supervisor.cli.tutorial_taking import take
from supervisor.errors import Refused
from tests.agent_clone import commit, git
from tests.unharmed.facts import facts, out_of_step


@pytest.fixture(autouse=True)
def _somebody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "ann")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "ann@example.invalid")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


def checkout(folder: Path) -> Path:
    repo = folder / "repo"
    repo.mkdir()
    git(repo, "init", "-q", "-b", "main")
    commit(repo, "base", one__py="one\n", two__py="two\n")
    return repo


def proposal(repo: Path, job: str, *commits: dict[str, str]) -> dict[str, Any]:
    """Commits upon where the checkout is now, made elsewhere."""
    base = git(repo, "rev-parse", "HEAD")
    clone = repo.with_name(f"clone-{job}")
    git(repo, "clone", "-q", str(repo), str(clone))
    for number, files in enumerate(commits):
        commit(clone, f"[FIX_TEST] {job} {number}", **files)
    words = ["git", "bundle", "create", "-q", "-", "HEAD", f"^{base}"]
    bundle = subprocess.run(words, cwd=clone, capture_output=True, check=True).stdout
    head = git(clone, "rev-parse", "HEAD")
    return {"job": job, "base": base, "head": head, "bundle": base64.b64encode(bundle).decode()}


def test_all_commits_are_taken_and_said_again_they_are_there_already(tmp_path: Path) -> None:
    repo = checkout(tmp_path)
    one = proposal(repo, "k.1", {"one__py": "1\n"}, {"three__py": "3\n"})
    two = proposal(repo, "k.2", {"two__py": "2\n"})
    commit(repo, "meanwhile", four__py="4\n")

    assert take(repo, [one, two]) == {"taken": ["k.1", "k.2"], "left": [], "changed": True}
    assert git(repo, "log", "-3", "--format=%s").split("\n") == [
        "[FIX_TEST] k.2 0",
        "[FIX_TEST] k.1 1",
        "[FIX_TEST] k.1 0",
    ]
    assert take(repo, [one, two]) == {"taken": ["k.1", "k.2"], "left": [], "changed": False}
    assert git(repo, "status", "--porcelain") == ""


def test_what_collides_is_left_whole_and_the_rest_is_taken(tmp_path: Path) -> None:
    repo = checkout(tmp_path)
    bad = proposal(repo, "k.1", {"three__py": "3\n"}, {"one__py": "1\n"})
    good = proposal(repo, "k.2", {"two__py": "2\n"})
    commit(repo, "meanwhile", one__py="something else\n")

    done = take(repo, [bad, good])

    assert (done["taken"], done["changed"]) == (["k.2"], True)
    assert done["left"] == [{"job": "k.1", "why": "it conflicts in one.py: run sync again"}]
    assert not (repo / "three.py").exists()
    assert (repo / "one.py").read_text() == "something else\n"
    assert git(repo, "status", "--porcelain") == ""


def test_uncommitted_work_is_refused_before_anything_is_done(tmp_path: Path) -> None:
    repo = checkout(tmp_path)
    one = proposal(repo, "k.1", {"one__py": "1\n"})
    (repo / "mine").write_text("precious")
    out_of_step(repo)
    before = facts(repo)
    with pytest.raises(Refused, match="uncommitted work: mine"):
        take(repo, [one])
    assert facts(repo) == before


def test_commits_that_can_not_be_used_are_left(tmp_path: Path) -> None:
    repo = checkout(tmp_path)
    good = proposal(repo, "k.1", {"one__py": "1\n"})
    junk = base64.b64encode(b"# v2 git bundle\n").decode()
    bad = [good | {"base": "0" * 40}, good | {"bundle": "!"}, good | {"bundle": junk}]

    done = take(repo, bad)

    assert done["taken"] == []
    assert [each["why"].split(",")[0].split(":")[0] for each in done["left"]] == [
        "its base commit",
        "its commits can't be read",
        "its commits can't be read",
    ]
    with pytest.raises(Refused, match="git rev-parse failed"):
        take(tmp_path, [good])
