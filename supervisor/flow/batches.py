"""The life of a batch: submitted, drained, integrated, finished, sealed."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from supervisor.errors import ImpossibleTransition
from supervisor.flow import breaker, partial, queue, retention, stopping, surveying
from supervisor.flow.governor import accounts
from supervisor.flow.lifecycle import job_of
from supervisor.model import event as ev
from supervisor.model.batch import Batch, BatchState, Origin, Result
from supervisor.model.job import INTEGRATOR, Job
from supervisor.model.ledger import Fate, LedgerRow
from supervisor.model.outcome import Outcome
from supervisor.model.pausing import Pausing
from supervisor.model.state import State
from supervisor.model.verdict import UNPROVEN

#: events of a partial integration in progress
_PARTIAL = (ev.PartialResumed, ev.PartialFailed, ev.PartialEnded)

#: A batch's state changes only by this table and by its first launch (`queue.taken`).
TRANSITIONS: Mapping[BatchState, Mapping[type[ev.Event], BatchState]] = {
    BatchState.QUEUED: {
        ev.LaunchStarted: BatchState.RUNNING,
        ev.BatchStopped: BatchState.QUEUED,
        ev.BatchCancelled: BatchState.CANCELLED,
        ev.IntegrationStarted: BatchState.INTEGRATING,
    },
    BatchState.RUNNING: {
        ev.BatchCancelled: BatchState.CANCELLED,
        ev.IntegrationStarted: BatchState.INTEGRATING,
        ev.BatchStopped: BatchState.RUNNING,
        ev.BreakerTripped: BatchState.RUNNING,
        ev.PartialWanted: BatchState.RUNNING,
        ev.PartialStarted: BatchState.RUNNING,
        **dict.fromkeys(_PARTIAL, BatchState.RUNNING),
    },
    BatchState.INTEGRATING: {
        ev.BatchStopped: BatchState.INTEGRATING,
        ev.IntegrationResumed: BatchState.INTEGRATING,
        ev.IntegrationFailed: BatchState.INTEGRATING,
        ev.JudgementWanted: BatchState.INTEGRATING,
        ev.IntegrationEnded: BatchState.INTEGRATING,
        ev.BatchFinished: BatchState.FINISHED,
    },
    BatchState.FINISHED: {ev.BatchSealed: BatchState.FINISHED},
    BatchState.CANCELLED: {
        ev.BatchFinished: BatchState.CANCELLED,
        ev.BatchSealed: BatchState.CANCELLED,
        **dict.fromkeys(_PARTIAL, BatchState.CANCELLED),
    },
}


def _batch(state: State, event: ev.BatchEvent) -> Batch:
    """The event's batch, moved to its next state."""
    if (batch := state.batches.get(event.batch)) is None:
        raise ImpossibleTransition(f"{event.kind} of {event.batch}, which is not open")
    if type(event) not in TRANSITIONS[batch.state]:
        raise ImpossibleTransition(f"a batch that is {batch.state} can't have {event.kind}")
    return replace(batch, state=TRANSITIONS[batch.state][type(event)])


def _steered(state: State, event: ev.BatchEvent) -> Batch:
    if (batch := state.batches.get(event.batch)) is None or batch.finished_at is not None:
        raise ImpossibleTransition(f"{event.kind} of {event.batch}, which is not open")
    return batch


def on_submitted(state: State, event: ev.BatchSubmitted) -> State:
    if event.batch in state.batches:
        raise ImpossibleTransition(f"batch {event.batch} was already submitted")
    state = accounts.known(replace(state, submitted=state.submitted + 1), event.profile)
    batch = Batch(
        id=event.batch,
        number=state.submitted,
        repo=event.repo,
        base=event.base,
        tests=event.tests,
        profile=event.profile,
        created_at=event.at,
        origin=Origin(event.author, event.submitted_from, event.retry_of, frozenset(event.audited)),
        priority=event.priority,
        role=event.role,
        tasks=event.tasks,
        cases=event.cases,
        window_open=not event.profile.window,
        paused_before=accounts.paused_seconds(state, event.profile, event.at),
        survey=surveying.wanted(event.tests, event.profile, event.role),
    )
    state = state.with_batch(batch)
    if event.profile.window:
        state = state.put(("window", batch.id), event.at)
    return queue.drained(state, batch, event.at)


def on_paused(state: State, event: ev.BatchPaused) -> State:
    return state.with_batch(replace(_steered(state, event), paused=True, pausing=Pausing(event.at, event.author)))


