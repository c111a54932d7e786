"""The mechanical pass: picks jobs' work in a bare repository, without a work tree. Blocking and deterministic.

Theory of operation. What a job brings was verified as a whole, and is picked as a whole. First the tests of all jobs,
to be squashed into one commit; then, job by job, each job's fixes one after the other. A job that can't be picked is
set aside with all that it brings, and the rest is picked anew without it. Nothing is compared by what it looks like:
a duplicate is what changes nothing when it is picked after the other.

At the end, what each job brings is looked for in the whole: where a later pick has replaced some of it, that is said.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pygit2

from supervisor.adapters.git.merging import Merged, Merger
from supervisor.integration.branches.standing import replaced
from supervisor.integration.branches.writing import Branch, Landed, Step
from supervisor.integration.rules.ledger import ChangeRow, change_rows, credited, job_rows
from supervisor.integration.rules.ranking import planned, reordered
from supervisor.integration.rules.work import Picked, Unit, Work
from supervisor.model.change import Change
from supervisor.model.ledger import Fate, LedgerRow


@dataclass(frozen=True, slots=True)
class Integrated:
    """The branch's last commit (where it starts, if nothing was merged), and what became of everything."""

    head: str
    #: from the start to the head
    commits: tuple[str, ...]
    changes: tuple[ChangeRow, ...]
    jobs: dict[int, LedgerRow]
    #: what each of the commits holds
    landed: tuple[Landed, ...] = ()
    #: what was set aside, a job each
    aside: tuple[Unit, ...] = ()
    #: the files at its head
    tree: str = ""

    @property
    def conflicts(self) -> tuple[ChangeRow, ...]:
        return tuple(row for row in self.changes if row.fate is Fate.CONFLICT)


@dataclass(frozen=True, slots=True)
class Resolution:
    """How a job's conflict was resolved: a tree, and the tree that it was made from."""

    job: int
    before: str
    after: str
    #: what a reviewer has to know of it
    doubts: tuple[str, ...] = ()


def integrate(
    bare: Path,
    base: str,
    batch: str,
    works: Sequence[Work],
    *,
    onto: str = "",
    ranking: Sequence[str] = (),
    resolutions: Sequence[Resolution] = (),
) -> Integrated:
    """The same works on the same base give the same commits, to the byte. `onto`: another commit to stand on;
    `ranking`: another order of the fixes, as far as it names some; `resolutions` of what can't be picked."""
    merger, plan = Merger(pygit2.Repository(str(bare))), planned(works)
    picking = Picking(merger, base, onto or base)
    made, aside = picking.chosen(plan.units, reordered(plan, ranking))
    doubts = picking.doubts(plan.units, made, aside)
    said = dict(doubts)
    for resolution in resolutions:
        if (unit := next((unit for unit in plan.units if unit.job == resolution.job), None)) and unit.job in aside:
            picking.resolve(unit, resolution, made, aside)
            now = picking.doubts(plan.units, made, aside)
            said[unit.job] = (*resolution.doubts, *now.pop(unit.job, ()))
            if unit.job not in aside:
                others = {job: now[job] for job in now if now[job] != doubts.get(job)}
                made.steps[-1] = replace(made.steps[-1], doubts=others)
            doubts = now | {unit.job: said[unit.job]}
    by_job = {work.job: work for work in works}
    branch = Branch(merger.repo, onto or base, batch, by_job, said)
    branch.write(made.steps, credited(made.picks))
    # What is where the branch starts already is in its start.
    there = dict.fromkeys((c.key for p in made.picks if p.fate is Fate.DUPLICATE for c in p.changes), branch.start)
    rows = change_rows([*made.picks, *aside.values()], plan.rejected, works, there | branch.holders)
    units = tuple(unit for unit in plan.units if unit.job in aside)
    jobs = job_rows(works, rows, doubts)
    return Integrated(branch.head, branch.commits, rows, jobs, tuple(branch.landed), units, str(made.tree.id))


