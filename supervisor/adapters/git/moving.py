"""What followed a batch's base in a person's repository, and whether the batch's branch merges with it. Read-only
there."""

from dataclasses import dataclass
from pathlib import Path

import pygit2
from anyio import CancelScope

from supervisor.adapters.git.merging import Merger
from supervisor.adapters.git.process import git, run
from supervisor.threads import in_thread

FETCH = ("fetch", "-q", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules")
FETCH_SECONDS, LOOK_SECONDS = 600.0, 10.0
MOST_NAMED = 5


async def brought_home(bare: Path, repo: Path, sha: str, ref: str) -> None:
    """Fetch a commit of a person's repository, with its history, into a ref of ours."""
    # A person's own history is trusted, and an old one may hold objects that a strict check refuses.
    lenient = ["-c", "transfer.fsckObjects=false", "-c", "fetch.unpackLimit=1"]
    await git(bare, *lenient, *FETCH, str(repo), f"+{sha}:{ref}", timeout=FETCH_SECONDS)


@dataclass(frozen=True, slots=True)
class Made:
    """A branch that was made on a base, by its name or its head; and the branch whose last commit the base was."""

    start: str
    base: str
    branch: str = ""
    head: str = ""


async def moved(bare: Path, repo: Path, made: Made) -> str:
    """What followed the base, in a sentence; "" for nothing."""
    now = await tip(repo, made.start) if made.start else ""
    if not now or now == made.base:
        return ""
    head = made.head or await tip(repo, made.branch) or made.base
    await brought_home(bare, repo, now, f"refs/seen/{now}")
    if not made.head and head != made.base:
        await brought_home(bare, repo, head, f"refs/seen/{head}")
    try:
        count = await new_commits(bare, made.base, now)
        return told(made.start, count, await in_thread(collisions, bare, made.base, head, now))
    finally:
        for sha in {now, head}:
            with CancelScope(shield=True):
                await git(bare, "update-ref", "-d", f"refs/seen/{sha}")


async def tip(repo: Path, branch: str) -> str:
    """The commit of a branch; "" if the branch does not exist any more."""
    found = await run(repo, "rev-parse", "-q", "--verify", f"refs/heads/{branch}^{{commit}}", timeout=LOOK_SECONDS)
    return "" if found.code else found.out.decode().strip()


async def new_commits(bare: Path, base: str, now: str) -> int | None:
    """The number of commits after the base; None if the branch does not contain the base any more."""
    if (await run(bare, "merge-base", "--is-ancestor", base, now)).code:
        return None
    return int(await git(bare, "rev-list", "--count", f"{base}..{now}"))


def collisions(bare: Path, base: str, head: str, now: str) -> tuple[str, ...]:
    """The files in which the two conflict. Blocking."""
    merger = Merger(pygit2.Repository(str(bare)))
    trees = [merger.commit_of(sha).tree for sha in (base, now, head)]
    return merger.merged(*trees).conflicts


def told(branch: str, count: int | None, conflicts: tuple[str, ...]) -> str:
    """`main has moved on by 3 commits: the branch merges cleanly`."""
    if count is None:
        how = f"{branch} does not stand on this batch's base any more"
    else:
        how = f"{branch} has moved on by {count} {'commit' if count == 1 else 'commits'}"
    if not conflicts:
        return f"{how}: the branch merges cleanly"
    more = f" and {len(conflicts) - MOST_NAMED} more" if len(conflicts) > MOST_NAMED else ""
    return f"{how}: the branch collides with it in {', '.join(conflicts[:MOST_NAMED])}{more}"
