"""Advances one branch of a person's repository to commits of ours. HEAD, index and work tree stay as they are."""

from pathlib import Path

from supervisor.adapters.git.landing import FETCH
from supervisor.adapters.git.process import git
from supervisor.errors import Refused

FETCH_SECONDS = 600.0


async def advance(bare: Path, target: Path, branch: str, old: str, new: str) -> None:
    """Raises GitFailed if the branch is not at `old` any more, Refused while it is checked out somewhere."""
    if where := await _checked_out(target, branch):
        hint = f"`git -C {where} switch --detach` lets it go"
        raise Refused(f"the branch {branch} is checked out in {where}: it is revised once it is not", hint=hint)
    await git(target, *FETCH, str(bare), new, timeout=FETCH_SECONDS)
    await git(target, "update-ref", "-m", "agent-supervisor: reviewed", f"refs/heads/{branch}", new, old)


async def _checked_out(repo: Path, branch: str) -> str:
    """The work tree that has the branch checked out; "": none."""
    listed = (await git(repo, "worktree", "list", "--porcelain", "-z")).decode(errors="replace")
    for entry in listed.split("\0\0"):
        fields = dict(field.partition(" ")[::2] for field in entry.strip("\0").split("\0"))
        if fields.get("branch") == f"refs/heads/{branch}":
            return fields.get("worktree", "a work tree")
    return ""
