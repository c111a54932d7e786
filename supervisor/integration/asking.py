"""Prepares what an integrator's agent is asked: a checkout of the machine's branch, and its task by the prompt."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from supervisor.adapters.git.store import GitStore
from supervisor.adapters.layout import Layout
from supervisor.integration.branches.picking import Integrated
from supervisor.integration.mechanical import read_report
from supervisor.integration.rules.questions import Questions, Raised, questions, task
from supervisor.integration.rules.work import Work
from supervisor.integration.steps import Steps
from supervisor.launch.contract import run_command
from supervisor.model.attempt import AttemptKey
from supervisor.model.batch import Batch
from supervisor.model.ledger import ON_BRANCH, Fate
from supervisor.ports import Judgement
from supervisor.threads import in_thread

#: so many patches of conflicts are shown
MOST_PATCHES = 50


class Asking:
    def __init__(self, store: GitStore, layout: Layout) -> None:
        self._store, self._layout = store, layout

    async def judgement(
        self, batch: Batch, steps: Steps, works: Sequence[Work], done: Integrated
    ) -> Judgement | None:
        """None where nothing is left to judge."""
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
