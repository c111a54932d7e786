"""One tree of the work of several claims, made without a checkout. Blocking."""

from collections.abc import Iterable
from pathlib import Path

import pygit2

_AUTHOR = pygit2.Signature("agent-supervisor", "agent-supervisor@localhost", 0, 0)


class Overlap(Exception):
    """Two of them change the same file, or one has a file where another has a folder."""


def compose(bare: Path, base: str, heads: Iterable[str]) -> str:
    """A commit that no ref names: the base with the files of each head that differ from it."""
    repo = pygit2.Repository(str(bare))
    before = repo[base].peel(pygit2.Tree)
    index, taken = pygit2.Index(), set[str]()
    index.read_tree(before)
    for head in heads:
        for delta in before.diff_to_tree(repo[head].peel(pygit2.Tree)).deltas:
            old, new = delta.old_file, delta.new_file
            if taken & {old.path, new.path}:
                raise Overlap(new.path)
            taken |= {old.path, new.path}
            if delta.status is pygit2.enums.DeltaStatus.DELETED:
                index.remove(old.path)
            else:
                index.add(pygit2.IndexEntry(new.path, new.id, new.mode))
    try:
        tree = index.write_tree(repo)
    except pygit2.GitError as error:
        raise Overlap(str(error)) from error
    return str(repo.create_commit(None, _AUTHOR, _AUTHOR, "claims that are verified together", tree, [repo[base].id]))
