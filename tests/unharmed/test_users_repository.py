"""Whatever is asked of the daemon and of `supervisorctl`: the user's checkout stays as it is, to the byte."""

import asyncio
import hashlib
import os
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from tests.adapters.agent_clone import git
from tests.waiting import until
from tests.writing.test_real import Team, team

pytestmark = [pytest.mark.real, pytest.mark.proof, pytest.mark.timeout(540)]

FIXED, CLEAN, OTHER = (
    "tests/e2e/test_tags.py::test_untag_takes_a_tag_off",
    "tests/e2e/test_tags.py::test_list_by_tag",
    "tests/e2e/test_tags.py::test_tags_are_kept_in_order",
)
#: in a .git: objects, which only come, and the refs that are ours, with their logs
OURS = ("objects/", "refs/heads/supervisor/", "logs/refs/heads/supervisor/")


def facts(repo: Path) -> dict[str, str]:
    """Every file but objects and refs of ours: index, HEAD, refs, stash, reflogs, config, hooks and work tree, each
    with its mode, the time it was written, and what is in it. Folders of the work tree tell what came and went."""
    return dict(_facts(repo))


def _facts(repo: Path) -> Iterator[tuple[str, str]]:
    for parent, folders, names in os.walk(repo):
        inside = Path(parent).relative_to(repo).parts[:1] == (".git",)
        for path in map(Path(parent).joinpath, [*names, *([] if inside else folders)]):
            name = path.relative_to(repo).as_posix()
            if name == ".git" or name.removeprefix(".git/").startswith(OURS) and inside:
                continue
            found = path.lstat()
            content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
            yield name, f"{found.st_mode:o} {found.st_mtime_ns} {content}"


def in_the_middle_of_something(repo: Path) -> None:
    """A person's checkout as it is on a working day; most of what git could be tempted to put right is there."""
    git(repo, "tag", "v1")
    git(repo, "branch", "topic")
    git(repo, "pack-refs", "--all")
    git(repo, "tag", "-a", "v2", "-m", "loose")
    for setting in ("fetch.prune true", "fetch.pruneTags true", "core.untrackedCache true", "fetch.recurseSubmodules true"):
        git(repo, "config", *setting.split())
    readme = repo / "README.md"
    readme.write_text(readme.read_text() + "stashed\n")
    git(repo, "stash")
    readme.write_text(readme.read_text() + "staged\n")
    git(repo, "add", "README.md")
    readme.write_text(readme.read_text() + "not staged\n")
    (repo / "notes").write_text("untracked\n")
    # The index does not know that these are what they were, nor is it newer than they are: a refresh would write it.
    for path in repo.glob("pantry/*.py"):
        os.utime(path)
    now = (repo / ".git" / "index").stat().st_mtime_ns
    os.utime(repo / "tutorial.sh", ns=(now, now))


type Same = Callable[..., Awaitable[str]]


async def test_the_users_checkout_is_the_same_after_everything() -> None:
    async with team() as here:
        await asyncio.to_thread(in_the_middle_of_something, here.repo)
        before = facts(here.repo)

        async def same(*words: str, code: int = 0, **env: str) -> str:
            done = await here.ctl(*words, code=code)
            after = facts(here.repo)
            assert {name for name in {*before, *after} if before.get(name) != after.get(name)} == set(), words
            return done.out.strip()

        await the_life_of_a_batch(here, same)
        await what_is_asked_of_a_tutorial(here, same)
        assert git(here.repo, "for-each-ref", "--format=%(refname)", "refs/heads/supervisor").strip()


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
    await same("events", batch)
    await same("retry", batch, code=5)  # it is over
    await same("cancel", await same("submit", CLEAN, "--allow-dirty"))


async def is_done(here: Team, batch: str) -> bool:
    return bool((await here.ctl("--json", "status", batch)).json["batch"]["jobs"]["done"])


async def what_is_asked_of_a_tutorial(here: Team, same: Same) -> None:
    """All that a person may ask for but `--accept`, `--reject` and `--fix`, which are there to write."""
    await same("tutorial", "blocks", "tutorial.sh")
    await same("tutorial", "check", "tutorial.sh", "--tests", "tests/e2e", code=1)
    batch = await same("tutorial", "fill", "tutorial.sh", "--seed", SEED)
    await same("wait", batch)
    await same("tutorial", "fill", "tutorial.sh", "--review", batch)
    await same("tutorial", "fill", "tutorial.sh", "--report", batch)
    await same("cancel", await same("tutorial", "sync", "tutorial.sh", "--tests", "tests/e2e"))
    await same("tutorial", "sync", "tutorial.sh", "--accept", batch, code=4)  # there is uncommitted work