def on_resumed(state: State, event: ev.BatchResumed) -> State:
    batch = replace(_steered(state, event), paused=False, pausing=None)
    batch = breaker.resumed(stopping.resumed(batch))
    return surveying.stopped_if_broken(state.with_batch(batch), batch, event.at)


def on_stopped(state: State, event: ev.BatchStopped) -> State:
    """If its budget is spent, untouched jobs are over."""
    state = stopping.stopped(state, event, _batch(state, event))
    return queue.drained(state, state.batches[event.batch], event.at)


def on_cancelled(state: State, event: ev.BatchCancelled) -> State:
    """This cancels the untouched jobs; the others are cancelled by events of their own."""
    batch = replace(_batch(state, event), cancelled_by=event.author)
    state = state.with_batch(batch).drop(("window", batch.id), ("integrate", batch.id), ("stop", batch.id))
    state = state.drop((breaker.TRIPPED, batch.id))
    state = partial.cancelled(state, batch)
    return queue.drained(state, state.batches[batch.id], event.at)


def on_window_opened(state: State, event: ev.WindowOpened) -> State:
    return _window(state, event, True, event.until)


def on_window_closed(state: State, event: ev.WindowClosed) -> State:
    return _window(state, event, False, event.until)


def _window(state: State, event: ev.BatchEvent, is_open: bool, until: float) -> State:
    state = state.with_batch(replace(_steered(state, event), window_open=is_open))
    return state.put(("window", event.batch), until)


def on_integration_started(state: State, event: ev.IntegrationStarted) -> State:
    batch = _batch(state, event)
    if not batch.is_drained:
        raise ImpossibleTransition(f"batch {batch.id} is not drained")
    if batch.integrations.partial is not None:
        raise ImpossibleTransition(f"batch {batch.id} has a partial integration in progress")
    state = stopping.overtaken(state, batch)
    state = state.drop(("integrate", batch.id), ("window", batch.id), (breaker.TRIPPED, batch.id))
    batch = breaker.over(batch)
    return state.with_batch(batch.merging(replace(batch.integrations, count=event.number)))


def on_partial_wanted(state: State, event: ev.PartialWanted) -> State:
    return partial.wanted(state, event, _batch(state, event))


def on_partial_started(state: State, event: ev.PartialStarted) -> State:
    return partial.started(state, event, _batch(state, event))


def on_partial_resumed(state: State, event: ev.PartialResumed) -> State:
    return partial.resumed(state, event, _batch(state, event))


def on_partial_failed(state: State, event: ev.PartialFailed) -> State:
    return partial.failed(state, event, _batch(state, event))


def on_partial_ended(state: State, event: ev.PartialEnded) -> State:
    return partial.ended(state, event, _batch(state, event))


def on_integration_resumed(state: State, event: ev.IntegrationResumed) -> State:
    return _troubled(state, _batch(state, event), "").drop(("integrate", event.batch))


def on_integration_failed(state: State, event: ev.IntegrationFailed) -> State:
    state = _troubled(state, _unintegrated(state, event), event.detail or "it failed")
    return state.put(("integrate", event.batch), event.retry_at)


def _troubled(state: State, batch: Batch, why: str) -> State:
    return state.with_batch(batch.merging(replace(batch.integrations, trouble=why)))


def on_judgement_wanted(state: State, event: ev.JudgementWanted) -> State:
    """The integrator's agent waits for a slot like any other, but not for the window, which is for tests only."""
    batch = _unintegrated(state, event)
    if batch.integrator is not None:
        raise ImpossibleTransition(f"batch {batch.id} already has an integrator")
    batch = replace(
        batch, integrator=Job(INTEGRATOR, test="", detail=event.why), again=(INTEGRATOR,), window_open=True
    )
    state = state.with_batch(batch).drop(("integrate", batch.id))
    return stopping.wrapped_up(state, batch, event.at)


def on_integration_ended(state: State, event: ev.IntegrationEnded) -> State:
    batch = _unintegrated(state, event)
    if set(event.ledger) != set(range(1, len(batch.tests) + 1)):
        raise ImpossibleTransition(f"the ledger of {batch.id} does not have one row for each job")
    result = Result(event.branch, event.head, event.problems, event.notes)
    batch = replace(batch, ledger=batch.ledger.update(dict(event.ledger)), result=result)
    return state.with_batch(batch).drop(("integrate", batch.id)).put(("finish", batch.id), event.at)


def _unintegrated(state: State, event: ev.BatchEvent) -> Batch:
    batch = _batch(state, event)
    if batch.ledger or not batch.is_drained:
        why = "is already integrated" if batch.ledger else "waits for its integrator"
        raise ImpossibleTransition(f"batch {batch.id} {why}")
    return batch


