"""Dropped commits leave the branch by commits on top of it, wherever the branch is by now; on real git."""

from pathlib import Path

import pytest

from supervisor.adapters.git.advancing import advance
from supervisor.errors import GitFailed, Refused
from supervisor.model.review import Verdict
from supervisor.ports.review import Revised
from tests.agent_clone import commit, git
from tests.integration.reviewed import BRANCH, TEXT, stage


async def test_a_dropped_fix_is_reverted_on_top(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        done = await on.asked(Verdict.DROPPED, on.third, reason="it shouts\n\nSupervisor-Job: b.9")
        assert (dict(done.reverted), done.problems, done.notes) == ({on.third: on.tip()}, {}, ())
        assert on.file() == TEXT.replace("one", "ONE!").strip()
        assert git(on.repo, "rev-parse", f"{on.tip()}^") == on.third
        assert on.message(on.tip()).splitlines() == [
            "agent-supervisor <agent-supervisor@localhost.invalid>",
            'Revert "[FIX_IMPL] Third"',
            "",
            f"This reverts commit {on.third}.",
            "",
            "it shouts Supervisor-Job: b.9",
            "",
            "Supervisor-Batch: b",
            "Supervisor-Job: b.3",
            f"Supervisor-Dropped: {on.third}",
            "Supervisor-Asked-By: ann",
        ]


async def test_what_stands_on_another_goes_with_it(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        done = await on.asked(Verdict.DROPPED, on.first, on.again, on.third)
        assert (set(done.reverted), done.problems) == ({on.first, on.again, on.third}, {})
        assert on.file() == TEXT.strip()
        assert git(on.repo, "rev-list", "--count", f"{on.third}..{on.tip()}") == "3"


async def test_asked_again_it_is_the_same_commit(tmp_path: Path) -> None:
    """So after a crash between the move of the branch and the journal."""
    async with stage(tmp_path) as on:
        first = await on.asked(Verdict.DROPPED, on.third)
        on.known = Revised()
        assert await on.revised() == first


async def test_a_persons_own_revert_counts(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        clone = on.home / "person"
        git(on.home, "clone", "-q", "-b", BRANCH, str(on.repo), str(clone))
        git(clone, "revert", "--no-edit", on.third)
        git(clone, "push", "-q", "origin", BRANCH)
        theirs = on.tip()
        done = await on.asked(Verdict.DROPPED, on.third)
        assert dict(done.reverted) == {on.third: theirs} == {on.third: on.tip()}


async def test_what_was_dropped_comes_back(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.asked(Verdict.DROPPED, on.again, on.third)
        done = await on.asked(Verdict.ACCEPTED, on.again, on.third, author="ben")
        assert (set(done.restored), done.problems) == ({on.again, on.third}, {})
        assert git(on.repo, "diff", on.third, on.tip()) == ""
        subject, _, *_, restored, asked = on.message(done.restored[on.third]).splitlines()[1:]
        assert subject == 'Reapply "[FIX_IMPL] Third"'
        assert (restored, asked) == (f"Supervisor-Restored: {on.third}", "Supervisor-Asked-By: ben")


async def test_what_collides_is_said_and_the_branch_is_left(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        done = await on.asked(Verdict.DROPPED, on.first)
        why = "it can't be reverted alone: what came later changes the same lines in app.py"
        assert (done.reverted, dict(done.problems)) == ({}, {on.first: why})
        assert on.tip() == on.third


async def test_one_that_collides_holds_up_no_other(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        done = await on.asked(Verdict.DROPPED, on.first, on.third)
        assert (set(done.reverted), set(done.problems)) == ({on.third}, {on.first})
        assert on.file() == TEXT.replace("one", "ONE!").strip()


async def test_a_branch_that_a_person_moved_on_keeps_their_commits(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        clone = on.home / "person"
        git(on.home, "clone", "-q", "-b", BRANCH, str(on.repo), str(clone))
        theirs = commit(clone, "mine", mine__py="mine\n")
        git(clone, "push", "-q", "origin", BRANCH)
        done = await on.asked(Verdict.DROPPED, on.third)
        assert git(on.repo, "rev-parse", f"{on.tip()}^") == theirs
        assert (dict(done.reverted), on.file(name="mine.py")) == ({on.third: on.tip()}, "mine")


async def test_a_branch_that_was_rewritten_is_left(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        git(on.repo, "update-ref", f"refs/heads/{BRANCH}", on.again)
        done = await on.asked(Verdict.DROPPED, on.third)
        assert dict(done.problems) == {on.third: "the branch does not have this commit any more: it was rewritten"}
        assert on.tip() == on.again


async def test_a_branch_that_is_gone_is_not_made_again(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        git(on.repo, "update-ref", "-d", f"refs/heads/{BRANCH}")
        done = await on.asked(Verdict.DROPPED, on.third)
        assert list(done.problems.values()) == [
            f"there is no branch {BRANCH} any more: revert it where it was merged"
        ]
        assert git(on.repo, "for-each-ref", "refs/heads/supervisor") == ""


async def test_a_branch_that_is_checked_out_waits(tmp_path: Path) -> None:
    """Otherwise the work tree would be behind its own HEAD."""
    async with stage(tmp_path) as on:
        there = on.home / "review it"
        git(on.repo, "worktree", "add", "-q", str(there), BRANCH)
        with pytest.raises(Refused, match=f"is checked out in {there}: it is revised once it is not"):
            await on.asked(Verdict.DROPPED, on.third)
        assert (on.tip(), git(there, "status", "--porcelain")) == (on.third, "")
        git(there, "switch", "-q", "--detach")
        assert dict((await on.revised()).reverted) == {on.third: on.tip()}


async def test_who_moves_the_branch_at_the_last_moment_wins(tmp_path: Path) -> None:
    """The move is compare-and-swap."""
    async with stage(tmp_path) as on:
        await on.asked(Verdict.DROPPED, on.third)
        ours, bare = on.tip(), on.store.bare(on.repo)
        git(on.repo, "update-ref", f"refs/heads/{BRANCH}", on.again)
        with pytest.raises(GitFailed):
            await advance(bare, on.repo, BRANCH, on.third, ours)
        assert on.tip() == on.again
