"""The queue of a batch: which jobs wait, in which order, and when the batch is drained."""

from dataclasses import replace

from supervisor.errors import ImpossibleTransition
from supervisor.model import event as ev
from supervisor.model.batch import Batch, BatchState
from supervisor.model.job import Job, JobState
from supervisor.model.state import State


def taken(state: State, batch_id: str, job: Job, at: float) -> State:
    """Take the job out of the queue: an agent is being launched for it."""
    batch = _withdrawn(state.batches[batch_id].with_job(job), job.number)
    if batch.state is BatchState.QUEUED:
        batch = replace(batch, state=BatchState.RUNNING, started_at=at)
    return state.drop(("ready", batch_id, job.number)).with_batch(batch)


def put_aside(state: State, batch_id: str, job: Job) -> State:
    """Take the job out of the queue: it waits for something else."""
    return state.with_batch(_withdrawn(state.batches[batch_id].with_job(job), job.number))


def _withdrawn(batch: Batch, number: int) -> Batch:
    """Remove the job from the queue. The cursor skips touched jobs, so that the next job still waits."""
    cursor = batch.cursor
    while cursor < len(batch.tests) and cursor + 1 in batch.touched:
        cursor += 1
    again = batch.again
    if number in again:
        again = tuple(other for other in again if other != number)
    return replace(batch, cursor=cursor, again=again)


def ended(state: State, event: ev.JobEvent, job: Job) -> State:
    """Record that the job is over. After the last job the batch is drained, and its integration is due."""
    job = replace(job, times=replace(job.times, ended=event.at))
    batch = _withdrawn(state.batches[event.batch].with_job(job), job.number)
    where = (batch.id, job.number)
    state = state.with_batch(batch).drop(("settle", *where), ("ready", *where), ("cancel", *where))
    state = straggled(state, batch, job, event.at)
    return drained(state, state.batches[batch.id], event.at)


def drained(state: State, batch: Batch, at: float) -> State:
    """If the batch is drained, make its integration due.

    A partial integration in progress finishes first; one that failed or has not started is dropped."""
    if not batch.is_drained or batch.finished_at is not None:
        return state
    state = state.drop(("straggle", batch.id))
    if batch.integrations.is_partial_at_work:
        return state
    state = state.drop(("partial", batch.id)).with_batch(batch.merging(batch.integrations.with_partial(None)))
    return state.put(("finish" if batch.state is BatchState.CANCELLED else "integrate", batch.id), at)


def straggled(state: State, batch: Batch, job: Job, at: float) -> State:
    """Schedule the automatic partial integration: when enough jobs are over, or some time after the first launch.

    A timer that expires before there is any work is not re-armed."""
    merging = replace(batch.integrations, has_work=batch.integrations.has_work or job.brings_work)
    state, profile = state.with_batch(batch.merging(merging)), batch.profile
    if merging.is_asked or not merging.has_work or batch.state is not BatchState.RUNNING or batch.role == "writer":
        return state
    over = batch.count(JobState.DONE) + batch.count(JobState.CANCELLED)
    if profile.integrate_share and over >= profile.integrate_share * len(batch.tests):
        return state.put(("straggle", batch.id), at)
    ends = (batch.started_at or batch.created_at) + profile.integrate_after_seconds
    return state.put(("straggle", batch.id), ends) if profile.integrate_after_seconds and at <= ends else state


def requeued(state: State, event: ev.JobRequeued, job: Job) -> State:
    job = replace(
        job, ending=None, setbacks=replace(job.setbacks, retries=job.setbacks.retries + event.counts, why=event.why)
    )
    state = state.with_job(event.batch, job).drop(("settle", event.batch, event.job))
    if event.ready_at > event.at:
        return state.put(("ready", event.batch, event.job), event.ready_at)
    return again(state, event)


def again(state: State, event: ev.JobEvent) -> State:
    """Put the job back into the queue, ahead of untouched jobs."""
    batch = state.batches[event.batch]
    if event.job in batch.again:
        raise ImpossibleTransition(f"{batch.job_id(event.job)} is already queued")
    batch = replace(batch, again=(*batch.again, event.job))
    return state.with_batch(batch).drop(("ready", event.batch, event.job))
