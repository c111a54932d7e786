"""The mechanical pass: cherry-picks changes in a bare repository, without a work tree. Blocking and deterministic.

Each commit is picked onto a tree, not onto a checkout. Almost every pick is simple: no path of it has been touched
by the picks before. Then the result is the tree with these paths set, and no merge is needed. Whatever is not that
simple goes to git itself: `git merge-tree`, by way of a commit that sets our tree beside the pick on its own parent.
So results and conflicts are those of `git cherry-pick`.

Not simple is: a path that both sides changed, each in its way; a file where the other side has a folder; and what may
be seen as a rename: a path that both sides added or removed, a pick that both adds and removes, or one that adds
after something was removed.
"""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pygit2

from supervisor.adapters.git.changes import edits_of
from supervisor.adapters.git.process import environment
from supervisor.adapters.git.trees import Blocked, Edit, Entry, edited, entry_at
from supervisor.errors import GitFailed
from supervisor.flow.integration.ledger import ChangeRow, change_rows, groups_to_commit, job_rows
from supervisor.flow.integration.messages import fix_message, squash_message
from supervisor.flow.integration.ranking import planned
from supervisor.flow.integration.work import Change, Group, Picked, Work
from supervisor.model.ledger import Fate, LedgerRow

NAME, EMAIL = "agent-supervisor", "agent-supervisor@localhost.invalid"
MERGE_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Integrated:
    """The branch's last commit (the base, if nothing was merged), and what became of everything."""

    head: str
    #: from the base to the head
    commits: tuple[str, ...]
    changes: tuple[ChangeRow, ...]
    jobs: dict[int, LedgerRow]

    @property
    def conflicts(self) -> tuple[ChangeRow, ...]:
        return tuple(row for row in self.changes if row.fate is Fate.CONFLICT)


def integrate(bare: Path, base: str, batch: str, works: Sequence[Work]) -> Integrated:
    """The same works on the same base give the same commits, to the byte."""
    repo = pygit2.Repository(str(bare))
    plan = planned(works)
    picker = Picker(repo, base)
    tests = [picker.pick(group) for group in plan.tests]
    tested = picker.tree.id
    trees, fixes = {}, []
    for group in plan.fixes:
        fixes.append(picker.pick(group))
        trees[group.leader.sha] = picker.tree.id

    by_job = {work.job: work for work in works}
    branch = _Branch(repo, base)
    merged = groups_to_commit([*tests, *fixes])
    squashed = [group for group in merged if group.leader.is_test]
    if squashed:
        branch.commit(tested, squash_message(batch, squashed, by_job), squashed)
    for group in merged[len(squashed) :]:
        branch.commit(trees[group.leader.sha], fix_message(batch, group, by_job), [group])
    rows = change_rows([*tests, *fixes], plan.rejected, works, branch.holders)
    return Integrated(str(branch.head), tuple(branch.commits), rows, job_rows(works, rows))


class Picker:
    """A tree, and what has been picked onto it."""

    def __init__(self, repo: pygit2.Repository, base: str) -> None:
        self.repo = repo
        self.tree = _commit(repo, base).tree
        self.touched: dict[str, list[Change]] = {}
        self.order: dict[str, int] = {}
        self.has_removed = False

    def pick(self, group: Group) -> Picked:
        change = group.leader
        commit = _commit(self.repo, change.sha)
        if len(commit.parents) != 1:
            return Picked(group, Fate.CONFLICT, change.paths)
        edits = edits_of(commit)
        if not edits:
            return Picked(group, Fate.EMPTY)
        tree = self.picked_simply(edits)
        if tree is None:
            tree, conflicts = self.judged(commit)
            if conflicts:
                return Picked(group, Fate.CONFLICT, conflicts, self.rivals(conflicts))
        if tree.id == self.tree.id:
            rivals = self.rivals(change.paths)
            return Picked(group, Fate.DUPLICATE if rivals else Fate.EMPTY, rivals=rivals)
        self.tree = tree
        self.has_removed = self.has_removed or any(edit.new is None for edit in edits)
        self.order[change.sha] = len(self.order)
        for path in change.paths:
            self.touched.setdefault(path, []).append(change)
        return Picked(group, Fate.MERGED)

    def rivals(self, paths: Sequence[str]) -> tuple[Change, ...]:
        """Those picked before that touch one of these paths, in the order of picking."""
        found = {rival.sha: rival for path in paths for rival in self.touched.get(path, ())}
        return tuple(sorted(found.values(), key=lambda rival: self.order[rival.sha]))

    def picked_simply(self, edits: Sequence[Edit]) -> pygit2.Tree | None:
        """The tree with the edits, if they are simple (see above)."""
        adds = any(edit.old is None for edit in edits)
        removes = any(edit.new is None for edit in edits)
        if adds and (removes or self.has_removed):
            return None
        wanted: dict[str, Entry | None] = {}
        try:
            for edit in edits:
                ours = entry_at(self.tree, edit.path)
                if ours == edit.old:
                    wanted[edit.path] = edit.new
                elif ours != edit.new or edit.old is None or edit.new is None:
                    return None
        except Blocked:
            return None
        return edited(self.repo, self.tree, wanted)

    def judged(self, commit: pygit2.Commit) -> tuple[pygit2.Tree, tuple[str, ...]]:
        """What git makes of it: a tree, and the paths in conflict."""
        signature = pygit2.Signature(NAME, EMAIL, 0, 0)
        ours = self.repo.create_commit(None, signature, signature, "ours", self.tree.id, [commit.parents[0].id])
        argv = ["git", "-C", self.repo.path, "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z"]
        done = subprocess.run(
            [*argv, str(ours), str(commit.id)],
            env=environment(),
            capture_output=True,
            timeout=MERGE_SECONDS,
            check=False,
        )
        if done.returncode not in (0, 1):
            raise GitFailed(f"git merge-tree failed: {done.stderr.decode(errors='replace').strip()[:300]}")
        tree, *paths = done.stdout.decode(errors="replace").split("\0")
        found = self.repo[tree]
        assert isinstance(found, pygit2.Tree)
        return found, tuple(dict.fromkeys(path for path in paths if path)) if done.returncode else ()


@dataclass
class _Branch:
    """Commits, one on the other, with nothing in them that depends on when or where."""

    repo: pygit2.Repository
    base: str
    commits: list[str] = field(default_factory=list)
    #: for each change on the branch, the commit that holds it
    holders: dict[str, str] = field(default_factory=dict)

    @property
    def head(self) -> str:
        return self.commits[-1] if self.commits else self.base

    def commit(self, tree: pygit2.Oid, message: str, groups: Sequence[Group]) -> None:
        when = _commit(self.repo, self.base).commit_time
        signature = pygit2.Signature(NAME, EMAIL, when, 0)
        parent = self.repo[self.head].id
        made = str(self.repo.create_commit(None, signature, signature, message, tree, [parent]))
        self.commits.append(made)
        self.holders |= {change.sha: made for group in groups for change in group.changes}


def _commit(repo: pygit2.Repository, sha: str) -> pygit2.Commit:
    found = repo[sha]
    assert isinstance(found, pygit2.Commit)
    return found