def on_finished(state: State, event: ev.BatchFinished) -> State:
    batch = _batch(state, event)
    batch = replace(batch, finished_at=event.at, held_up=accounts.held_up(state, batch, event.at))
    if event.ledger:
        batch = replace(batch, ledger=batch.ledger.update(dict(event.ledger)))
    state = state.with_batch(batch).drop(("finish", batch.id), ("integrate", batch.id), ("stop", batch.id))
    return state if batch.agents else state.put(("seal", batch.id), event.at)


def on_sealed(state: State, event: ev.BatchSealed) -> State:
    batch = _batch(state, event)
    state = state.drop(("seal", batch.id)).put(retention.CLEAR, event.at)
    return replace(state, batches=state.batches.delete(batch.id), verifying=state.verifying.forget(batch.id))


def on_job_requeued(state: State, event: ev.JobRequeued) -> State:
    job = job_of(state, event)
    return breaker.settled(queue.requeued(state, event, job), event, job)


def on_job_ready(state: State, event: ev.JobReady) -> State:
    job_of(state, event)
    return queue.again(state, event)


def on_job_ended(state: State, event: ev.JobEnded) -> State:
    job = replace(job_of(state, event), outcome=Outcome(event.outcome), detail=event.detail)
    return breaker.settled(queue.ended(state, event, job), event, job)


def on_job_retried(state: State, event: ev.JobRetried) -> State:
    batch = _steered(state, event)
    if batch.state not in (BatchState.QUEUED, BatchState.RUNNING):
        raise ImpossibleTransition(f"batch {batch.id} is {batch.state}")
    if batch.is_spent:
        raise ImpossibleTransition(f"the token budget of batch {batch.id} is spent")
    job = job_of(state, event)
    job, brought, times = replace(job, borrowed=None), replace(job.brought, claim=""), replace(job.times, ended=None)
    setbacks = replace(job.setbacks, retries=0, launches=0)
    job = replace(
        job, ending=None, outcome=None, detail="", brought=brought, times=times, setbacks=setbacks, continues=0
    )
    carried = batch.integrations.carried - {job.number}  # its work will be new
    batch = batch.with_job(job).merging(replace(batch.integrations, carried=carried))
    return queue.again(state.with_batch(batch).drop(("integrate", event.batch)), event)


def unmerged(batch: Batch) -> dict[int, LedgerRow]:
    """The ledger of a batch that was not merged: one row for each job that is over, with all work that is kept."""
    return {job.number: _unmerged(batch, job) for job in batch.jobs() if job.state.is_over}


def _unmerged(batch: Batch, job: Job) -> LedgerRow:
    if job.brought.head and job.verdict.verification in UNPROVEN:
        return LedgerRow(Fate.REJECTED, f"{job.verdict.verification}: {job.verdict.reason}", (job.brought.head,))
    if job.brought.head or job.saved:
        heads = tuple(dict.fromkeys(each.head for each in job.saved if each.head))
        heads = heads or tuple(filter(None, [job.brought.head]))
        return LedgerRow(Fate.RESCUED, job.where(batch.id) or "kept under its own ref", heads)
    if job.outcome is Outcome.CANCELLED or job.outcome is None:
        return LedgerRow(Fate.CANCELLED, job.detail)
    return LedgerRow(Fate.EMPTY, job.detail)


APPLIED: Mapping[type[ev.Event], Callable[..., State]] = {
    **breaker.APPLIED,
    ev.BatchSubmitted: on_submitted,
    ev.BatchPaused: on_paused,
    ev.BatchResumed: on_resumed,
    ev.BatchStopped: on_stopped,
    ev.BatchCancelled: on_cancelled,
    ev.WindowOpened: on_window_opened,
    ev.WindowClosed: on_window_closed,
    ev.IntegrationStarted: on_integration_started,
    ev.IntegrationResumed: on_integration_resumed,
    ev.PartialWanted: on_partial_wanted,
    ev.PartialStarted: on_partial_started,
    ev.PartialResumed: on_partial_resumed,
    ev.PartialFailed: on_partial_failed,
    ev.PartialEnded: on_partial_ended,
    ev.IntegrationFailed: on_integration_failed,
    ev.JudgementWanted: on_judgement_wanted,
    ev.IntegrationEnded: on_integration_ended,
    ev.BatchFinished: on_finished,
    ev.BatchSealed: on_sealed,
    ev.JobRequeued: on_job_requeued,
    ev.JobReady: on_job_ready,
    ev.JobEnded: on_job_ended,
    ev.JobRetried: on_job_retried,
}
