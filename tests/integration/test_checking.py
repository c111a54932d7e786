"""Each lie of an integrator in the shape and the trailers of its branch is caught by name."""

from dataclasses import replace

import pytest

from supervisor.integration.rules.checking import BranchCommit, dropped, placed, shape
from supervisor.integration.rules.work import Unit
from supervisor.model.change import Change

BASE, ONE, TWO, THREE, HARD, LATE = ("b" * 40, *(digit * 40 for digit in "12345"))
#: what the machine has made: tests of two jobs, and a fix
MACHINE = {"m1": (ONE, TWO), "m2": (THREE,)}
ASIDE = (Unit(4, HARD, (), (Change(4, HARD, "FIX_IMPL", "hard", ("app.py",), "p"),)),)


def commit(sha: str, parent: str, *changes: str, job: str = "b.4") -> BranchCommit:
    trailers = "\n".join([f"Supervisor-Job: {job}", *(f"Supervisor-Change: {change}" for change in changes)])
    return BranchCommit(sha, (parent,), f"[FIX_IMPL] x\n\n{trailers if changes else ''}", "FIX_IMPL", ("app.py",))


HONEST = (commit("m1", BASE, ONE, TWO), commit("m2", "m1", THREE), commit("c3", "m2", HARD))


def lies(*commits: BranchCommit, failed: dict[str, str] | None = None) -> list[str]:
    found, untrue = placed("b", commits, MACHINE, ASIDE)
    every = [*shape(BASE, commits), *untrue, *dropped(found, MACHINE, ASIDE, failed or {})]
    assert all(each.detail for each in every)
    return [each.reason for each in every]


def test_an_honest_branch_has_no_objection() -> None:
    assert lies(*HONEST) == []
    assert lies(*HONEST[:2], failed={HARD: "conflicts with the first"}) == []
    reordered = (commit("c1", BASE, THREE), commit("c2", "c1", TWO, ONE), commit("c3", "c2", HARD))
    assert lies(*reordered) == []


def test_of_two_jobs_with_the_same_commit_the_one_that_is_named_is_meant() -> None:
    """One of them is merged and the other in conflict, or both are."""
    same = Change(4, THREE, "FIX_IMPL", "", ("app.py",), "q")
    both = [Unit(job, LATE, (), (replace(same, job=job), Change(job, LATE, "", "", ("b",), "r"))) for job in (4, 5)]
    branch = [*HONEST[:2], commit("c3", "m2", THREE, LATE), commit("c4", "c3", THREE, LATE, job="b.5")]
    found, untrue = placed("b", branch, MACHINE, both)
    assert untrue == []
    assert [each.machine for each in found] == ["m1", "m2", "", ""]
    assert [each.resolves.job for each in found if each.resolves] == [4, 5]


@pytest.mark.parametrize(
    ("commits", "reason"),
    [
        (HONEST[:2], "dropped-change"),
        ((HONEST[0], replace(HONEST[2], parents=("m1",))), "dropped-change"),
        ((*HONEST, commit("c4", "c3", LATE)), "invented-change"),
        ((*HONEST, commit("c4", "c3")), "unlabelled-commit"),
        ((*HONEST, commit("c4", "c3", HARD)), "repeated-change"),
        ((*HONEST, commit("c4", "c3", THREE)), "repeated-change"),
        ((*HONEST[:2], commit("c3", "m2", HARD, job="b.1")), "wrong-job"),
        ((commit("c1", "elsewhere", ONE, TWO), *HONEST[1:]), "not-on-base"),
        ((replace(HONEST[0], parents=()), *HONEST[1:]), "not-on-base"),
        ((HONEST[0], replace(HONEST[1], parents=("m1", "side")), HONEST[2]), "not-linear"),
        ((HONEST[0], replace(HONEST[1], parents=("side",)), HONEST[2]), "not-linear"),
        ((replace(HONEST[0], parents=(BASE, "side")), *HONEST[1:]), "not-linear"),
    ],
)
def test_a_lie_is_named(commits: tuple[BranchCommit, ...], reason: str) -> None:
    found = lies(*commits)
    assert found[0] == reason
    assert set(found) <= {reason, "not-linear", "dropped-change"}


@pytest.mark.parametrize(
    "squashed", [commit("c1", BASE, ONE, TWO, THREE, HARD), commit("c1", BASE, THREE, HARD), commit("c1", BASE, ONE)]
)
def test_several_in_one_or_a_part_of_one_is_a_lie(squashed: BranchCommit) -> None:
    assert lies(squashed)[0] == "mixed-changes"


def test_giving_a_change_up_needs_a_reason_and_is_for_conflicts_only() -> None:
    assert lies(*HONEST[:2], failed={HARD: ""}) == ["dropped-change"]
    assert lies(HONEST[0], failed={HARD: "too hard", THREE: "ugly"}) == ["dropped-change"]


def test_an_empty_branch_drops_everything() -> None:
    assert lies() == ["dropped-change"] * 3
