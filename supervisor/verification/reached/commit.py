"""A commit in our copy of a repository, as the selector reads it. Blocking."""

from collections.abc import Mapping, Set
from functools import cache, cached_property
from pathlib import Path, PurePosixPath

import pygit2

from supervisor.adapters.git.store import GitStore
from supervisor.e2e.tutorial.blocks import parse
from supervisor.foresight import functions
from supervisor.foresight.reach import ABSENT
from supervisor.verification.evidence.contents import contents, names
from supervisor.verification.evidence.laying import Content


async def committed(store: GitStore, repo: Path, rev: str) -> "Commit":
    """A commit of a person's repository, fetched into our copy. Raises GitFailed."""
    sha = await store.resolve(repo, rev)
    # There are only sixteen such refs: of all commits that were asked for, some are kept.
    await store.keep(repo, sha, f"refs/planned/{sha[0]}")
    return Commit(store.bare(repo), sha)


class Commit:
    """Each file is read once, however many tests reached it."""

    def __init__(self, bare: Path, sha: str) -> None:
        self._bare, self._sha = bare, sha
        self.functions = cache(self._functions)
        self.code = cache(self._code)
        self.file = cache(self._file)
        self.look = cache(self._look)
        self.blocks = cache(self._blocks)

    @cached_property
    def names(self) -> Set[str]:
        return names(self._bare, self._sha)

    @cached_property
    def folders(self) -> Set[str]:
        return {str(folder) for name in self.names for folder in PurePosixPath(name).parents}

    def read(self, path: str) -> bytes | None:
        return found.data if (found := self._content(path)) is not None else None

    def _content(self, path: str) -> Content | None:
        if path not in self.names:
            return None
        try:
            return contents(self._bare, self._sha, [path])[path]
        except (ValueError, pygit2.GitError):
            return None

    def _code(self, path: str) -> functions.Code | None:
        data = self.read(path)
        return functions.read(data) if data is not None else None

    def _functions(self, path: str) -> Mapping[str, str]:
        code = self.code(path)
        return code.digests if code is not None else {}

    def _file(self, path: str) -> str:
        data = self.read(path)
        return functions.digest(data) if data is not None else ABSENT

    def _look(self, path: str) -> str:
        if (found := self._content(path)) is not None:
            return f"{found.kind} {len(found.data)}"
        return "folder" if path in self.folders else ABSENT

    def _blocks(self, tutorial: str) -> Set[str]:
        data = self.read(tutorial)
        blocks = parse(data.decode(errors="replace")).blocks if data is not None else ()
        return {block_digest(block.key) for block in blocks}


def block_digest(key: str) -> str:
    return functions.digest(key.encode(errors="surrogatepass"))
