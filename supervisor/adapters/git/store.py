"""The daemon's own bare repository for each repository it works on, and what is made from it.

    <state_dir>/repos/<name>.git                 every commit that matters, by ref:
        refs/supervisor/<batch>/base                 where a batch starts
        refs/supervisor/<batch>/<job>/<attempt>      what an attempt published
        refs/supervisor/<batch>/<job>/rescued/<n>    what attempt n left without publishing
        refs/supervisor/<batch>/integrated/<n>       what an integration made of it
        refs/supervisor/<batch>/landed/<n>/<name>    and under which name a person got it
        refs/supervisor/<batch>/reviewed/<place>     that branch, as its review has left it
    <state_dir>/batches/<batch>/source           the clean checkout that mngr copies for each agent

A person's repository is read by `inspect` and `snapshot`, and written once, by `land`: a new branch, nothing else.
Only its review moves that branch on (`advancing`).
Objects come in as one pack for each import and are never packed on the way: `maintain` does it, after a batch. It
drops only what no ref reaches, and a ref is dropped only by `forget`, so work is never lost to it.
"""

import hashlib
import re
import shutil
from contextlib import suppress
from pathlib import Path

from anyio import Lock

from supervisor.adapters.git import checkouts, housekeeping, moving
from supervisor.adapters.git.checkouts import RepoFacts
from supervisor.adapters.git.landing import FETCH, hand_over
from supervisor.adapters.git.process import git, run
from supervisor.adapters.git.showing import commits, titles
from supervisor.errors import GitFailed, NoSuchThing, Refused
from supervisor.ports import Commit
from supervisor.threads import in_thread

MOST_NAMES = 100
MAX_PATCH = 50_000

_SHA = re.compile(r"[0-9a-f]{40}")


