"""The rehearsal's integrator: from the machine's branch and what it could not merge to a branch that stands."""

import itertools
import json
from pathlib import Path

import pytest

from tests.rehearsal.stage import BROKEN, FIXES, MERGED, PAIR, SEEDS, UNMENDED, Stage, commit, failures, git


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
def test_it_resolves_the_pair_and_each_fix_can_be_taken_back(target: Path, tmp_path: Path, left_out: str) -> None:
    stage = Stage.set_up(target, tmp_path)
    mechanical_branch(stage, left_out)
    (stage.desk / "integration.json").write_text(json.dumps(integration(left_out)))
    assert stage.play(stage.contract("", role="integrator", run="git status")) == 0
    assert stage.published is not None
    assert stage.published["failed"] == []
    assert stage.published["ranking"] == ["c-8", "c-7"]
    assert failures(stage.repo) == UNMENDED
    resolved = git(stage.repo, "log", "--format=%(trailers:only,unfold)", "-1", "HEAD").splitlines()
    assert resolved == ["Supervisor-Job: j-7", "Supervisor-Change: c-7"]
    assert [each["kind"] for each in stage.published["escalations"]] == ["SHARED_PATTERN"]
    for test in FIXES.keys() & MERGED.keys():
        subject = f"[FIX_IMPL] {FIXES[test]['subject']}"
        found = git(stage.repo, "log", "--format=%H", "--fixed-strings", f"--grep={subject}")
        git(stage.repo, "revert", "--no-edit", found)
        if test in PAIR:  # of the others, test_defects says that they mend and break nothing else
            assert failures(stage.repo, *BROKEN) == (UNMENDED & set(BROKEN)) | {test}
        git(stage.repo, "reset", "--quiet", "--hard", "HEAD^")


def test_it_names_what_it_cannot_resolve(target: Path, tmp_path: Path) -> None:
    stage = Stage.set_up(target, tmp_path)
    given = integration(PAIR[0])  # but nothing of the other side is on the branch
    (stage.desk / "integration.json").write_text(json.dumps(given))
    assert stage.play(stage.contract("", role="integrator", run="git status")) == 0
    assert stage.published is not None
    assert stage.published["failed"] == [{"job": "j-7", "change": "c-7", "reason": "no resolution is known"}]
    assert stage.subjects == []
