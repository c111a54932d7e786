"""The machine's branch: each job's work is read, what qualifies is picked, and what breaks a test is left out."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from supervisor.adapters.git.store import GitStore
from supervisor.adapters.layout import PUBLISHED, Layout
from supervisor.adapters.steps import Steps
from supervisor.errors import Hostile
from supervisor.integration.branches.picking import Integrated, integrate
from supervisor.integration.branches.standing import packages
from supervisor.integration.proving import Candidate, Prover
from supervisor.integration.rules.ranking import must_pass, planned, proves, work_of
from supervisor.integration.rules.work import Work
from supervisor.model.attempt import AttemptKey
from supervisor.model.batch import Batch
from supervisor.model.ledger import ON_BRANCH
from supervisor.model.publication import Statement
from supervisor.publication.changes import read_changes
from supervisor.publication.rules.outcome import parse_outcome
from supervisor.threads import in_thread


class MachinePass:
    """`onto`: the commit to build the branch on, instead of the batch's base."""

    def __init__(self, store: GitStore, layout: Layout, prover: Prover, onto: str = "") -> None:
        self._store, self._layout, self._prover, self._onto = store, layout, prover, onto

    async def works(self, batch: Batch, steps: Steps) -> tuple[Work, ...]:
        """The work of all jobs; what breaks a test together with the rest is rejected, and that is stored."""
        works = await gather(self._store, self._layout, batch)
        if (out := await steps.read("left-out", dict[int, str])) is None:
            out = await self._left_out(batch, works, steps)
            await steps.write("left-out", out)
        return tuple(replace(work, rejected=out.get(work.job, "") or work.rejected) for work in works)

    async def _left_out(self, batch: Batch, works: Sequence[Work], steps: Steps) -> dict[int, str]:
        by_job = {work.job: work for work in works}

        async def made_of(jobs: Sequence[int]) -> Candidate:
            return await self.candidate(batch, await self.pick(batch, [by_job[job] for job in jobs]))

        # Of two jobs that break a test together, the one with doubts for the reviewer is left out.
        jobs = sorted(planned(works).jobs, key=lambda job: bool(by_job[job].doubts))
        proof = await self._prover.proved(batch, jobs, made_of)
        await steps.write("proved", proof.notes)
        return proof.out

    async def pick(self, batch: Batch, works: Sequence[Work]) -> Integrated:
        bare = self._store.bare(Path(batch.repo))
        return await in_thread(integrate, bare, batch.base, batch.id, works, onto=self._onto)

    async def candidate(self, batch: Batch, done: Integrated) -> Candidate:
        """The branch, with the tests that prove it."""
        if not proves(batch):
            return Candidate(done.head, (), tree=done.tree)
        suite = batch.profile.branch_tests
        if suite is None:
            touched = {path for row in done.changes if row.fate in ON_BRANCH for path in row.change.paths}
            suite = await in_thread(packages, self._store.bare(Path(batch.repo)), batch.base, tuple(touched))
        elif not suite:
            suite = None
        return Candidate(done.head, must_pass(batch, done.changes), suite, done.tree)


async def gather(store: GitStore, layout: Layout, batch: Batch) -> tuple[Work, ...]:
    """The work of every job that published some, in the order of their numbers."""
    works, bare = [], store.bare(Path(batch.repo))
    for job in (each for each in batch.jobs() if each.brings_work):
        report = await in_thread(read_report, layout, AttemptKey(batch.id, job.number, job.attempts))
        changes = await in_thread(read_changes, bare, batch.base, job.brought.head, job.number)
        works.append(work_of(batch, job, report, changes))
    return tuple(works)


def read_report(layout: Layout, key: AttemptKey) -> Statement | None:
    """The report that an attempt published; None if it is not kept."""
    try:
        return parse_outcome((layout.attempt(key) / Path(PUBLISHED).stem / "outcome.json").read_bytes())
    except (OSError, Hostile):
        return None
