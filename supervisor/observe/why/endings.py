"""Why a job that is over ended as it did, and what becomes of its work."""

from collections.abc import Iterator

from supervisor.model.batch import Batch, BatchState
from supervisor.model.job import INTEGRATOR, Job, JobState
from supervisor.model.ledger import ON_BRANCH, Fate, LedgerRow
from supervisor.observe.why.answer import Cause, Reason
from supervisor.observe.why.scene import Scene, because, by, count, quoted, sentence


def done(scene: Scene, batch: Batch, job: Job) -> Iterator[Reason]:
    yield Reason(Cause.ENDED, f"It ended as {job.outcome}{because(job.detail)}{_claim(job)}")
    yield from _becomes(scene, batch, job)


def _claim(job: Job) -> str:
    verdict = job.verdict
    if not verdict.verification or verdict.verification == "not-needed":
        return ""
    runs = f", {verdict.passed} of {count(verdict.runs, 'run')} passed" if verdict.runs else ""
    doubts = f", with {count(len(verdict.doubts), 'doubt')}" if verdict.doubts else ""
    reason = because(verdict.reason) if verdict.reason and verdict.reason not in job.detail else "."
    return f" Its claim is {verdict.verification}{runs}{doubts}{reason}"


def cancelled(scene: Scene, batch: Batch, job: Job) -> Iterator[Reason]:
    why = job.detail or (batch.stop.detail if batch.is_spent else "its batch was cancelled" + by(batch.cancelled_by))
    said = sentence(quoted(why)) if why.startswith("cancelled") else f"cancelled{because(why)}"
    yield Reason(Cause.CANCELLED, f"It was {said}")
    yield from _becomes(scene, batch, job)


def _becomes(scene: Scene, batch: Batch, job: Job) -> Iterator[Reason]:
    """What becomes of its work, and of the job."""
    retry = f"`supervisorctl retry {batch.job_id(job.number)}` tries it again."
    if job.number == INTEGRATOR:
        yield Reason(Cause.AWAITS_INTEGRATION, "The daemon checks what it merged.")
    elif (row := batch.ledger.get(job.number)) is not None:
        yield _ledger(batch, row)
    elif batch.state in (BatchState.QUEUED, BatchState.RUNNING):
        left = len(batch.tests) - batch.count(JobState.DONE) - batch.count(JobState.CANCELLED)
        starts = f"The integration of its batch starts when {count(left, 'more job')} are over."
        text = (
            f"Its work waits to be merged. {starts}" if job.brings_work else f"It brings nothing to merge. {starts}"
        )
        yield Reason(Cause.AWAITS_INTEGRATION, text, retry)
    else:
        yield Reason(
            Cause.AWAITS_INTEGRATION, f"Its batch {batch.id} is {batch.state}: its ledger is not written yet."
        )
    if kept := job.where(batch.id):
        yield Reason(Cause.LEDGER, sentence(f"Its work is {quoted(kept)}"))


def _ledger(batch: Batch, row: LedgerRow) -> Reason:
    on = f" on the branch {batch.result.branch}" if row.fate in ON_BRANCH and batch.result.branch else ""
    work = f"`supervisorctl work {batch.id}` lists work that is not merged."
    is_left = row.fate in (Fate.REJECTED, Fate.CONFLICT, Fate.RESCUED)
    return Reason(Cause.LEDGER, f"The ledger says {row.fate}{on}{because(row.detail)}", work if is_left else "")
