"""Partial integrations: the jobs that are over become a branch, without waiting for stragglers.

Theory of operation. A person can request one at any time. A profile requests at most one for each batch: when a
share of the jobs is over, or some time after the first launch, if there is work by then (`queue.straggled`). It
takes the jobs that are over at its start and the next number of an integration, and changes nothing else about the
batch: agents keep working. The final integration waits for it, and then merges all work, on the batch's own base.

It sees a view of the batch in which all other jobs are untouched (`so_far`), so it can neither wait for a straggler
nor report it as cancelled.
"""

from collections.abc import Iterable
from dataclasses import replace

from immutables import Map

from supervisor.errors import ImpossibleTransition
from supervisor.flow import queue
from supervisor.model import event as ev
from supervisor.model.batch import Batch, BatchState, Stop
from supervisor.model.partial import Partial, SoFar
from supervisor.model.state import State


def over(batch: Batch) -> tuple[int, ...]:
    """All jobs that are over, including those that never started and never will."""
    return tuple(job.number for job in batch.jobs() if job.state.is_over)


def bringing(batch: Batch) -> frozenset[int]:
    """The jobs that are over and have work to merge."""
    return frozenset(n for n, job in batch.touched.items() if job.state.is_over and job.brings_work)


def so_far(batch: Batch, jobs: Iterable[int]) -> Batch:
    """The view of the batch for a partial integration of these jobs.

    It uses no integrator: conflicts are left for the final integration. Jobs that were retried since are not over any
    more and are left out."""
    profile = replace(batch.profile, integrator=False)
    view = replace(batch, touched=Map(), counts=Map(), cursor=0, again=(), integrator=None, profile=profile)
    view = replace(view, stop=Stop())  # otherwise the untouched jobs would be cancelled
    for number in jobs:
        if (job := batch.touched.get(number)) is not None and job.state.is_over:
            view = view.with_job(job)
    return view


def is_awaited(batch: Batch) -> bool:
    """Whether a partial integration is useful: there is work that none has merged yet, or the last one failed."""
    if batch.integrations.partial is not None:
        return bool(batch.integrations.partial.trouble)
    return bool(bringing(batch) - batch.integrations.carried)


def under_way(batch: Batch, event: ev.PartialEvent) -> Partial:
    if (partial := batch.integrations.partial) is None or partial.number != event.number:
        raise ImpossibleTransition(f"batch {batch.id} has no partial integration {event.number} in progress")
    return partial


def wanted(state: State, event: ev.PartialWanted, batch: Batch) -> State:
    """At most one automatic partial integration for each batch; none if there is no new work."""
    if event.automatic:
        batch = batch.merging(replace(batch.integrations, is_asked=True))
        state = state.with_batch(batch).drop(("straggle", batch.id))
    # Its last job may have ended in the same turn: then the whole is integrated.
    is_due = is_awaited(batch) and not batch.is_drained
    return state.put(("partial", batch.id), event.at) if is_due else state


def started(state: State, event: ev.PartialStarted, batch: Batch) -> State:
    if batch.integrations.partial is not None or batch.is_drained:
        why = "already has one in progress" if batch.integrations.partial is not None else "is drained"
        raise ImpossibleTransition(f"batch {batch.id} {why}: it can't start a partial integration")
    carried = bringing(batch) & frozenset(event.jobs)
    begun = Partial(event.number, event.jobs)
    merging = replace(batch.integrations, count=event.number, partial=begun, carried=carried)
    return state.with_batch(batch.merging(merging)).drop(("partial", batch.id))


def resumed(state: State, event: ev.PartialResumed, batch: Batch) -> State:
    partial = replace(under_way(batch, event), trouble="")
    merging = batch.integrations.with_partial(partial)
    return state.with_batch(batch.merging(merging)).drop(("partial", batch.id))


def failed(state: State, event: ev.PartialFailed, batch: Batch) -> State:
    """Retry it while jobs are at work; a drained batch no longer needs it."""
    partial = replace(under_way(batch, event), trouble=event.detail or "it failed")
    merging = batch.integrations.with_partial(partial)
    state = state.with_batch(batch.merging(merging)).drop(("partial", batch.id))
    if batch.state is BatchState.RUNNING and not batch.is_drained:
        return state.put(("partial", batch.id), event.retry_at)
    return queue.drained(state, state.batches[batch.id], event.at)


def cancelled(state: State, batch: Batch) -> State:
    """When the batch is cancelled, a partial integration in progress still finishes and is reported."""
    state = state.drop(("straggle", batch.id))
    if batch.integrations.is_partial_at_work:
        return state
    merging = batch.integrations.with_partial(None)
    return state.with_batch(batch.merging(merging)).drop(("partial", batch.id))


def ended(state: State, event: ev.PartialEnded, batch: Batch) -> State:
    result = SoFar(
        event.number,
        jobs=len(under_way(batch, event).jobs),
        merged=event.merged,
        branch=event.branch,
        head=event.head,
        pull_request=event.pull_request,
        problems=event.problems,
    )
    merging = replace(batch.integrations, partial=None, so_far=result)
    state = state.with_batch(batch.merging(merging)).drop(("partial", batch.id))
    return queue.drained(state, state.batches[batch.id], event.at)