@dataclass(frozen=True, slots=True)
class Side:
    """What is picked: a tree, and what it was made from."""

    base: pygit2.Tree
    tree: pygit2.Tree


@dataclass
class Laid:
    """What has been picked so far."""

    tree: pygit2.Tree
    picks: list[Picked] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    #: what was merged: the change, and the tree after it
    merged: list[tuple[Change, pygit2.Tree]] = field(default_factory=list)
    #: which of these touch a path
    touched: dict[str, list[int]] = field(default_factory=dict)

    def take(self, changes: tuple[Change, ...], tree: pygit2.Tree, *, resolved: bool = False) -> None:
        self.tree = tree
        self.picks.append(Picked(changes, Fate.MERGED, resolved=resolved))
        for change in changes:
            for path in change.paths:
                self.touched.setdefault(path, []).append(len(self.merged))
            self.merged.append((change, tree))

    def rivals(self, paths: Collection[str], job: int) -> tuple[tuple[Change, pygit2.Tree], ...]:
        """Those of other jobs picked before that touch one of these paths, in the order of picking."""
        found = sorted({number for path in paths for number in self.touched.get(path, ())})
        return tuple(self.merged[number] for number in found if self.merged[number][0].job != job)


class Picking:
    def __init__(self, merger: Merger, base: str, start: str) -> None:
        self._merger = merger
        self.base, self.start = merger.commit_of(base).tree, merger.commit_of(start).tree

    def chosen(self, units: Sequence[Unit], ranked: Sequence[Unit]) -> tuple[Laid, dict[int, Picked]]:
        """What can be picked together, and what was set aside, by job."""
        aside: dict[int, Picked] = {}
        while isinstance(made := self._laid(units, ranked, aside), Picked):
            aside[made.changes[0].job] = made
        # What one was set aside for may have been set aside itself, later.
        for job in [job for job, picked in aside.items() if any(rival.job in aside for rival in picked.rivals)]:
            again = self._laid(units, ranked, aside.keys() - {job})
            if isinstance(again, Laid):
                made = again
                del aside[job]
        return made, aside

    def resolve(self, unit: Unit, resolution: Resolution, laid: Laid, aside: dict[int, Picked]) -> None:
        """What can't be picked even so stays aside."""
        before, after = (self._merger.repo[each].peel(pygit2.Tree) for each in (resolution.before, resolution.after))
        done = self._merger.merged(before, laid.tree, after)
        if not done.conflicts and done.tree.id != laid.tree.id:
            laid.take(unit.changes, done.tree, resolved=True)
            laid.steps.append(Step(unit.changes, done.tree, resolved=True))
            del aside[unit.job]

    def _laid(self, units: Sequence[Unit], ranked: Sequence[Unit], without: Collection[int]) -> Laid | Picked:
        """All of them, or the first conflict."""
        laid = Laid(self.start)
        for unit in units:
            if unit.tests and unit.job not in without and (conflict := self._tests(unit, laid)):
                return conflict
        if squashed := tuple(change for change, _ in laid.merged):
            laid.steps.append(Step(squashed, laid.tree, is_squash=True))
        for unit in ranked:
            if unit.job not in without and (conflict := self._fixes(unit, laid)):
                return conflict
        return laid

    def _tests(self, unit: Unit, laid: Laid) -> Picked | None:
        if not self._is_straight(unit.tests):
            return Picked(unit.changes, Fate.CONFLICT, unit.paths)
        paths = {path for change in unit.tests for path in change.paths}
        brought = Side(self.base, self._brought(unit, paths))
        done = self._merger.merged(self.base, laid.tree, brought.tree)
        if conflict := self._conflict(unit, laid, done):
            return conflict
        self._took(unit.tests, brought, laid, done.tree)
        return None

    def _fixes(self, unit: Unit, laid: Laid) -> Picked | None:
        """One after the other. Where they can't be, as one: two jobs may have come to the same in other steps."""
        if not self._is_straight(unit.fixes):
            return Picked(unit.changes, Fate.CONFLICT, unit.paths)
        trees = self._one_by_one(unit, laid.tree)
        if trees is None:
            brought = Side(self.base, self._brought(unit, unit.paths))
            done = self._merger.merged(self.base, laid.tree, brought.tree)
            if conflict := self._conflict(unit, laid, done):
                return conflict
            parts = [(unit.fixes, brought, done.tree)]
        else:
            sides = [self._side(change) for change in unit.fixes]
            parts = [((change,), side, tree) for change, side, tree in zip(unit.fixes, sides, trees, strict=True)]
        for changes, side, tree in parts:
            before = laid.tree
            self._took(changes, side, laid, tree)
            if tree.id != before.id:
                laid.steps.append(Step(changes, tree))
        return None

    def _one_by_one(self, unit: Unit, tree: pygit2.Tree) -> list[pygit2.Tree] | None:
        trees = []
        for side in map(self._side, unit.fixes):
            done = self._merger.merged(side.base, tree, side.tree)
            if done.conflicts:
                return None
            tree = done.tree
            trees.append(tree)
        return trees

    def _side(self, change: Change) -> Side:
        commit = self._merger.commit_of(change.sha)
        return Side(commit.parents[0].tree, commit.tree)

    def _is_straight(self, changes: Sequence[Change]) -> bool:
        return all(len(self._merger.commit_of(change.sha).parent_ids) == 1 for change in changes)

    def _conflict(self, unit: Unit, laid: Laid, done: Merged) -> Picked | None:
        if not done.conflicts:
            return None
        rivals = tuple(change for change, _ in laid.rivals(done.conflicts, unit.job))
        return Picked(unit.changes, Fate.CONFLICT, done.conflicts, rivals)

    def _took(self, changes: tuple[Change, ...], side: Side, laid: Laid, after: pygit2.Tree) -> None:
        """Cases: it changes something; it has nothing in it; all of it was there."""
        if after.id != laid.tree.id:
            laid.take(changes, after)
        elif side.base.id == side.tree.id:
            laid.picks.append(Picked(changes, Fate.EMPTY))
        else:
            laid.picks.append(self._duplicate(changes, side, laid))

    def _duplicate(self, changes: tuple[Change, ...], side: Side, laid: Laid) -> Picked:
        """Credited to the first after which it changes nothing more; to none, if it never did here."""
        if self._merger.holds(side.base, self.start, side.tree):
            return Picked(changes, Fate.DUPLICATE if self.start.id != self.base.id else Fate.EMPTY)
        paths = {path for change in changes for path in change.paths}
        near = laid.rivals(paths, changes[0].job) or tuple(laid.merged)
        there = (change for change, tree in near if self._merger.holds(side.base, tree, side.tree))
        holder = next(there, near[-1][0])
        return Picked(changes, Fate.DUPLICATE, rivals=tuple(change for change, _ in near), holder=holder)

    def _brought(self, unit: Unit, paths: Collection[str]) -> pygit2.Tree:
        """The base, with these paths as the job has left them."""
        return self._merger.with_paths(self.base, self._merger.commit_of(unit.head).tree, paths)

    def brought(self, unit: Unit) -> pygit2.Tree:
        """The base, with all that the job brings."""
        return self._brought(unit, unit.paths)

    def doubts(self, units: Sequence[Unit], laid: Laid, aside: Collection[int]) -> dict[int, tuple[str, ...]]:
        return {unit.job: tuple(self.replaced(unit, laid)) for unit in units if unit.job not in aside}

    def replaced(self, unit: Unit, laid: Laid) -> Iterator[str]:
        """What of a job's work is not in the whole as it was verified, and what it had to give way to."""
        others = [change for change, _ in laid.rivals(unit.paths, unit.job)]
        yield from replaced(self._merger, self.base, self.brought(unit), laid.tree, others)
