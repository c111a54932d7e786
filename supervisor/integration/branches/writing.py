"""Writes the commits of a branch: one on the other, with nothing in them that depends on when or where. Blocking."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pygit2

from supervisor.adapters.git.merging import EMAIL, NAME
from supervisor.integration.rules.messages import fix_message, squash_message
from supervisor.integration.rules.work import Work
from supervisor.model.change import Change, ChangeKey


@dataclass(frozen=True, slots=True)
class Step:
    """Changes that become one commit, and the tree with them."""

    changes: tuple[Change, ...]
    tree: pygit2.Tree
    #: it holds the tests of many jobs
    is_squash: bool = False
    #: an integrator's agent has made it fit
    resolved: bool = False
    #: what it does to the work of other jobs
    doubts: Mapping[int, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Landed:
    """A commit of the branch."""

    sha: str
    #: what became this commit, then what it is credited for besides
    keys: tuple[ChangeKey, ...]
    #: whose fix it is; None: it holds the tests of many
    job: int | None
    subject: str

    @property
    def changes(self) -> tuple[str, ...]:
        """Their commits, as trailers name them."""
        return tuple(sha for _, sha in self.keys)


class Branch:
    """Every author, time, subject and trailer is the machine's own."""

    def __init__(
        self,
        repo: pygit2.Repository,
        start: str,
        batch: str,
        works: Mapping[int, Work],
        doubts: Mapping[int, tuple[str, ...]],
    ) -> None:
        self.repo, self.start, self._batch, self._works = repo, start, batch, works
        self._doubts = {job: (*work.doubts, *doubts.get(job, ())) for job, work in works.items()}
        self.landed: list[Landed] = []

    @property
    def head(self) -> str:
        return self.landed[-1].sha if self.landed else self.start

    @property
    def commits(self) -> tuple[str, ...]:
        return tuple(each.sha for each in self.landed)

    @property
    def holders(self) -> dict[ChangeKey, str]:
        """For each change on the branch, the commit that holds it."""
        return {key: each.sha for each in self.landed for key in each.keys}

    def write(self, steps: Sequence[Step], credited: Sequence[tuple[Change, ChangeKey]]) -> None:
        """`credited`: each change on the branch, with the merged one whose commit holds it."""
        besides: dict[ChangeKey, list[Change]] = {}
        for change, holder in credited:
            if change.key != holder:
                besides.setdefault(holder, []).append(change)
        for step in steps:
            self.commit(step, [each for change in step.changes for each in besides.get(change.key, ())])

    def commit(self, step: Step, besides: Sequence[Change] = ()) -> None:
        changes = (*step.changes, *besides)
        doubts = {job: self._doubts[job] for job in {change.job for change in changes}} | dict(step.doubts)
        if step.is_squash:
            message = squash_message(self._batch, changes, self._works, doubts)
        else:
            message = fix_message(self._batch, changes, self._works, doubts, resolved=step.resolved)
        when = self.repo[self.start].peel(pygit2.Commit).commit_time
        signature = pygit2.Signature(NAME, EMAIL, when, 0)
        parent = self.repo[self.head].id
        made = str(self.repo.create_commit(None, signature, signature, message, step.tree.id, [parent]))
        job = None if step.is_squash else step.changes[0].job
        keys = tuple(change.key for change in changes)
        self.landed.append(Landed(made, keys, job, message.partition("\n")[0]))
