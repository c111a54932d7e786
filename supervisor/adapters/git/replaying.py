"""Puts commits on another one, in memory, and leaves out what can't be picked there. Blocking."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pygit2

from supervisor.adapters.git.changes import edits_of
from supervisor.adapters.git.picking import Picker


@dataclass(frozen=True, slots=True)
class Replayed:
    head: str
    #: what each commit has become; one that could not be picked is missing
    made: dict[str, str]


def replay(bare: Path, onto: str, commits: Sequence[str]) -> Replayed:
    """A commit that stands where it should stays as it is; any other keeps its message, author and time."""
    repo = pygit2.Repository(str(bare))
    picker, head = Picker(repo, onto), onto
    picker.has_removed = True  # unknown, so whatever is not plain goes to git
    made: dict[str, str] = {}
    for sha in commits:
        commit = repo[sha].peel(pygit2.Commit)
        if [str(parent) for parent in commit.parent_ids] == [head]:
            picker.tree, head = commit.tree, sha
        elif (tree := _picked(picker, commit)) is not None:
            parent, picker.tree = repo[head].id, tree
            head = str(repo.create_commit(None, commit.author, commit.committer, commit.message, tree.id, [parent]))
        else:
            continue
        made[sha] = head
    return Replayed(head, made)


def _picked(picker: Picker, commit: pygit2.Commit) -> pygit2.Tree | None:
    if (tree := picker.picked_simply(edits_of(commit))) is not None:
        return tree
    tree, conflicts = picker.judged(commit)
    return None if conflicts else tree
