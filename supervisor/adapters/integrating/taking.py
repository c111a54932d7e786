"""What stands: the machine's branch, made anew with what an integrator's agent decided, as far as that holds.

Its own branch is not taken: of that the order and the resolutions were read. With them the machine makes its own
commits again, under its own name, and proves them.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from supervisor.adapters.git.picking import Integrated, Resolution
from supervisor.adapters.git.store import GitStore
from supervisor.adapters.integrating.checking import Reading, Said, named
from supervisor.adapters.integrating.mechanical import MachinePass
from supervisor.adapters.integrating.proving import Candidate, Prover
from supervisor.adapters.judging.inspecting import Question, inspect
from supervisor.adapters.judging.running import environment
from supervisor.adapters.judging.works import read_work
from supervisor.adapters.layout import Layout
from supervisor.flow.integration.ledger import job_rows
from supervisor.flow.integration.taking import with_reasons
from supervisor.flow.integration.work import Work
from supervisor.flow.policy import Allowed
from supervisor.model.batch import Batch

ORDERED = "the fixes stand in the order that the integrator gave them"


@dataclass(frozen=True, slots=True)
class Taken:
    """The branch that stands."""

    done: Integrated
    problems: tuple[str, ...] = ()
    #: for the reader
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Making:
    """One making of the branch: everything but the resolutions is settled."""

    batch: Batch
    works: Sequence[Work]
    ranking: Sequence[str]
    resolutions: Sequence[Resolution]


class Taking:
    def __init__(self, store: GitStore, layout: Layout, prover: Prover, machine: MachinePass) -> None:
        self._store, self._layout, self._prover, self._machine = store, layout, prover, machine
        self._reading = Reading(store, layout)

    async def taken(self, batch: Batch, works: Sequence[Work], done: Integrated) -> Taken:
        job = batch.integrator
        if job is None:
            return Taken(done)
        if not (job.claim and job.head):
            why = f"the integrator's agent made no branch: {job.outcome}: {job.detail}"
            return Taken(done, () if job.claim else (why,))
        said = await self._reading.said(batch, done, job)
        return Taken(done, tuple(named(said.lies))) if said.lies else await self._made(batch, works, done, said)

    async def _made(self, batch: Batch, works: Sequence[Work], done: Integrated, said: Said) -> Taken:
        """With its order, if the same comes of it; and with each of its resolutions that breaks nothing."""
        making, problems = Making(batch, works, said.ranking, said.resolutions), list(said.untrue)
        ordered = await self._with(making, ())
        if (ordered.tree, ordered.aside) != (done.tree, done.aside):
            problems.append("the integrator's order of the fixes is not taken: something else would come of it")
            making, ordered = replace(making, ranking=()), done
        out = await self._refused(making, ordered)
        out |= await self._broken(making, [each.job for each in said.resolutions if each.job not in out])
        final = await self._with(making, [each.job for each in said.resolutions if each.job not in out])
        jobs = {each.job for each in said.resolutions}
        out |= {
            unit.job: "it can't be picked onto the others" for unit in final.aside if unit.job in jobs - out.keys()
        }
        problems += [f"the integrator's resolution of job {job} is left out: {why}" for job, why in out.items()]
        reasons = {change.sha: out[unit.job] for unit in final.aside if unit.job in out for change in unit.changes}
        rows = with_reasons(final.changes, {**said.failed, **reasons})
        notes = () if ordered.commits == done.commits else (ORDERED,)
        jobs_rows = job_rows(works, rows, {job: row.doubts for job, row in final.jobs.items()})
        return Taken(replace(final, changes=rows, jobs=jobs_rows), tuple(problems), notes)

    async def _with(self, making: Making, jobs: Sequence[int]) -> Integrated:
        """The branch with the resolutions of these jobs."""
        batch, taken = making.batch, [each for each in making.resolutions if each.job in jobs]
        return await self._store.pick(
            Path(batch.repo), batch.base, batch.id, making.works, ranking=making.ranking, resolutions=taken
        )

    async def _refused(self, making: Making, ordered: Integrated) -> dict[int, str]:
        """What policy says of each resolution: an integrator may weaken no test either."""
        batch, home, out = making.batch, self._layout.state_dir, dict[int, str]()
        allowed = Allowed(batch.profile.allow_paths, batch.profile.deny_paths)
        kinds = {unit.job: tuple(change.kind for change in unit.changes) for unit in ordered.aside}
        bare = self._store.bare(Path(batch.repo))
        for each in making.resolutions:
            made = await self._with(making, [each.job])
            own = await asyncio.to_thread(read_work, bare, ordered.head, made.head, 0)
            question = Question(own.files, batch.job(each.job).test, allowed, kinds[each.job])
            if found := await inspect(question, environment(home, home, {})):
                out[each.job] = str(found[0])
        return out

    async def _broken(self, making: Making, jobs: Sequence[int]) -> dict[int, str]:
        """What was proved without them must hold with them."""

        async def made_of(jobs: Sequence[int]) -> Candidate:
            made = await self._with(making, jobs)
            return await self._machine.candidate(making.batch, made) if jobs else Candidate(made.head, ())

        return (await self._prover.proved(making.batch, jobs, made_of)).out
