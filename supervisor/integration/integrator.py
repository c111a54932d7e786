"""From a drained batch to a branch in a person's repository, in steps that can each be repeated.

    gather, pick ─► what breaks a test with the rest is left out ─► is judgement wanted? ─► an agent, as job 0
                                                                          │ no                  │ it is over
                                                                          ▼                     ▼
                          landed: a branch, never checked out ◄──── what stands ◄──── its branch is checked

The decision of each step is stored before the next one begins, so a crash at any point leads to the same branch:
picking is deterministic, and what is not (the results of tests, what people do meanwhile) is stored.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from supervisor.adapters.git.store import GitStore
from supervisor.adapters.layout import Layout
from supervisor.adapters.steps import Steps
from supervisor.errors import GitFailed, Refused
from supervisor.flow.batches import unmerged
from supervisor.integration.branches.picking import Integrated
from supervisor.integration.branches.standing import held_back
from supervisor.integration.mechanical import MachinePass, read_report
from supervisor.integration.proving import Prover
from supervisor.integration.rules import siblings
from supervisor.integration.rules.questions import Questions, Raised, questions, task
from supervisor.integration.rules.work import Work
from supervisor.integration.taking import Taking
from supervisor.launch.contract import run_command
from supervisor.model.attempt import AttemptKey
from supervisor.model.batch import Batch
from supervisor.model.ledger import HELD_BACK, MOVED, ON_BRANCH, Fate
from supervisor.ports import Integration, Integrator, Judgement
from supervisor.threads import in_thread
from supervisor.verification.trials.asking import AnyTrials

#: the most patches of conflicts that are shown
MOST_PATCHES = 50


class BranchIntegrator:
    def __init__(self, store: GitStore, layout: Layout, trials: AnyTrials) -> None:
        self._store, self._layout, self._prover = store, layout, Prover(trials, layout)
        self._machine = MachinePass(store, layout, self._prover)
        self._asking = Asking(store, layout)
        self._taking = Taking(store, layout, self._prover, self._machine)

    async def integrate(self, batch: Batch, number: int) -> Integration | Judgement:
        steps = Steps(self._layout.integration(batch.id, number))
        made = await steps.read("result", Integration) or await self._made(batch, number, steps)
        return made if isinstance(made, Judgement) else await self._landed(batch, number, made)

    async def _made(self, batch: Batch, number: int, steps: Steps) -> Integration | Judgement:
        works = await self._machine.works(batch, steps)
        done = await self._machine.pick(batch, works)
        await self._keep(batch, number, done)
        if batch.integrator is None and (wanted := await self._asking.judgement(batch, steps, works, done)):
            return wanted
        taken = await self._taking.taken(batch, works, done)
        await self._keep(batch, number, taken.done)
        proved = await steps.read("proved", tuple[str, ...]) or ()
        notes = (*taken.notes, *proved, *await self._reverts(batch, taken.done))
        repo, start, head = Path(batch.repo), batch.origin.branch, taken.done.head
        if moved := await self._store.moved(repo, start, batch.base, head=head):
            notes = (f"{MOVED} {moved}", *notes)
        ledger = {**unmerged(batch), **taken.done.jobs}
        made = Integration(siblings.told(batch, ledger), head=taken.done.head, problems=taken.problems, notes=notes)
        await steps.write("result", made)
        return made

    async def _keep(self, batch: Batch, number: int, done: Integrated) -> None:
        await self._store.pin(Path(batch.repo), done.head, f"refs/supervisor/{batch.id}/integrated/{number}")

    async def _reverts(self, batch: Batch, done: Integrated) -> list[str]:
        """Notes on the fixes that can't be reverted alone."""
        fixes = {each.sha: each.subject for each in done.landed if each.job is not None}
        held = await in_thread(held_back, self._store.bare(Path(batch.repo)), done.commits)
        return [
            f"{HELD_BACK} {sha[:12]} ({fixes[sha]}): what comes after it stands on it in {', '.join(paths[:5])}"
            for sha, paths in held.items()
            if sha in fixes
        ]

    async def _landed(self, batch: Batch, number: int, made: Integration) -> Integration:
        """If the person's repository can't be written, a person must repair it; the branch is kept in ours."""
        if made.head == batch.base:
            return replace(made, head="")
        try:
            branch = await self._store.land_once(Path(batch.repo), made.head, batch.id, number)
        except (GitFailed, Refused) as failed:
            later = f"`supervisorctl work {batch.id} --take` makes it"
            problem = f"the branch could not be made in {batch.repo}: {failed.message}; {later}"
            return replace(made, problems=(*made.problems, problem))
        return replace(made, branch=branch)


class Asking:
    def __init__(self, store: GitStore, layout: Layout) -> None:
        self._store, self._layout = store, layout

    async def judgement(
        self, batch: Batch, steps: Steps, works: Sequence[Work], done: Integrated
    ) -> Judgement | None:
        """None if nothing is left to judge."""
        if not batch.profile.integrator or batch.is_spent:
            return None
        raised = await in_thread(lambda: tuple(self._raised(batch)))
        asked = questions(done.changes, done.commits, raised)
        if not asked.why:
            return None
        await self._prepare(batch, steps, works, done, asked)
        return Judgement(asked.why)

    async def _prepare(
        self, batch: Batch, steps: Steps, works: Sequence[Work], done: Integrated, asked: Questions
    ) -> None:
        touched = (*ON_BRANCH, Fate.CONFLICT)
        repo, by_job = Path(batch.repo), {work.job: work for work in works}
        shown = [row.change.sha for rows in asked.conflicts for row in rows][:MOST_PATCHES]
        patches = {sha: await self._store.patch(repo, sha) for sha in shown}
        tests = dict.fromkeys(by_job[row.change.job].test for row in done.changes if row.fate in touched)
        run = run_command(batch.profile, *tests, times=batch.cases_in(tests)) if tests else ""
        await steps.write(steps.task.stem, task(batch.id, asked, by_job, patches, run))
        await self._store.checkout(repo, done.head, steps.source)

    def _raised(self, batch: Batch) -> Iterator[Raised]:
        for job in batch.jobs():
            report = (
                read_report(self._layout, AttemptKey(batch.id, job.number, job.attempts))
                if job.brought.claim
                else None
            )
            for escalation in report.escalations if report else ():
                yield Raised(job.number, escalation)


class TakenByPeople:
    """Integrates the work of testers only: people take that of writers."""

    def __init__(self, integrator: Integrator) -> None:
        self._integrator = integrator

    async def integrate(self, batch: Batch, number: int) -> Integration | Judgement:
        if batch.role == "writer":
            return Integration(unmerged(batch))
        return await self._integrator.integrate(batch, number)
