"""Dropped commits leave the branch of a pull request, too, whoever moved that on."""

from pathlib import Path

import pytest

from supervisor.errors import SupervisorError
from supervisor.model.review import Verdict
from tests.agent_clone import git
from tests.integration.reviewed import BRANCH, TEXT, stage


async def test_the_pull_request_gets_the_same_commit(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        on.offered()
        done = await on.asked(Verdict.DROPPED, on.third)
        assert on.tip() == on.tip(on.remote) == done.reverted[on.third]


async def test_a_pull_request_that_a_colleague_moved_on_keeps_their_commits(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        on.offered()
        theirs = on.colleague(theirs__py="theirs\n")
        done = await on.asked(Verdict.DROPPED, on.third)
        assert git(on.remote, "rev-parse", f"{on.tip(on.remote)}^") == theirs
        assert git(on.repo, "rev-parse", f"{on.tip()}^") == on.third
        assert (on.file(), on.file(on.remote)) == (TEXT.replace("one", "ONE!").strip(),) * 2
        assert (set(done.reverted), done.problems) == ({on.third}, {})


async def test_what_collides_in_one_place_only_is_done_in_the_other(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        on.offered()
        on.colleague(app__py=TEXT.replace("one", "ONE!").upper().replace("THREE", "THREE?"))
        before = on.tip(on.remote)
        done = await on.asked(Verdict.DROPPED, on.third)
        assert (set(done.reverted), on.tip(on.remote)) == ({on.third}, before)
        why = "it can't be reverted alone: what came later changes the same lines in app.py"
        assert done.notes == (f"{on.third[:12]} in the pull request: {why}",)


async def test_a_push_that_fails_is_tried_again_and_nothing_is_done_twice(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        on.offered()
        lock = on.remote / "refs" / "heads" / f"{BRANCH}.lock"
        lock.touch()
        with pytest.raises(SupervisorError):
            await on.asked(Verdict.DROPPED, on.third)
        ours = on.tip()
        assert on.tip(on.remote) == on.third
        lock.unlink()
        done = await on.revised()
        assert dict(done.reverted) == {on.third: ours}
        assert on.tip() == on.tip(on.remote) == ours


@pytest.mark.parametrize("gone", ["branch", "token"])
async def test_a_pull_request_that_can_not_be_revised_is_told(tmp_path: Path, gone: str) -> None:
    async with stage(tmp_path) as on:
        on.offered()
        if gone == "token":
            on.where = None
        else:
            git(on.remote, "update-ref", "-d", f"refs/heads/{BRANCH}")
        done = await on.asked(Verdict.DROPPED, on.third)
        assert dict(done.reverted) == {on.third: on.tip()}
        assert [("no token" in note, "no branch" in note) for note in done.notes] == [
            (gone == "token", gone == "branch")
        ]
