"""Files of a commit. Blocking."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path

import pygit2

from supervisor.verification.evidence.laying import Content, Kind

_KINDS: Mapping[int, Kind] = {
    int(pygit2.enums.FileMode.BLOB): "file",
    int(pygit2.enums.FileMode.BLOB_EXECUTABLE): "program",
    int(pygit2.enums.FileMode.LINK): "link",
}


def contents(bare: Path, sha: str, paths: Iterable[str]) -> dict[str, Content | None]:
    tree = pygit2.Repository(str(bare))[sha].peel(pygit2.Tree)
    return {path: _content(tree, path) for path in paths}


def reader(bare: Path, sha: str) -> Callable[[str], Content | None]:
    """Reads each file once."""
    tree = pygit2.Repository(str(bare))[sha].peel(pygit2.Tree)
    return cache(lambda path: _content(tree, path))


def _content(tree: pygit2.Tree, path: str) -> Content | None:
    try:
        found = tree[path]
    except KeyError:
        return None
    if not isinstance(found, pygit2.Blob) or (kind := _KINDS.get(int(found.filemode))) is None:
        return None
    return Content(found.data, kind)


def names(bare: Path, sha: str) -> frozenset[str]:
    """The paths of all files of a commit."""
    tree = pygit2.Repository(str(bare))[sha].peel(pygit2.Tree)
    index = pygit2.Index()
    index.read_tree(tree)
    return frozenset(entry.path for entry in index)


def differing(bare: Path, one: str, other: str) -> frozenset[str]:
    """The paths of files that differ between two commits."""
    repo = pygit2.Repository(str(bare))
    diff = repo[one].peel(pygit2.Tree).diff_to_tree(repo[other].peel(pygit2.Tree))
    return frozenset(path for delta in diff.deltas for path in (delta.old_file.path, delta.new_file.path))
