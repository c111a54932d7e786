"""A repository of ours for one rescue: it borrows an agent's objects, sees its work tree, and trusts nothing else.

The agent's own configuration may name programs to run, and its index and refs may be damaged. So git runs on this
repository: with our configuration, without hooks or filters, with an index of its own. The agent's files are read,
and nothing is written to its clone.
"""

import os
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from supervisor.adapters.git.process import Finished, run
from supervisor.errors import GitFailed
from supervisor.publication.bundle import REF
from supervisor.publication.clone import Clone, Unreadable, objects, read_plain
from supervisor.publication.importing import RESCUE_BOUNDS, RESCUE_SECONDS
from supervisor.threads import in_thread, surely

#: caches, which the programs that made them make again
CACHES = ("__pycache__/", "*.pyc", ".pytest_cache/", ".hypothesis/", ".mypy_cache/", ".ruff_cache/")
EXCLUDE = [f"-x{pattern}" for pattern in CACHES]

CONFIG = """[core]
	compression = 1
	looseCompression = 1
	protectHFS = false
	protectNTFS = false
[pack]
	compression = 1
[gc]
	auto = 0
"""
WHO = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "agent-supervisor"), ("EMAIL", "agent-supervisor@localhost"))
}
_ENTRY = re.compile(rb"([A-Za-z?]) (\d{6}) ([0-9a-f]{40}) (\d)\t(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Entry:
    """The entry of a path in an index."""

    path: bytes
    mode: bytes
    sha: str
    stage: int
    #: deliberately not in the work tree
    is_left_out: bool


@dataclass(frozen=True, slots=True)
class Scratch:
    git_dir: Path
    root: Path

    @property
    def bundle(self) -> Path:
        return self.git_dir / "work.bundle"

    async def run(self, *args: str, stdin: bytes = b"", index: str = "index") -> Finished:
        env = {"GIT_DIR": str(self.git_dir), "GIT_WORK_TREE": str(self.root), **WHO}
        env["GIT_INDEX_FILE"] = str(self.git_dir / index)
        where = self.root if self.root.is_dir() else self.git_dir
        return await run(where, *args, stdin=stdin, env=env, bounds=RESCUE_BOUNDS, timeout=RESCUE_SECONDS)

    async def read(self, *args: str, stdin: bytes = b"", index: str = "index") -> bytes:
        done = await self.run(*args, stdin=stdin, index=index)
        if done.code:
            raise GitFailed(done.sentence)
        return done.out

    async def word(self, *args: str, stdin: bytes = b"") -> str:
        return (await self.read(*args, stdin=stdin)).decode().strip()

    async def commits(self, shas: Iterable[str]) -> set[str]:
        """Those of these ids that are commits and exist."""
        asked = sorted(set(shas))
        if not asked:
            return set()
        lines = await self.read("cat-file", "--batch-check", stdin=_lines(f"{sha}^{{commit}}" for sha in asked))
        answers = lines.decode(errors="replace").splitlines()
        return {sha for sha, answer in zip(asked, answers, strict=True) if answer.split()[1:2] == ["commit"]}

    async def outermost(self, tips: Sequence[str], known: Sequence[str]) -> list[str]:
        """The tips that no other tip leads to, without those that are known."""
        if not tips:
            return []
        asked = [*tips, *(f"^{sha}" for sha in known if sha)]
        listed = (await self.read("rev-list", "--parents", "--stdin", stdin=_lines(asked))).decode().splitlines()
        parents = {parent for line in listed for parent in line.split()[1:]}
        commits = [line.split()[0] for line in listed]
        return [sha for sha in commits if sha not in parents]

    async def entries(self, index: str) -> list[Entry]:
        listed = await self.read("ls-files", "-z", "--stage", "-v", index=index)
        found = (_ENTRY.fullmatch(line) for line in listed.split(b"\0") if line)
        return [
            Entry(each[5], each[2], each[3].decode(), int(each[4]), each[1] in (b"S", b"s")) for each in found if each
        ]

    async def commit(self, tree: str, parents: Sequence[str], message: str) -> str:
        words = [word for parent in parents for word in ("-p", parent)]
        return await self.word("commit-tree", *words, "-F", "-", tree, stdin=message.encode())

    async def pack(self, head: str, base: str) -> None:
        await self.read("update-ref", REF, head)
        await self.read("bundle", "create", "-q", str(self.bundle), REF, f"^{base}")


@asynccontextmanager
async def scratch(bare: Path, clone: Clone | None, root: Path) -> AsyncIterator[Scratch]:
    """It is made beside the quarantines of imports: what a crash leaves of it is cleared with them."""
    folder = Path(await in_thread(tempfile.mkdtemp, prefix="incoming-", dir=bare))
    try:
        await in_thread(_prepare, folder, bare, clone)
        yield Scratch(folder, root)
    finally:
        await surely(shutil.rmtree, folder, ignore_errors=True)


def _prepare(folder: Path, bare: Path, clone: Clone | None) -> None:
    for name in ("objects/info", "objects/pack", "refs/heads", "info"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/nothing\n")
    (folder / "config").write_text(CONFIG)
    borrowed = [bare / "objects", *(objects(clone) if clone is not None else [])]
    (folder / "objects" / "info" / "alternates").write_bytes(b"".join(os.fsencode(path) + b"\n" for path in borrowed))
    if clone is not None:
        _copy(clone.git_dir / "index", folder / "theirs")
        _copy(clone.common_dir / "info" / "exclude", folder / "info" / "exclude")
        _copy(clone.common_dir / "shallow", folder / "shallow")


def _copy(source: Path, target: Path) -> None:
    with suppress(OSError, Unreadable):
        target.write_bytes(read_plain(source))


def _lines(words: Iterable[str]) -> bytes:
    return b"".join(word.encode() + b"\n" for word in words)
