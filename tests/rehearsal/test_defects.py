"""Each seeded defect stands alone: its fix mends its own test, and taking the fix back breaks that one only."""

import itertools
import json
from pathlib import Path

import pytest

from tests.rehearsal.stage import SEEDS, Stage, clone, commit, failures, git

FIXES = {
    test: change
    for test, seed in SEEDS.items()
    for change in seed.get("changes", [])
    if change["kind"] == "FIX_IMPL" and change["edits"]
}
BROKEN = sorted(test for test, seed in SEEDS.items() if seed["defect"] == "implementation")
PAIR = sorted(test for test, seed in SEEDS.items() if "conflicts_with" in seed)
UNMENDED = {test for test, seed in SEEDS.items() if seed["expected"]["outcome"] in ("failed", "blocked")}
MERGED = {test: seed for test, seed in SEEDS.items() if seed["expected"]["ledger"] == "merged"}


@pytest.mark.parametrize("test", FIXES)
def test_a_fix_mends_its_own_test_only(target: Path, tmp_path: Path, test: str) -> None:
    repo = clone(target, tmp_path / "repo")
    commit(repo, FIXES[test])
    assert failures(repo, *BROKEN) == set(BROKEN) - {test}


def test_the_flaky_fix_passes_every_other_time(target: Path, tmp_path: Path) -> None:
    (test,) = (test for test, seed in SEEDS.items() if seed["expected"].get("verification") == "flaky")
    repo = clone(target, tmp_path / "repo")
    commit(repo, FIXES[test])
    assert [failures(repo, test) for _ in range(4)] == [set(), {test}, set(), {test}]
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


def mechanical_branch(stage: Stage, left_out: str) -> None:
    """All that can be merged, in commits as an integration would make them, but one of the pair."""
    seeds = [seed for test, seed in MERGED.items() if test != left_out]
    for change in itertools.chain.from_iterable(seed["changes"] for seed in seeds):
        commit(stage.repo, change)


def integration(left_out: str) -> dict[str, object]:
    other = SEEDS[left_out]["conflicts_with"]
    alike = sorted(test for test, seed in SEEDS.items() if seed.get("alike"))
    return {
        "schema_version": 1,
        "conflicts": [
            {
                "job": "j-7",
                "change": "c-7",
                "commit": "0" * 40,
                "test": left_out,
                "paths": ["pantry/render.py"],
                "with": [{"job": "j-8", "change": "c-8", "test": other}],
            }
        ],
        "ranking": ["c-8", "c-7"],
        "repeated": [{"tests": alike, "paths": [], "lines": []}],
    }


@pytest.mark.parametrize("left_out", PAIR)
def test_the_integrator_resolves_the_pair_and_each_fix_can_be_taken_back(
    target: Path, tmp_path: Path, left_out: str
) -> None:
    stage = Stage.set_up(target, tmp_path)
    mechanical_branch(stage, left_out)
    (stage.desk / "integration.json").write_text(json.dumps(integration(left_out)))
    assert stage.play(stage.contract("", role="integrator", run="git status")) == 0
    assert stage.published is not None
    assert stage.published["failed"] == []
    assert stage.published["ranking"] == ["c-8", "c-7"]
    assert failures(stage.repo) == UNMENDED
    resolved = git(stage.repo, "log", "--format=%(trailers:only,unfold)", "-1", "HEAD^").splitlines()
    assert resolved == ["Supervisor-Job: j-7", "Supervisor-Change: c-7"]
    assert stage.subjects[-1].startswith("[NORMALIZE] ")
    for test, change in FIXES.items():
        if test in MERGED:
            subject = f"[FIX_IMPL] {change['subject']}"
            found = git(stage.repo, "log", "--format=%H", "--fixed-strings", f"--grep={subject}")
            git(stage.repo, "revert", "--no-edit", found)
            assert failures(stage.repo, *BROKEN) == (UNMENDED & set(BROKEN)) | {test}
            git(stage.repo, "reset", "--quiet", "--hard", "HEAD^")


def test_the_integrator_names_what_it_cannot_resolve(target: Path, tmp_path: Path) -> None:
    stage = Stage.set_up(target, tmp_path)
    given = integration(PAIR[0])  # but nothing of the other side is on the branch
    (stage.desk / "integration.json").write_text(json.dumps(given))
    assert stage.play(stage.contract("", role="integrator", run="git status")) == 0
    assert stage.published is not None
    assert stage.published["failed"] == [{"job": "j-7", "change": "c-7", "reason": "no resolution is known"}]
    assert stage.subjects == []
