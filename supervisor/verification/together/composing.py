"""Merges the work of several claims into one tree, without a checkout. Blocking.

Each claim's changes are merged into those of the claims before it. A file in conflict stays as it is: the claim is
tried without its own version of that file, and its test must not notice.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import pygit2

_AUTHOR = pygit2.Signature("agent-supervisor", "agent-supervisor@localhost", 0, 0)


@dataclass(frozen=True, slots=True)
class Composed:
    #: a commit that no ref names
    sha: str
    #: by claim, the files that the tree does not have in the claim's version
    left_out: Mapping[int, frozenset[str]]


class NoTree(Exception):
    """Their work can't be put into one tree."""


def compose(
    bare: Path, base: str, heads: Mapping[int, str], without: Mapping[int, Collection[str]] | None = None
) -> Composed:
    """`without`: by claim, files that stay as they are at the base."""
    repo = pygit2.Repository(str(bare))
    before = repo[base].peel(pygit2.Tree)
    tree, left_out = before, dict[int, frozenset[str]]()
    try:
        for claim, head in heads.items():
            spared = frozenset((without or {}).get(claim, ()))
            index = repo.merge_trees(before, tree, _sparing(repo, before, repo[head].peel(pygit2.Tree), spared))
            left_out[claim] = spared | _left_out(index)
            tree = _written(repo, index)
    except pygit2.GitError as error:
        raise NoTree(f"their work can't be put into one tree: {error}") from error
    words = "claims that are verified together"
    return Composed(str(repo.create_commit(None, _AUTHOR, _AUTHOR, words, tree.id, [repo[base].id])), left_out)


def _sparing(repo: pygit2.Repository, before: pygit2.Tree, head: pygit2.Tree, paths: Collection[str]) -> pygit2.Tree:
    """The tree of a claim, with these files as they were before it."""
    if not paths:
        return head
    index = pygit2.Index()
    index.read_tree(head)
    for path in paths:
        if path in before:
            index.add(pygit2.IndexEntry(path, before[path].id, before[path].filemode))
        elif path in index:
            index.remove(path)
    return _written(repo, index)


def _written(repo: pygit2.Repository, index: pygit2.Index) -> pygit2.Tree:
    tree = repo[index.write_tree(repo)]
    assert isinstance(tree, pygit2.Tree)
    return tree


def _left_out(index: pygit2.Index) -> frozenset[str]:
    """Puts the files in conflict back to how they were before this claim, and returns their paths."""
    conflicts = [] if index.conflicts is None else list(index.conflicts)
    paths = set()
    for entries in conflicts:
        mine = entries[1]
        path = next(each.path for each in entries if each is not None)
        del index.conflicts[path]
        if mine is not None:
            index.add(mine)
        elif path in index:
            index.remove(path)
        paths.add(path)
    return frozenset(paths)
