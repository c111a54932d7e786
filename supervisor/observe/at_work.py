"""The jobs to watch: those at work, of all open batches, and those that ended last.

Small rows, for views that ask every second: their number depends on the slots, not on the size of the batches.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from supervisor.model.attempt import Attempt, AttemptKey
from supervisor.model.batch import Batch
from supervisor.model.job import Job, JobState
from supervisor.model.state import State
from supervisor.observe.snapshot import rfc3339

#: how many ended jobs are shown
MOST_ENDED = 200

type Row = dict[str, Any]


def rows(state: State, now: float, batch: str = "", *, ended: bool = False) -> list[Row]:
    batches = [each for each in state.in_order() if batch in ("", each.id)]
    if ended:
        found = [(each, job) for each in batches for job in each.begun() if job.state.is_over]
        found.sort(key=lambda pair: -(pair[1].times.ended or 0.0))
        return [_row(state, each, job, now) for each, job in islice(found, MOST_ENDED)]
    return [_row(state, each, job, now) for each in batches for job in _at_work(each)]


def _at_work(batch: Batch) -> Iterator[Job]:
    """The jobs that something is done for; a job that waits for its back-off counts as queued."""
    waits = (JobState.QUEUED, JobState.HELD)
    jobs = (job for job in batch.begun() if not job.state.is_over and job.state not in waits)
    return iter(sorted(jobs, key=lambda job: job.number))


def _row(state: State, batch: Batch, job: Job, now: float) -> Row:
    attempt = state.attempts.get(AttemptKey(batch.id, job.number, job.attempts))
    return {
        "id": batch.job_id(job.number),
        "test": job.test,
        "state": job.state,
        "outcome": job.outcome,
        "health": _health(job, attempt, now),
        "attempts": job.attempts,
        "pool": job.pool or None,
        "agent": job.agent or None,
        "since": rfc3339(_since(job, attempt)),
        "tokens": job.usage.tokens,
        "detail": job.detail,
    }


def _since(job: Job, attempt: Attempt | None) -> float | None:
    """Since when the job is in its state, as far as it is known."""
    if job.state.is_over:
        return job.times.ended
    if job.state is JobState.VERIFYING:
        return job.times.collected
    return attempt.started_at if attempt is not None else job.times.launched


def _health(job: Job, attempt: Attempt | None, now: float) -> str:
    """One or two words; "": healthy."""
    if job.state is JobState.PARKED:
        return "asks"
    if job.setbacks.hindrance and not job.state.is_over:
        return job.setbacks.hindrance
    if attempt is not None and attempt.quiet_since is not None and job.state is JobState.RUNNING:
        return f"quiet {(now - attempt.quiet_since) / 60:.0f} min"
    return ""
