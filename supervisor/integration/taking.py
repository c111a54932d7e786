"""The final branch: the machine's branch, made again with the integrator's decisions, as far as they hold.

The integrator's own branch is not taken: only the order and the resolutions are read from it. With them the machine
makes its own commits again, under its own name, and proves them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from supervisor.adapters.git.store import GitStore
from supervisor.adapters.layout import Layout
from supervisor.integration.branches.picking import Integrated, Resolution, integrate
from supervisor.integration.branches.remaking import Remade, read_branch, remade
from supervisor.integration.mechanical import MachinePass, read_report
from supervisor.integration.proving import Candidate, Prover
from supervisor.integration.rules.checking import dropped, given_up, placed, ranked, shape, untrue, with_reasons
from supervisor.integration.rules.ledger import job_rows
from supervisor.integration.rules.work import Work
from supervisor.model.attempt import AttemptKey
from supervisor.model.batch import Batch
from supervisor.model.job import INTEGRATOR, Job
from supervisor.threads import in_thread
from supervisor.verification.inspecting import Question, inspect
from supervisor.verification.rules.places import Allowed
from supervisor.verification.trials.running import environment
from supervisor.verification.works import read_work

MOST_LIES = 20

ORDERED = "the fixes stand in the order that the integrator gave them"


@dataclass(frozen=True, slots=True)
class Said:
    """What an integrator decides: the order of the fixes and the fate of each conflict; or why nothing counts."""

    lies: tuple[str, ...] = ()
    resolutions: tuple[Resolution, ...] = ()
    ranking: tuple[str, ...] = ()
    #: conflicts that it gives up, with its reasons
    failed: Mapping[str, str] = field(default_factory=dict)
    #: what it says of things that it was not asked about
    untrue: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Taken:
    """The branch that stands."""

    done: Integrated
    problems: tuple[str, ...] = ()
    #: for the reader
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Making:
    """One making of the branch: everything is settled except which resolutions are used."""

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
        if not (job.brought.claim and job.brought.head):
            why = f"the integrator's agent made no branch: {job.outcome}: {job.detail}"
            return Taken(done, () if job.brought.claim else (why,))
        said = await self._reading.said(batch, done, job)
        return Taken(done, tuple(named(said.lies))) if said.lies else await self._made(batch, works, done, said)

    async def _made(self, batch: Batch, works: Sequence[Work], done: Integrated, said: Said) -> Taken:
        """Use its order if the result is the same, and each of its resolutions that breaks nothing."""
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
        rows = with_reasons(final.changes, said.failed, out)
        notes = () if ordered.commits == done.commits else (ORDERED,)
        jobs_rows = job_rows(works, rows, {job: row.doubts for job, row in final.jobs.items()})
        return Taken(replace(final, changes=rows, jobs=jobs_rows), tuple(problems), notes)

    async def _with(self, making: Making, jobs: Sequence[int]) -> Integrated:
        """The branch with the resolutions of these jobs."""
        batch, taken = making.batch, [each for each in making.resolutions if each.job in jobs]
        bare = self._store.bare(Path(batch.repo))
        return await in_thread(
            integrate, bare, batch.base, batch.id, making.works, ranking=making.ranking, resolutions=taken
        )

    async def _refused(self, making: Making, ordered: Integrated) -> dict[int, str]:
        """The resolutions that the policy refuses: an integrator may not weaken a test either."""
        batch, home, out = making.batch, self._layout.state_dir, dict[int, str]()
        allowed = Allowed(batch.profile.allow_paths, batch.profile.deny_paths)
        kinds = {unit.job: tuple(change.kind for change in unit.changes) for unit in ordered.aside}
        bare = self._store.bare(Path(batch.repo))
        for each in making.resolutions:
            made = await self._with(making, [each.job])
            own = await in_thread(read_work, bare, ordered.head, made.head, 0)
            question = Question(own.files, batch.job(each.job).test, allowed, kinds[each.job])
            if found := await inspect(question, environment(home, home, {})):
                out[each.job] = str(found[0])
        return out

    async def _broken(self, making: Making, jobs: Sequence[int]) -> dict[int, str]:
        """The resolutions that break what was proved without them."""

        async def made_of(jobs: Sequence[int]) -> Candidate:
            made = await self._with(making, jobs)
            return (
                await self._machine.candidate(making.batch, made)
                if jobs
                else Candidate(made.head, (), tree=made.tree)
            )

        return (await self._prover.proved(making.batch, jobs, made_of)).out


class Reading:
    def __init__(self, store: GitStore, layout: Layout) -> None:
        self._store, self._layout = store, layout

    async def said(self, batch: Batch, done: Integrated, job: Job) -> Said:
        """`done`: the machine's branch. The integrator's is checked for its shape first, then for its content."""
        bare = self._store.bare(Path(batch.repo))
        report = await in_thread(read_report, self._layout, AttemptKey(batch.id, INTEGRATOR, job.attempts))
        extra = report.extra if report else {}
        failed, ranking = given_up(extra), ranked(extra)
        commits = await in_thread(read_branch, bare, batch.base, job.brought.head)
        machine = {each.sha: each.changes for each in done.landed}
        found, lies = placed(batch.id, commits, machine, done.aside)
        lies = [*shape(batch.base, commits), *lies, *dropped(found, machine, done.aside, failed)]
        # A commit that is misplaced, or one too many or too few, has nothing to be compared with.
        made = Remade() if lies else await in_thread(remade, bare, batch.base, found)
        if lies := [*lies, *made.objections]:
            return Said(tuple(str(lie) for lie in lies))
        order = ranking or tuple(change for each in found if each.machine for change in machine[each.machine])
        return Said((), tuple(made.resolutions), order, failed, tuple(_untrue(done, failed, ranking)))


def named(lies: tuple[str, ...]) -> Iterator[str]:
    yield from (f"the integrator's branch is not taken: {lie}" for lie in lies[:MOST_LIES])
    if len(lies) > MOST_LIES:
        yield f"the integrator's branch has {len(lies) - MOST_LIES} lies more"


def _untrue(done: Integrated, failed: Mapping[str, str], ranking: tuple[str, ...]) -> Iterator[str]:
    conflicts = {change.sha for unit in done.aside for change in unit.changes}
    fixes = {change for each in done.landed if each.job is not None for change in each.changes}
    yield from untrue(failed, ranking, conflicts, fixes | conflicts)
