"""The target is a real tool whose tests fail just where defects.json says so."""

from datetime import date
from pathlib import Path

from supervisor.e2e.tutorial.check import check
from supervisor.e2e.tutorial.citations import find_tests
from supervisor.model.ledger import Fate
from supervisor.model.outcome import Outcome
from supervisor.rehearsal import TARGET, lay_out
from tests.rehearsal.stage import KNOWN, SEEDS, clone, commit, failures, git


def test_its_suite_fails_exactly_where_a_defect_is_seeded(target: Path) -> None:
    assert failures(target) == {test for test, seed in SEEDS.items() if not seed["passes_before"]}


def test_tutorial_and_tests_cite_each_other_completely() -> None:
    report = check(TARGET / "tutorial.sh", [TARGET / "tests"], today=date(2026, 1, 1))
    assert report.exit_code == 0
    assert len(report.tutorial.blocks) >= 20
    assert len(report.tutorial.seeds) == 2
    assert len(report.tests) >= 30


def test_every_seed_names_a_test_that_there_is() -> None:
    tests, _ = find_tests([TARGET])
    assert set(SEEDS) <= {f"{Path(test.path).relative_to(TARGET)}::{test.name}" for test in tests}
    assert KNOWN["default"]["expected"]["outcome"] == Outcome.CLEAN


def test_every_outcome_of_an_agent_is_rehearsed() -> None:
    """Cancelling is what people do, and who is mended by a sibling has no agent."""
    without_agent = {Outcome.CANCELLED, Outcome.FIXED_BY_SIBLING}
    assert {seed["expected"]["outcome"] for seed in SEEDS.values()} == set(Outcome) - without_agent
    assert {seed["expected"]["ledger"] for seed in SEEDS.values()} < set(Fate)


def test_every_kind_of_defect_is_there_often_enough() -> None:
    kinds = [seed["defect"] for seed in SEEDS.values()]
    least = {"implementation": 4, "test": 4, "weak": 4, "tutorial": 1, "docs": 1, "missing": 1}
    assert all(kinds.count(kind) >= wanted for kind, wanted in least.items())
    raised = {escalation["kind"] for seed in SEEDS.values() for escalation in seed.get("escalations", [])}
    assert raised == {"UNCAUGHT_BUG", "SHARED_PATTERN", "BLOCKER"}


def test_it_is_laid_out_the_same_every_time(target: Path, tmp_path: Path) -> None:
    lay_out(tmp_path / "again")
    assert git(target, "rev-parse", "HEAD") == git(tmp_path / "again", "rev-parse", "HEAD")
    assert git(target, "rev-list", "--count", "HEAD") == "1"
    assert git(target, "status", "--porcelain", "--ignored=no") == ""


def test_repeated_changes_are_one_patch_to_git(target: Path, tmp_path: Path) -> None:
    """Those who mend the common stock make the same patch; those who begin alike add the same line elsewhere."""
    repo = clone(target, tmp_path / "repo")
    patches: dict[str, list[str]] = {}
    added: dict[str, set[str]] = {}
    for seed in SEEDS.values():
        if group := seed.get("identical") or seed.get("alike"):
            made = commit(repo, seed["changes"][0])
            git(repo, "reset", "--quiet", "--hard", "origin/main")
            diff = git(repo, "diff", "-U0", f"{made}^", made)
            (tmp_path / "diff").write_text(diff + "\n")
            patch_id = git(repo, "-c", "alias.id=!git patch-id --stable <" + str(tmp_path / "diff"), "id")
            patches.setdefault(group, []).append(patch_id.split()[0])
            added.setdefault(group, set()).update(line for line in diff.splitlines() if line.startswith("+ "))
    assert len(patches["keep-in-kg"]) == 3
    assert len(set(patches["keep-in-kg"])) == 1
    assert len(set(patches["begin-with-new"])) == 3
    assert len(added["begin-with-new"]) == 1
