"""Each seeded defect stands alone: its fix mends its own test, and taking the fix back breaks that one only."""

from pathlib import Path

import pytest

from tests.rehearsal.stage import BROKEN, FIXES, MERGED, PAIR, SEEDS, clone, commit, failures, git


@pytest.mark.parametrize("test", [test for test in FIXES if "runs_again" not in SEEDS[test]])
def test_a_fix_mends_its_own_test_only(target: Path, tmp_path: Path, test: str) -> None:
    repo = clone(target, tmp_path / "repo")
    commit(repo, FIXES[test])
    assert failures(repo, *BROKEN) == set(BROKEN) - {test}


def test_a_fix_that_leans_on_what_runs_leave_passes_from_the_second_time_on(target: Path, tmp_path: Path) -> None:
    (test,) = (test for test, seed in SEEDS.items() if "runs_again" in seed)
    repo = clone(target, tmp_path / "repo")
    commit(repo, FIXES[test])
    assert [failures(repo, test) for _ in range(4)] == [{test}, set(), set(), set()]
    assert git(repo, "status", "--porcelain") == ""


def test_the_pair_conflicts_and_nothing_else_does(target: Path, tmp_path: Path) -> None:
    repo = clone(target, tmp_path / "repo")
    made = {}
    for test, seed in MERGED.items():
        git(repo, "checkout", "--quiet", "--detach", "origin/main")
        made[test] = [commit(repo, change) for change in seed["changes"]]
    git(repo, "checkout", "--quiet", "-B", "all", "origin/main")
    conflicting = []
    for test, commits in made.items():
        for each in commits:
            try:
                git(repo, "cherry-pick", each)
            except AssertionError:
                conflicting.append(test)
                git(repo, "cherry-pick", "--abort")
    assert len(conflicting) == 1
    assert conflicting[0] in PAIR
