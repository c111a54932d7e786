"""Inspects a person's checkout, read-only. Makes our own checkouts, which borrow objects from a bare repository."""

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from supervisor.adapters import process
from supervisor.adapters.git.process import git
from supervisor.errors import GitFailed, NoSuchThing, Refused
from supervisor.threads import in_thread, surely

#: the one branch that a checkout of ours has
BRANCH = "base"
MANY = 5
#: a whole home may be copied, and the disk may be busy
COPY_SECONDS = 1800.0


@dataclass(frozen=True, slots=True)
class RepoFacts:
    """A person's checkout as it is now."""

    root: Path
    head_sha: str
    #: "" when HEAD is detached
    branch: str
    #: the first few paths with uncommitted work
    dirty_paths: tuple[str, ...] = ()

    @property
    def dirty(self) -> bool:
        return bool(self.dirty_paths)


async def inspect(repo: Path) -> RepoFacts:
    """Read-only: not even the index is refreshed."""
    if not await in_thread(repo.is_dir):
        raise NoSuchThing(f"there is no directory {repo}", hint="give the path of a git checkout with --repo")
    try:
        asked = ["--is-bare-repository", "--is-shallow-repository", "--show-object-format"]
        kind = (await git(repo, "rev-parse", *asked)).split()
    except GitFailed as error:
        raise Refused(f"{repo} is not a git repository", hint="give the path of a git checkout") from error
    if kind[0] == b"true":
        raise Refused(f"{repo} is a bare repository", hint="give the path of a checkout of it")
    if kind[1] == b"true":
        hint = f"run `git -C {repo} fetch --unshallow` first: agents get the whole history"
        raise Refused(f"{repo} is a shallow clone", hint=hint)
    if kind[2] != b"sha1":
        raise Refused(f"{repo} uses {kind[2].decode()} object names", hint="only SHA-1 is supported")
    try:
        root = Path((await git(repo, "rev-parse", "--show-toplevel")).decode(errors="surrogateescape").strip("\n"))
    except GitFailed as error:
        raise Refused(f"{repo} is not inside a work tree", hint="give the path of the checkout itself") from error
    head = await _word(root, "rev-parse", "-q", "--verify", "HEAD^{commit}")
    if not head:
        raise Refused(f"{root} has no commit yet", hint="commit something first")
    branch = await _word(root, "symbolic-ref", "-q", "--short", "HEAD")
    return RepoFacts(root, head, branch, await _dirty_paths(root))


async def _word(root: Path, *args: str) -> str:
    try:
        return (await git(root, *args)).decode(errors="replace").strip()
    except GitFailed:
        return ""


async def _dirty_paths(root: Path) -> tuple[str, ...]:
    try:
        return await _changed(root)
    except GitFailed as failed:
        hint = "see that `git status` works there for the daemon's user; a filter, such as git-lfs, may be missing"
        raise Refused(f"what is uncommitted in {root} can't be told: {failed.message}", hint=hint) from failed


async def _changed(root: Path) -> tuple[str, ...]:
    status = await git(root, "status", "--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=dirty")
    entries = [entry[3:].decode(errors="replace") for entry in status.split(b"\0") if entry]
    return tuple(entries[:MANY])


async def make_checkout(bare: Path, sha: str, into: Path) -> Path:
    """A clean checkout at `sha`: one branch, no remote, no hook, objects borrowed from `bare`. Idempotent."""
    if await in_thread(into.is_dir):
        return into
    partial = into.with_name(f".{into.name}.partial")
    await discard(partial)
    partial.parent.mkdir(parents=True, exist_ok=True)
    try:
        await git(partial.parent, "init", "-q", "--template=", "-b", BRANCH, str(partial))
        await in_thread(_prepare, partial / ".git", bare)
        await git(partial, "reset", "-q", "--hard", sha, timeout=600)
        partial.rename(into)
    finally:
        await discard(partial)
    return into


def _prepare(git_dir: Path, bare: Path) -> None:
    alternates = git_dir / "objects" / "info" / "alternates"
    alternates.parent.mkdir(exist_ok=True)
    alternates.write_text(f"{bare.resolve() / 'objects'}\n")
    # An agent's worktree shares this configuration: its gc must not pack objects away under the others.
    with (git_dir / "config").open("a") as config:
        config.write("[gc]\n\tauto = 0\n")


async def copy_tree(source: Path, into: Path) -> None:
    """Make an independent copy: changes in one do not show in the other."""
    await _copied(["--", str(source), str(into)])


async def overlay(source: Path, into: Path, paths: Sequence[str]) -> None:
    """Copy these paths into an existing folder, each at the same path, with its parent folders."""
    if paths:
        await _copied(["--parents", "--", *paths, str(into)], source)


async def _copied(args: Sequence[str], cwd: Path | None = None) -> None:
    try:
        done = await process.run(["cp", "-a", "--reflink=auto", *args], env=os.environ, timeout=COPY_SECONDS, cwd=cwd)
    except TimeoutError:
        raise GitFailed(f"the checkout can't be copied: it took more than {COPY_SECONDS:g} seconds") from None
    if done.code:
        last = done.err.decode(errors="replace").strip().splitlines()[-1:]
        raise GitFailed(f"the checkout can't be copied: {' '.join(last)[:300]}")


async def discard(path: Path) -> None:
    """Remove a folder, even if folders in it are read-only. It may be missing."""
    await surely(_remove, path)


def _remove(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)
    if path.is_dir():
        for folder, _, _ in os.walk(path):
            with suppress(OSError):
                Path(folder).chmod(0o700)
        shutil.rmtree(path, ignore_errors=True)
