"""Partial integrations: what is done so far becomes a branch, so that stragglers hold nobody up.

Theory of operation. One is wanted by a person at any time, or once in a batch's life by its profile: when a share of
its jobs is over, or some time after its first launch, if there is work by then (`queue.straggled`). It begins with
the jobs that are over at that moment, takes a number of its own as every integration does, and changes nothing about
the batch: agents go on. The last integration waits for it, and then has everything, on the batch's own base.

What it sees is the batch with the jobs that are over, and the others as if nothing had happened to them (`so_far`):
so it can neither wait for a straggler nor say that it was cancelled.
"""

from collections.abc import Iterable
from dataclasses import replace

from immutables import Map

from supervisor.errors import ImpossibleTransition
from supervisor.flow import queue
from supervisor.model import event as ev
from supervisor.model.batch import Batch, BatchState
from supervisor.model.partial import Partial, SoFar
from supervisor.model.state import State


def over(batch: Batch) -> tuple[int, ...]:
    """Also those that will not be begun any more, which bring nothing."""
    return tuple(job.number for job in batch.jobs() if job.state.is_over)


def bringing(batch: Batch) -> frozenset[int]:
    """Those of them that bring work."""
    return frozenset(n for n, job in batch.touched.items() if job.state.is_over and job.brings_work)


def so_far(batch: Batch, jobs: Iterable[int]) -> Batch:
    """By machine alone: a conflict is set aside for the last integration, which has an agent's judgement. A job that
    was retried since is not over any more, and has no place here."""
    profile = replace(batch.profile, integrator=False)
    view = replace(batch, touched=Map(), counts=Map(), cursor=0, again=(), integrator=None, profile=profile)
    view = replace(view, stopped="")  # or the others would be cancelled
    for number in jobs:
        if (job := batch.touched.get(number)) is not None and job.state.is_over:
            view = view.with_job(job)
    return view


def is_awaited(batch: Batch) -> bool:
    """Whether one would bring news: there is work that none has had, or the one that has it failed."""
    if batch.partial is not None:
        return bool(batch.partial.trouble)
    return bool(bringing(batch) - batch.carried)


def under_way(batch: Batch, event: ev.PartialEvent) -> Partial:
    if (partial := batch.partial) is None or partial.number != event.number:
        raise ImpossibleTransition(f"batch {batch.id} has no partial integration {event.number} under way")
    return partial


def wanted(state: State, event: ev.PartialWanted, batch: Batch) -> State:
    """A profile wants one once. Where everything is in one already, or is just getting there, there is none."""
    if event.automatic:
        batch = replace(batch, straggled=True)
        state = state.with_batch(batch).drop(("straggle", batch.id))
    return state.put(("partial", batch.id), event.at) if is_awaited(batch) else state


def started(state: State, event: ev.PartialStarted, batch: Batch) -> State:
    if batch.partial is not None or batch.is_drained:
        why = "has one under way" if batch.partial is not None else "is drained"
        raise ImpossibleTransition(f"batch {batch.id} {why}: it can't begin a partial integration")
    carried = bringing(batch) & frozenset(event.jobs)
    batch = replace(batch, integrations=event.number, partial=Partial(event.number, event.jobs), carried=carried)
    return state.with_batch(batch).drop(("partial", batch.id))


def resumed(state: State, event: ev.PartialResumed, batch: Batch) -> State:
    partial = replace(under_way(batch, event), trouble="")
    return state.with_batch(replace(batch, partial=partial)).drop(("partial", batch.id))


def failed(state: State, event: ev.PartialFailed, batch: Batch) -> State:
    """It is tried again for as long as anybody is at work; what is drained needs it no more."""
    partial = replace(under_way(batch, event), trouble=event.detail or "it failed")
    state = state.with_batch(replace(batch, partial=partial)).drop(("partial", batch.id))
    if batch.state is BatchState.RUNNING and not batch.is_drained:
        return state.put(("partial", batch.id), event.retry_at)
    return queue.drained(state, state.batches[batch.id], event.at)


def cancelled(state: State, batch: Batch) -> State:
    """With its batch: what is under way ends all the same, and is told."""
    state = state.drop(("straggle", batch.id))
    if batch.partial is not None and not batch.partial.trouble:
        return state
    return state.with_batch(replace(batch, partial=None)).drop(("partial", batch.id))


def ended(state: State, event: ev.PartialEnded, batch: Batch) -> State:
    came = SoFar(
        event.number,
        jobs=len(under_way(batch, event).jobs),
        merged=event.merged,
        branch=event.branch,
        head=event.head,
        pull_request=event.pull_request,
        problems=event.problems,
    )
    state = state.with_batch(replace(batch, partial=None, so_far=came)).drop(("partial", batch.id))
    return queue.drained(state, state.batches[batch.id], event.at)
