"""The daemon's own bare repository for each repository it works on, and the checkouts and branches made from it.

    <state_dir>/repos/<name>.git                 every commit that matters, by ref:
        refs/supervisor/<batch>/base                 where a batch starts
        refs/supervisor/<batch>/<job>/<attempt>      what an attempt published
        refs/supervisor/<batch>/<job>/rescued/<n>    what attempt n left without publishing
        refs/supervisor/<batch>/integrated/<n>       the result of an integration
        refs/supervisor/<batch>/landed/<n>/<name>    the same, by the branch name that a person got
        refs/supervisor/<batch>/reviewed/<place>     that branch, as its review has left it
    <state_dir>/batches/<batch>/source           the clean checkout that mngr copies for each agent

`inspect` and `snapshot` read a person's repository; `land` writes to it once: a new branch, nothing else.
Only its review advances that branch (`advancing`).
Each import adds one pack; packs are not merged then, but by `maintain`, after a batch. That drops only objects that
no ref reaches, and only `forget` drops a ref, so `maintain` never loses work.
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
        """The path of our copy of the repository at `repo`: its name is readable for a person, and unique by path."""
        digest = hashlib.sha256(str(repo).encode(errors="surrogateescape")).hexdigest()[:8]
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", repo.name).strip("-.") or "repo"
        return self._state_dir / "repos" / f"{name[:40]}-{digest}.git"

    def source(self, batch: str) -> Path:
        return self._state_dir / "batches" / batch / "source"

    async def inspect(self, repo: Path) -> RepoFacts:
        return await checkouts.inspect(repo)

    async def snapshot(self, repo: Path, base: str, batch: str) -> Path:
        """Fetch the base commit, and make the batch's source checkout from it. Idempotent."""
        if not _SHA.fullmatch(base):
            raise NoSuchThing(f"{base!r} is not a full commit id", hint="resolve it first")
        bare = await self._existing_bare(repo)
        # A person's own history is trusted, and an old one may hold objects that a strict check refuses.
        lenient = ["-c", "transfer.fsckObjects=false", "-c", "fetch.unpackLimit=1"]
        fetch = ["fetch", "-q", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", str(repo)]
        try:
            await git(bare, *lenient, *fetch, f"+{base}:refs/supervisor/{batch}/base", timeout=1800)
        except GitFailed:
            # A base of earlier work is still here, whatever happened to the person's repository since.
            if (await run(bare, "rev-list", "--objects", "--quiet", base, timeout=1800)).code:
                raise
            await git(bare, "update-ref", f"refs/supervisor/{batch}/base", base)
        return await checkouts.make_checkout(bare, base, self.source(batch))

    async def keep(self, repo: Path, sha: str, ref: str) -> None:
        """Fetch a commit of a person's repository into a ref of ours."""
        await moving.brought_home(await self._existing_bare(repo), repo, sha, ref)

    async def pin(self, repo: Path, sha: str, ref: str) -> None:
        await git(self.bare(repo), "update-ref", ref, sha)

    async def moved(self, repo: Path, start: str, base: str, branch: str = "", head: str = "") -> str:
        """What followed the base on the branch `start`, and whether a branch made on the base merges with it, in a
        sentence; "" for nothing, or if it can't be determined."""
        try:
            return await moving.moved(self.bare(repo), repo, moving.Made(start, base, branch, head))
        except (GitFailed, OSError, ValueError, KeyError):
            return ""

    async def patch(self, repo: Path, sha: str) -> str:
        """A commit's patch, for people and agents to read; only its beginning, if it is long."""
        shown = await git(self.bare(repo), "show", "--format=", "--no-ext-diff", "--no-textconv", sha)
        return shown[:MAX_PATCH].decode(errors="replace")

    async def land_once(self, repo: Path, sha: str, batch: str, number: int) -> str:
        """Land the batch's branch in a person's repository. A repeated call returns the same name, whatever was done
        to the branch since."""
        bare, folder = self.bare(repo), f"refs/supervisor/{batch}/landed/{number}/"
        if found := (await git(bare, "for-each-ref", "--format=%(refname)", folder)).decode().split():
            return found[0].removeprefix(folder)
        name = await self.land(repo, sha, f"supervisor/{batch}")
        await git(bare, "update-ref", f"{folder}{name}", sha)
        return name

    async def land(self, repo: Path, sha: str, branch: str) -> str:
        """Create a new branch in a person's repository, and touch nothing else there. If the name is taken by another
        commit, a number is added; returns the name. Idempotent."""
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
        """The commits between two commits, with their patches. Raises GitFailed."""
        return await commits(self.bare(repo), base, head)

    async def titles(self, repo: Path, base: str, head: str) -> list[tuple[str, str]]:
        """The ids and subjects of the commits between two commits. Raises GitFailed."""
        return await titles(self.bare(repo), base, head)

    async def hand_over(self, repo: Path, target: Path, sha: str, branch: str) -> bool:
        """Create a branch with this commit in a person's repository. False: the branch has the commit already."""
        return await hand_over(self.bare(repo), target, sha, branch)

    async def destroy_source(self, batch: str) -> None:
        await checkouts.discard(self.source(batch))

    async def checkout(self, repo: Path, sha: str, into: Path) -> Path:
        """A separate clean checkout, to run tests in; `discard` removes it."""
        return await checkouts.make_checkout(self.bare(repo), sha, into)

    async def discard(self, path: Path) -> None:
        await checkouts.discard(path)

    async def maintain(self, repo: Path) -> None:
        await housekeeping.maintain(self.bare(repo))

    async def untouched(self) -> list[str]:
        """Batches with a snapshot and nothing else: no agent was requested, no work was fetched."""
        found = []
        for batch in await in_thread(self._with_a_source_only):
            base = f"refs/supervisor/{batch}/base".encode()
            if all(ref == base for _, refs in await self._refs(batch) for ref in refs):
                found.append(batch)
        return found

    async def forget(self, batch: str) -> None:
        """Drop all refs of a batch, and its source: the next `maintain` may delete its work."""
        for bare, refs in await self._refs(batch):
            await git(bare, "update-ref", "--stdin", stdin=b"".join(b"delete %s\n" % ref for ref in refs) or b"\n")
        await self.destroy_source(batch)
        with suppress(OSError):  # other files of the batch stay
            self.source(batch).parent.rmdir()

    def _with_a_source_only(self) -> list[str]:
        folders = [f for f in self._state_dir.glob("batches/*") if f.is_dir() and not f.name.startswith(".")]
        return sorted(f.name for f in folders if {each.name for each in f.iterdir()} <= {"source"})

    async def _refs(self, batch: str) -> list[tuple[Path, list[bytes]]]:
        """All refs of a batch, by repository."""
        bares = sorted(self._state_dir.glob("repos/*.git"))
        asked = ("for-each-ref", "--format=%(refname)", f"refs/supervisor/{batch}/")
        found = [(bare, (await git(bare, *asked)).split()) for bare in bares]
        return [(bare, refs) for bare, refs in found if refs]

    async def recover(self) -> None:
        """Remove what a crash has left. Call it first, and only while no other daemon runs here."""
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
