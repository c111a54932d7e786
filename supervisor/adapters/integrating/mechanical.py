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
from supervisor.flow.integration.bringing import must_pass
from supervisor.flow.integration.ranking import planned
from supervisor.flow.integration.work import Work
from supervisor.model.batch import Batch


class MachinePass:
    def __init__(self, store: GitStore, layout: Layout, prover: Prover) -> None:
        self._store, self._layout, self._prover = store, layout, prover

    async def works(self, batch: Batch, desk: Desk) -> tuple[Work, ...]:
        """All that the jobs bring; what breaks a test together with the rest is rejected, and that decision stays."""
        works = await gather(self._store, self._layout, batch)
        if (out := await desk.read("left-out", dict[int, str])) is None:
            out = await self._left_out(batch, works)
            await desk.write("left-out", out)
        return tuple(replace(work, rejected=out.get(work.job, "") or work.rejected) for work in works)

    async def _left_out(self, batch: Batch, works: Sequence[Work]) -> dict[int, str]:
        by_job = {work.job: work for work in works}
        plan = planned(works)
        ranked = dict.fromkeys(job for group in (*plan.tests, *plan.fixes) for job in group.jobs)

        async def made_of(jobs: Sequence[int]) -> Candidate:
            done = await self._store.pick(Path(batch.repo), batch.base, batch.id, [by_job[job] for job in jobs])
            return Candidate(done.head, must_pass(batch, done.changes))

        return await self._prover.left_out(batch, list(ranked), made_of)

    async def branch(self, batch: Batch, number: int, works: Sequence[Work]) -> Integrated:
        return await self._store.integrate(Path(batch.repo), batch.base, batch.id, number, works)
