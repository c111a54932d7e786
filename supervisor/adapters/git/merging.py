"""Merges trees in a bare repository, without a work tree, with git's own results. Blocking and deterministic.

Almost every merge is simple: the two sides changed different paths. Then the result is our tree with their paths set,
and no merge is needed. All other merges go to git itself: `git merge-tree`, with a commit for each side on top of one
for the base. So results and conflicts are those of `git cherry-pick`.

Not simple are: a path that both sides changed differently; a file where the other side has a folder; and what git may
detect as a rename: a path that both sides added or removed, a side that both adds and removes, or one that adds after
something was removed.
"""

import subprocess
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import pygit2

from supervisor.adapters.git.process import environment
from supervisor.adapters.git.trees import Blocked, Edit, Entry, edited, edits_between, entry_at
from supervisor.errors import GitFailed

NAME, EMAIL = "agent-supervisor", "agent-supervisor@localhost.invalid"
MERGE_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Merged:
    tree: pygit2.Tree
    #: the paths in conflict; their files contain conflict markers
    conflicts: tuple[str, ...] = ()


class Merger:
    """Three-way merges, with their results cached."""

    def __init__(self, repo: pygit2.Repository) -> None:
        self.repo = repo
        self._known: dict[tuple[pygit2.Oid, pygit2.Oid, pygit2.Oid], Merged] = {}

    def merged(self, base: pygit2.Tree, ours: pygit2.Tree, theirs: pygit2.Tree) -> Merged:
        """`ours` with the changes of `theirs` since the base."""
        key = (base.id, ours.id, theirs.id)
        if key not in self._known:
            simple = self._simply(base, ours, tuple(edits_between(base, theirs)))
            self._known[key] = Merged(simple) if simple is not None else self._by_git(base, ours, theirs)
        return self._known[key]

    def holds(self, base: pygit2.Tree, tree: pygit2.Tree, theirs: pygit2.Tree) -> bool:
        """Whether the tree has all changes of `theirs`, so that merging it would change nothing."""
        if all(_is_there(tree, edit) for edit in edits_between(base, theirs)):
            return True
        again = self.merged(base, tree, theirs)
        return not again.conflicts and again.tree.id == tree.id

    def commit_of(self, sha: str) -> pygit2.Commit:
        return self.repo[sha].peel(pygit2.Commit)

    def with_paths(self, tree: pygit2.Tree, source: pygit2.Tree, paths: Collection[str]) -> pygit2.Tree:
        """The tree with these paths as they are in the source."""
        return edited(self.repo, tree, {path: _entry(source, path) for path in paths}) if paths else tree

    def _simply(self, base: pygit2.Tree, ours: pygit2.Tree, edits: Sequence[Edit]) -> pygit2.Tree | None:
        """The tree with the edits, if they are simple (see above)."""
        adds = any(edit.old is None for edit in edits)
        removes = any(edit.new is None for edit in edits)
        if adds and (removes or any(edit.new is None for edit in edits_between(base, ours))):
            return None
        wanted: dict[str, Entry | None] = {}
        try:
            for edit in edits:
                there = entry_at(ours, edit.path)
                if there == edit.old:
                    wanted[edit.path] = edit.new
                elif there != edit.new or edit.old is None or edit.new is None:
                    return None
        except Blocked:
            return None
        return edited(self.repo, ours, wanted)

    def _by_git(self, base: pygit2.Tree, ours: pygit2.Tree, theirs: pygit2.Tree) -> Merged:
        start = self._set(base)
        sides = [str(self._set(tree, start)) for tree in (ours, theirs)]
        argv = ["git", "-C", self.repo.path, "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z"]
        done = subprocess.run(
            [*argv, *sides], env=environment(), capture_output=True, timeout=MERGE_SECONDS, check=False
        )
        if done.returncode not in (0, 1):
            raise GitFailed(f"git merge-tree failed: {done.stderr.decode(errors='replace').strip()[:300]}")
        tree, *paths = done.stdout.decode(errors="replace").split("\0")
        found = self.repo[tree].peel(pygit2.Tree)
        conflicts = dict.fromkeys(path for path in paths if path) if done.returncode else ()
        return Merged(found, tuple(conflicts))

    def _set(self, tree: pygit2.Tree, *parents: pygit2.Oid) -> pygit2.Oid:
        signature = pygit2.Signature(NAME, EMAIL, 0, 0)
        return self.repo.create_commit(None, signature, signature, "a side", tree.id, list(parents))


def _entry(tree: pygit2.Tree, path: str) -> Entry | None:
    try:
        return entry_at(tree, path)
    except Blocked:
        return None


def _is_there(tree: pygit2.Tree, edit: Edit) -> bool:
    return _entry(tree, edit.path) == edit.new
