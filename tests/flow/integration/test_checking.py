"""Each lie of an integrator is caught by name."""

from dataclasses import replace

import pytest

from supervisor.flow.integration.checking import BranchCommit, objections

BASE, ONE, TWO, LATE = "b" * 40, "1" * 40, "2" * 40, "3" * 40


def commit(sha: str, parent: str, change: str = "", kind: str = "FIX_IMPL", path: str = "app.py") -> BranchCommit:
    trailer = f"\n\nSupervisor-Job: b.1\nSupervisor-Change: {change}\n" if change else ""
    return BranchCommit(sha, (parent,), f"[{kind}] x{trailer}", kind, (path,))


HONEST = (commit("c1", BASE, ONE), commit("c2", "c1", TWO), commit("c3", "c2", kind="NORMALIZE"))


def reasons(*commits: BranchCommit, failed: dict[str, str] | None = None) -> list[str]:
    found = objections(BASE, commits, [ONE, TWO], failed or {}, lambda path: not path.startswith(".github/"))
    assert all(objection.detail for objection in found)
    return [objection.reason for objection in found]


def test_an_honest_branch_has_no_objection() -> None:
    assert reasons(*HONEST) == []
    assert reasons(HONEST[0], failed={TWO: "conflicts with the first"}) == []


@pytest.mark.parametrize(
    ("commits", "reason"),
    [
        (HONEST[:1], "dropped-change"),
        ((*HONEST, commit("c4", "c3", LATE)), "invented-change"),
        ((*HONEST, commit("c4", "c3")), "unlabelled-commit"),
        ((*HONEST, commit("c4", "c3", kind="CHANGELOG", path=".github/workflows/x.yml")), "forbidden-path"),
        ((commit("c1", "elsewhere", ONE), *HONEST[1:]), "not-on-base"),
        ((replace(HONEST[0], parents=()), *HONEST[1:]), "not-on-base"),
        ((HONEST[0], replace(HONEST[1], parents=("c1", "side")), HONEST[2]), "not-linear"),
        ((HONEST[0], replace(HONEST[1], parents=("side",)), HONEST[2]), "not-linear"),
        ((replace(HONEST[0], parents=(BASE, "side")), *HONEST[1:]), "not-linear"),
    ],
)
def test_a_lie_is_named(commits: tuple[BranchCommit, ...], reason: str) -> None:
    assert reasons(*commits) == [reason]


def test_giving_a_change_up_needs_a_reason() -> None:
    assert reasons(HONEST[0], failed={TWO: ""}) == ["dropped-change"]


def test_an_empty_branch_drops_everything() -> None:
    assert reasons() == ["dropped-change", "dropped-change"]
