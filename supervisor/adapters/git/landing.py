"""Creates one new branch in a person's repository: never overwrites a branch, and changes nothing else there."""

from pathlib import Path

from supervisor.adapters.git.process import git, run
from supervisor.errors import GitFailed, NoSuchThing, Refused
from supervisor.threads import in_thread

#: overrides what the repository's own configuration says about fetches
FETCH = (
    *("fetch", "-q", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"),
    *("--no-recurse-submodules", "--no-prune"),
)


async def hand_over(bare: Path, target: Path, sha: str, branch: str) -> bool:
    """Create the branch. False: it has the commit already."""
    await _check(bare, target, sha, branch)
    found = (await run(target, "rev-parse", "-q", "--verify", f"refs/heads/{branch}")).out.decode().strip()
    if found:
        inside = await run(target, "merge-base", "--is-ancestor", sha, found)
        if found == sha or inside.code == 0:
            return False
        raise Refused(f"there is a branch {branch} already, with other commits", hint="take it with --branch OTHER")
    await git(target, *FETCH, str(bare), f"{sha}:refs/heads/{branch}", timeout=600)
    return True


async def _check(bare: Path, target: Path, sha: str, branch: str) -> None:
    if (await run(bare.parent, "check-ref-format", f"refs/heads/{branch}")).code or branch.startswith("-"):
        raise Refused(f"{branch} can't be the name of a branch", hint="see `git check-ref-format --help`")
    if not await in_thread(bare.is_dir) or (await run(bare, "cat-file", "-e", f"{sha}^{{commit}}")).code:
        raise NoSuchThing(f"commit {sha[:12]} is not kept any more", hint="`[keep]` says for how long work is kept")
    hint = "bring the repository back, or take the work into another one with --repo DIR"
    if not await in_thread(target.is_dir):
        raise Refused(f"there is no repository {target}", hint=hint)
    try:
        await git(target, "rev-parse", "--git-dir")
    except GitFailed as failed:
        raise Refused(f"{target} is not a git repository any more", hint=hint) from failed
