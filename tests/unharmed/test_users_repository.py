"""Whatever is asked of the daemon and of `supervisorctl`: the user's checkout stays as it is, to the byte."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.agent_clone import git
from tests.unharmed.facts import facts, out_of_step
from tests.waiting import until
from tests.writing.test_real import Team, team

pytestmark = [pytest.mark.real, pytest.mark.proof, pytest.mark.timeout(540)]

FIXED, CLEAN, OTHER = (
    "tests/e2e/test_tags.py::test_untag_takes_a_tag_off",
    "tests/e2e/test_tags.py::test_list_by_tag",
    "tests/e2e/test_tags.py::test_tags_are_kept_in_order",
)
#: the line of one that a writer fills
SEED = "79"


def in_the_middle_of_something(repo: Path) -> None:
    """A person's checkout as it is on a working day; most of what git could be tempted to put right is there."""
    git(repo, "tag", "v1")
    git(repo, "branch", "topic")
    git(repo, "pack-refs", "--all")
    git(repo, "tag", "-a", "v2", "-m", "loose")
    for setting in (
        "fetch.prune true",
        "fetch.pruneTags true",
        "core.untrackedCache true",
        "fetch.recurseSubmodules true",
    ):
        git(repo, "config", *setting.split())
    readme = repo / "README.md"
    readme.write_text(readme.read_text() + "stashed\n")
    git(repo, "stash")
    readme.write_text(readme.read_text() + "staged\n")
    git(repo, "add", "README.md")
    readme.write_text(readme.read_text() + "not staged\n")
    (repo / "notes").write_text("untracked\n")
    tutorial = repo / "tutorial.sh"
    tutorial.write_text(tutorial.read_text().replace("pantry log --last 2", "pantry log --limit 2"))
    out_of_step(repo)


type Same = Callable[..., Awaitable[str]]


def held(here: Team) -> Same:
    """Runs a verb, and holds the checkout against what it is now; returns what the verb printed."""
    before = facts(here.repo)

    async def same(*words: str, code: int = 0, writes: str = "") -> str:
        done = await here.ctl(*words, code=code)
        after = facts(here.repo)
        assert {name for name in {*before, *after} if before.get(name) != after.get(name)} == {writes} - {""}, words
        return done.out.strip()

    return same


async def test_the_users_checkout_is_the_same_after_everything() -> None:
    async with team() as here:
        await asyncio.to_thread(in_the_middle_of_something, here.repo)
        await the_life_of_a_batch(here, held(here))
        assert git(here.repo, "for-each-ref", "--format=%(refname)", "refs/heads/supervisor").strip()

        # Writers start from what is committed only.
        here.commit("All of it")
        await asyncio.to_thread(out_of_step, here.repo)
        await what_is_asked_of_a_tutorial(here, held(here))


async def the_life_of_a_batch(here: Team, same: Same) -> None:
    """Submitted, integrated half way, a job cancelled and gone again, to its branch and report."""
    await same("submit", "tests/e2e/test_tags.py", code=4)  # there is uncommitted work
    await same("submit", FIXED, "--allow-dirty", "--dry-run")
    batch = await same("submit", FIXED, CLEAN, OTHER, "--allow-dirty")
    await same("cancel", f"{batch}.3")
    await same("retry", f"{batch}.3")
    await until("a job is done", lambda: is_done(here, batch), 240)
    await same("integrate", batch)
    for words in (["status"], ["status", batch], ["jobs", batch], ["job", f"{batch}.1"], ["logs", f"{batch}.1"]):
        await same(*words)
    await same("wait", batch)
    await same("report", batch)
    await a_review(here, same, batch)
    await same("work")
    await same("events", batch)
    await same("cancel", await same("submit", CLEAN, "--allow-dirty"))


async def a_review(here: Team, same: Same, batch: str) -> None:
    """All that is on the branch is dropped, and comes back."""
    shown = (await here.ctl("--json", "review", batch)).json
    commits, branch = [row["commit"] for row in shown["rows"]], f"refs/heads/{shown['branch']}"
    assert commits
    made = git(here.repo, "rev-parse", f"{branch}^{{tree}}")
    await same("review", batch)
    await same("review", batch, "drop", *commits, "--reason", "to see whether it can")
    assert git(here.repo, "log", "-1", "--format=%s", branch).startswith('Revert "')
    await same("review", batch, "undo", *commits)
    assert git(here.repo, "rev-parse", f"{branch}^{{tree}}") == made


async def is_done(here: Team, batch: str) -> bool:
    return bool((await here.ctl("--json", "status", batch)).json["batch"]["jobs"]["done"])


async def what_is_asked_of_a_tutorial(here: Team, same: Same) -> None:
    """All that a person may ask for but `--accept`, `--reject` and `--fix`, which are there to write."""
    await same("tutorial", "blocks", "tutorial.sh")
    await same("tutorial", "check", "tutorial.sh", "--tests", "tests/e2e", code=1)
    batch = await same("tutorial", "fill", "tutorial.sh", "--seed", SEED)
    await same("wait", batch)
    await same("tutorial", "fill", "tutorial.sh", "--report", batch)
    await same("cancel", await same("tutorial", "sync", "tutorial.sh", "--tests", "tests/e2e"))
    await same("tutorial", "sync", "tutorial.sh", "--accept", batch, code=4)  # a block is none of its tests
    # The record of what people have said begins with what they were shown.
    await same("tutorial", "fill", "tutorial.sh", "--review", batch, writes="tutorial.review.json")