class GitStore:
    """The repositories. Every call has a deadline; raises GitFailed or Refused."""

    def __init__(self, state_dir: Path) -> None:
        self._state_dir = state_dir.absolute()
        self._creating = Lock()

    def bare(self, repo: Path) -> Path:
        """Where our copy of the repository at `repo` is: readable by a person, unique by its path."""
        digest = hashlib.sha256(str(repo).encode(errors="surrogateescape")).hexdigest()[:8]
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", repo.name).strip("-.") or "repo"
        return self._state_dir / "repos" / f"{name[:40]}-{digest}.git"

    def source(self, batch: str) -> Path:
        return self._state_dir / "batches" / batch / "source"

    async def inspect(self, repo: Path) -> RepoFacts:
        return await checkouts.inspect(repo)

    async def snapshot(self, repo: Path, base: str, batch: str) -> Path:
        """Bring the base commit home, and make the batch's source checkout of it. Again is fine."""
        if not _SHA.fullmatch(base):
            raise NoSuchThing(f"{base!r} is not a full commit id", hint="resolve it first")
        bare = await self._existing_bare(repo)
        # A person's own history is trusted, and old ones hold objects that a strict check refuses.
        lenient = ["-c", "transfer.fsckObjects=false", "-c", "fetch.unpackLimit=1"]
        fetch = ["fetch", "-q", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", str(repo)]
        try:
            await git(bare, *lenient, *fetch, f"+{base}:refs/supervisor/{batch}/base", timeout=1800)
        except GitFailed:
            # What was worked on before is here still, whatever was done to the repository since.
            if (await run(bare, "rev-list", "--objects", "--quiet", base, timeout=1800)).code:
                raise
            await git(bare, "update-ref", f"refs/supervisor/{batch}/base", base)
        return await checkouts.make_checkout(bare, base, self.source(batch))

    async def keep(self, repo: Path, sha: str, ref: str) -> None:
        """Bring a commit of a person's repository home, under a ref of ours."""
        await moving.brought_home(await self._existing_bare(repo), repo, sha, ref)

    async def pin(self, repo: Path, sha: str, ref: str) -> None:
        await git(self.bare(repo), "update-ref", ref, sha)

    async def moved(self, repo: Path, start: str, base: str, branch: str = "", head: str = "") -> str:
        """What came after the base on the branch `start`, and whether a branch made on the base merges with that, in
        a sentence; "" for nothing, or where that can't be seen."""
        try:
            return await moving.moved(self.bare(repo), repo, moving.Made(start, base, branch, head))
        except (GitFailed, OSError, ValueError, KeyError):
            return ""

    async def patch(self, repo: Path, sha: str) -> str:
        """What a commit changes, for people and agents to read; the beginning of it, if it is long."""
        shown = await git(self.bare(repo), "show", "--format=", "--no-ext-diff", "--no-textconv", sha)
        return shown[:MAX_PATCH].decode(errors="replace")

    async def land_once(self, repo: Path, sha: str, batch: str, number: int) -> str:
        """The batch's branch in a person's repository; asked again, the same name, whatever was done to it since."""
        bare, folder = self.bare(repo), f"refs/supervisor/{batch}/landed/{number}/"
        if found := (await git(bare, "for-each-ref", "--format=%(refname)", folder)).decode().split():
            return found[0].removeprefix(folder)
        name = await self.land(repo, sha, f"supervisor/{batch}")
        await git(bare, "update-ref", f"{folder}{name}", sha)
        return name

    async def land(self, repo: Path, sha: str, branch: str) -> str:
        """Make a new branch in a person's repository, and touch nothing else there. A name that is taken by another
        commit gets a number; the name is returned. Again is fine."""
        for number in range(1, MOST_NAMES):
            name = branch if number == 1 else f"{branch}-{number}"
            found = await run(repo, "rev-parse", "-q", "--verify", f"refs/heads/{name}")
            if found.out.decode().strip() == sha:
                return name
            if found.code:
                await git(repo, *FETCH, str(self.bare(repo)), f"{sha}:refs/heads/{name}", timeout=600)
                return name
        raise Refused(f"there are {MOST_NAMES} branches {branch} already", hint="delete those that are not needed")

    async def resolve(self, repo: Path, rev: str) -> str:
        """The full id of a commit in a person's repository."""
        return (await git(repo, "rev-parse", "-q", "--verify", f"{rev}^{{commit}}")).decode().strip()

    async def commits(self, repo: Path, base: str, head: str) -> list[Commit]:
        """Those between two commits, with what they change. Raises GitFailed."""
        return await commits(self.bare(repo), base, head)

    async def titles(self, repo: Path, base: str, head: str) -> list[tuple[str, str]]:
        """The ids and subjects of those. Raises GitFailed."""
        return await titles(self.bare(repo), base, head)

    async def hand_over(self, repo: Path, target: Path, sha: str, branch: str) -> bool:
        """A branch of that name with this commit, in a person's repository. False: it is there already."""
        return await hand_over(self.bare(repo), target, sha, branch)

    async def destroy_source(self, batch: str) -> None:
        await checkouts.discard(self.source(batch))

    async def checkout(self, repo: Path, sha: str, into: Path) -> Path:
        """A clean checkout of its own, for running tests in; `discard` removes it."""
        return await checkouts.make_checkout(self.bare(repo), sha, into)

    async def discard(self, path: Path) -> None:
        await checkouts.discard(path)

    async def maintain(self, repo: Path) -> None:
        await housekeeping.maintain(self.bare(repo))

    async def untouched(self) -> list[str]:
        """Batches of which there is a snapshot and nothing else: no agent was asked for, no work came home."""
        found = []
        for batch in await in_thread(self._with_a_source_only):
            base = f"refs/supervisor/{batch}/base".encode()
            if all(ref == base for _, refs in await self._refs(batch) for ref in refs):
                found.append(batch)
        return found

    async def forget(self, batch: str) -> None:
        """Drop all refs of a batch, and its source: its work may go with the next `maintain`."""
        for bare, refs in await self._refs(batch):
            await git(bare, "update-ref", "--stdin", stdin=b"".join(b"delete %s\n" % ref for ref in refs) or b"\n")
        await self.destroy_source(batch)
        with suppress(OSError):  # what else is kept of it stays
            self.source(batch).parent.rmdir()

    def _with_a_source_only(self) -> list[str]:
        folders = [f for f in self._state_dir.glob("batches/*") if f.is_dir() and not f.name.startswith(".")]
        return sorted(f.name for f in folders if {each.name for each in f.iterdir()} <= {"source"})

    async def _refs(self, batch: str) -> list[tuple[Path, list[bytes]]]:
        """All refs of a batch, by the repository that they are in."""
        bares = sorted(self._state_dir.glob("repos/*.git"))
        asked = ("for-each-ref", "--format=%(refname)", f"refs/supervisor/{batch}/")
        found = [(bare, (await git(bare, *asked)).split()) for bare in bares]
        return [(bare, refs) for bare, refs in found if refs]

    async def recover(self) -> None:
        """Remove what a crash has left. Call it before anything else, when no other daemon runs here."""
        await in_thread(self._remove_leftovers)

    def _remove_leftovers(self) -> None:
        for pattern in ("repos/*.partial", "repos/*.git/incoming-*", "batches/*/.*.partial"):
            for folder in self._state_dir.glob(pattern):
                shutil.rmtree(folder, ignore_errors=True)
        for pattern in ("*.lock", "refs/**/*.lock", "objects/pack/tmp_*"):
            for file in self._state_dir.glob(f"repos/*.git/{pattern}"):
                file.unlink(missing_ok=True)

    async def _existing_bare(self, repo: Path) -> Path:
        bare = self.bare(repo)
        async with self._creating:
            if not bare.is_dir():
                partial = bare.with_suffix(".partial")
                await checkouts.discard(partial)
                partial.parent.mkdir(parents=True, exist_ok=True)
                await git(partial.parent, "init", "-q", "--bare", "--template=", str(partial))
                partial.rename(bare)
        return bare
