"""Repositories to measure with."""

from pathlib import Path

from supervisor.rehearsal.generate import generate
from tests.rehearsal.stage import failures, git


def test_as_many_passing_tests_as_wanted(tmp_path: Path) -> None:
    generate(tmp_path / "repo", tests=60)
    files = git(tmp_path / "repo", "grep", "--count", "def test_").splitlines()
    assert sum(int(line.rpartition(":")[2]) for line in files) == 60
    assert len(files) == 3
    assert failures(tmp_path / "repo") == set()
    assert git(tmp_path / "repo", "status", "--porcelain") == ""
