"""Takes commits out of a branch by commits on top of it, or puts them back; without a work tree. Blocking."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pygit2
from pygit2.enums import SortMode

from supervisor.adapters.git.merging import EMAIL, NAME, Merged, Merger
from supervisor.integration.rules.reversals import message, undone
from supervisor.model.review import Reversal

MOST_PATHS = 5


@dataclass(slots=True)
class Remade:
    """A branch with the reversals on top, as far as they go."""

    head: str
    #: the commit that made each reversal; "": it was so already, by a commit that does not say so
    made: dict[str, str] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)


def remade(bare: Path, base: str, tip: str, batch: str, reversals: Sequence[Reversal]) -> Remade:
    """The result depends on nothing else, so a second call makes the same commits."""
    branch = _Branch(pygit2.Repository(str(bare)), base, tip, batch)
    for reversal in branch.in_order(reversals):
        branch.reverse(reversal)
    return branch.done


class _Branch:
    def __init__(self, repo: pygit2.Repository, base: str, tip: str, batch: str) -> None:
        self._repo, self._merger, self._batch = repo, Merger(repo), batch
        walk = repo.walk(tip, SortMode.TOPOLOGICAL)
        if base in repo:
            walk.hide(base)
        #: 0 is the last commit
        self._place = {str(each.id): place for place, each in enumerate(walk)}
        self.done = Remade(tip)

    def in_order(self, reversals: Sequence[Reversal]) -> list[Reversal]:
        """What stands on another commit goes before it, and comes back after it."""
        out = [each for each in reversals if not each.is_back]
        back = [each for each in reversals if each.is_back]
        return [*sorted(out, key=self._depth), *sorted(back, key=self._depth, reverse=True)]

    def _depth(self, reversal: Reversal) -> int:
        return self._place.get(reversal.commit, -1)

    def reverse(self, reversal: Reversal) -> None:
        if reversal.commit not in self._place:
            self.done.problems[reversal.commit] = "the branch does not have this commit any more: it was rewritten"
            return
        commit, head = (self._merger.commit_of(sha) for sha in (reversal.commit, self.done.head))
        merged = self._merged(commit, head, is_back=reversal.is_back)
        if merged.conflicts:
            self.done.problems[reversal.commit] = _collides(reversal, merged.conflicts)
        elif merged.tree.id == head.tree.id:
            self.done.made[reversal.commit] = next(self._earlier(reversal), "")
        else:
            self.done.head = self.done.made[reversal.commit] = self._written(reversal, commit, merged)

    def _merged(self, commit: pygit2.Commit, head: pygit2.Commit, *, is_back: bool) -> Merged:
        before = commit.parents[0].tree
        if is_back:
            return self._merger.merged(before, head.tree, commit.tree)
        return self._merger.merged(commit.tree, head.tree, before)

    def _written(self, reversal: Reversal, commit: pygit2.Commit, merged: Merged) -> str:
        signature = pygit2.Signature(NAME, EMAIL, int(reversal.at), 0)
        text = message(self._batch, reversal, commit.message)
        parent = self._repo[self.done.head].id
        return str(self._repo.create_commit(None, signature, signature, text, merged.tree.id, [parent]))

    def _earlier(self, reversal: Reversal) -> Iterator[str]:
        """The commits after it that say that they made the reversal, the last one first."""
        for sha, place in self._place.items():
            if place >= self._place[reversal.commit]:
                return
            if reversal.commit in undone(self._merger.commit_of(sha).message, is_back=reversal.is_back):
                yield sha


def _collides(reversal: Reversal, paths: Sequence[str]) -> str:
    more = f" and {len(paths) - MOST_PATHS} more" if len(paths) > MOST_PATHS else ""
    how = "can't be put back" if reversal.is_back else "can't be reverted alone"
    return f"it {how}: what came later changes the same lines in {', '.join(paths[:MOST_PATHS])}{more}"
