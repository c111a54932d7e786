"""The machine's branch: what qualifies is picked, and what breaks a test together with the rest is left out."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from supervisor.adapters.git.picking import Integrated
from supervisor.adapters.git.store import GitStore
from supervisor.adapters.integrating.desk import Desk
from supervisor.adapters.integrating.gathering import gather
from supervisor.adapters.integrating.proving import Candidate, Prover
from supervisor.adapters.layout import Layout
from supervisor.flow.integration.bringing import must_pass, proves
from supervisor.flow.integration.ranking import planned
from supervisor.flow.integration.taking import ON_BRANCH
from supervisor.flow.integration.work import Work
from supervisor.model.batch import Batch


class MachinePass:
    """`onto`: another commit than the batch's base to stand on."""

    def __init__(self, store: GitStore, layout: Layout, prover: Prover, onto: str = "") -> None:
        self._store, self._layout, self._prover, self._onto = store, layout, prover, onto

    async def works(self, batch: Batch, desk: Desk) -> tuple[Work, ...]:
        """All that the jobs bring; what breaks a test together with the rest is rejected, and that decision stays."""
        works = await gather(self._store, self._layout, batch)
        if (out := await desk.read("left-out", dict[int, str])) is None:
            out = await self._left_out(batch, works, desk)
            await desk.write("left-out", out)
        return tuple(replace(work, rejected=out.get(work.job, "") or work.rejected) for work in works)

    async def _left_out(self, batch: Batch, works: Sequence[Work], desk: Desk) -> dict[int, str]:
        by_job = {work.job: work for work in works}

        async def made_of(jobs: Sequence[int]) -> Candidate:
            return await self.candidate(batch, await self.pick(batch, [by_job[job] for job in jobs]))

        # Where two don't go together, what a reviewer has to doubt gives way.
        jobs = sorted(planned(works).jobs, key=lambda job: bool(by_job[job].doubts))
        proof = await self._prover.proved(batch, jobs, made_of)
        await desk.write("proved", proof.notes)
        return proof.out

    async def pick(self, batch: Batch, works: Sequence[Work]) -> Integrated:
        return await self._store.pick(Path(batch.repo), batch.base, batch.id, works, onto=self._onto)

    async def candidate(self, batch: Batch, done: Integrated) -> Candidate:
        """The tests that a branch is proved by."""
        if not proves(batch):
            return Candidate(done.head, ())
        suite = batch.profile.branch_tests
        if suite is None:
            touched = {path for row in done.changes if row.fate in ON_BRANCH for path in row.change.paths}
            suite = await self._store.packages(Path(batch.repo), batch.base, touched)
        elif not suite:
            suite = None
        return Candidate(done.head, must_pass(batch, done.changes), suite)
