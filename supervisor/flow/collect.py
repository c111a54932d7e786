"""Collecting an agent's work, verifying it, and putting the agent away."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from supervisor.errors import ImpossibleTransition
from supervisor.flow import slots, verifying
from supervisor.flow.lifecycle import attempt_of, item, job_of, key_of
from supervisor.model import event as ev
from supervisor.model.attempt import Attempt, AttemptKey
from supervisor.model.job import INTEGRATOR, Brought, Ending, How, Job, JobState, Saved
from supervisor.model.state import State
from supervisor.model.verdict import UNJUDGED


def on_collect_started(state: State, event: ev.CollectStarted) -> State:
    return state.with_attempt(attempt_of(state, event)).drop(item("collect", key_of(event)))


def on_collect_failed(state: State, event: ev.CollectFailed) -> State:
    attempt = attempt_of(state, event)
    attempt = replace(attempt, tries=attempt.tries + 1, trouble=event.detail)
    return state.with_attempt(attempt).put(item("collect", attempt.key), event.retry_at)


def on_publication_refused(state: State, event: ev.PublicationRefused) -> State:
    attempt, job = _answered(state, event, published=True)
    job = replace(job, ending=Ending(How.REFUSED, event.detail, event.reason))
    state = state.with_job(event.batch, job).with_attempt(replace(attempt, tries=0))
    return state.put(item("collect", attempt.key), event.at)


def on_work_collected(state: State, event: ev.WorkCollected) -> State:
    """Free the slot: all that is left to do for this agent is to put it away.

    An integrator's work is not verified here: the integration, which continues, checks it.
    """
    attempt, job = _answered(state, event, published=True)
    brought = Brought(event.claim, event.head, event.commits)
    job = replace(job, brought=brought, detail=event.detail, verdict=UNJUDGED)
    if event.head:
        job = _with(job, Saved(event.attempt, event.head, event.commits))
    batch = state.batches[event.batch]
    keep = batch.profile.keep_agents == "all"
    state = state.with_batch(replace(batch, through=batch.through + 1))
    state = _collected(slots.freed(state, attempt), event, job, replace(attempt, holds_slot=False, keep=keep))
    if event.job == INTEGRATOR:
        return state.put(("settle", event.batch, event.job), event.at)
    return verifying.wanted(state, attempt.key)


def on_work_rescued(state: State, event: ev.WorkRescued) -> State:
    attempt, job = _answered(state, event, published=False)
    if event.head:
        brought = replace(job.brought, head=event.head, commits=event.commits)
        job = replace(job, brought=brought, verdict=UNJUDGED)
    job = replace(_with_found(job, attempt, event), continues=_continues(job, event))
    unsaved = bool(event.unsaved)
    keep = unsaved or state.batches[event.batch].profile.keep_agents != "none"
    return _collected(state, event, job, replace(attempt, keep=keep, unsaved=unsaved))


def _continues(job: Job, event: ev.WorkRescued) -> int:
    """The next attempt begins with this work if the agent was put away asleep, and all that it left was rescued.

    An interrupted launch does not change that."""
    if job.ending is not None and job.ending.how is How.INTERRUPTED:
        return job.continues
    is_whole = bool(event.head) and not event.unsaved
    return event.attempt if job.continues == event.attempt and is_whole else 0


def _with_found(job: Job, attempt: Attempt, event: ev.WorkRescued | ev.AgentReleased) -> Job:
    if not event.head and not event.unsaved:
        return job
    agent = attempt.agent_name if event.unsaved else ""
    return _with(job, Saved(event.attempt, event.head, event.commits, True, event.unsaved, agent, event.clone))


def _with(job: Job, found: Saved) -> Job:
    return replace(job, saved=(*(each for each in job.saved if each.attempt != found.attempt), found))


def _answered(state: State, event: ev.AttemptEvent, published: bool) -> tuple[Attempt, Job]:
    """The event's attempt and job. Published work is collected, other work is rescued; a late result of the other
    kind is refused."""
    attempt, job = attempt_of(state, event), job_of(state, event)
    if (job.ending is not None and job.ending.how is How.PUBLISHED) is not published:
        raise ImpossibleTransition(f"{event.kind} of {attempt.key}, which has {'not ' * published}published")
    return attempt, job


def _collected(state: State, event: ev.AttemptEvent, job: Job, attempt: Attempt) -> State:
    state = state.with_job(event.batch, replace(job, times=replace(job.times, collected=event.at))).drop(
        item("collect", attempt.key)
    )
    return state.with_attempt(replace(attempt, tries=0)).put(item("release", attempt.key), event.at)


def on_verify_started(state: State, event: ev.VerifyStarted) -> State:
    job, key = _judged(state, event), key_of(event)
    if key not in state.verifying.waiting:
        raise ImpossibleTransition(f"{event.kind} of {key}, which does not wait for it")
    first = key
    if event.beside:
        first = AttemptKey(event.batch, event.beside, state.batches[event.batch].job(event.beside).attempts)
    return replace(state, verifying=state.verifying.begun(key, first, event.pool)).with_job(event.batch, job)


def on_work_put_back(state: State, event: ev.WorkPutBack) -> State:
    job, key = _judged(state, event), key_of(event)
    return verifying.put_back(state.with_job(event.batch, job), key, event.most, event.meets)


def on_work_verified(state: State, event: ev.WorkVerified) -> State:
    job = replace(_judged(state, event), verdict=event.verdict, detail=event.detail)
    state = replace(state, verifying=state.verifying.left(key_of(event))).with_job(event.batch, job)
    return state.put(("settle", event.batch, event.job), event.at)


def on_verify_abandoned(state: State, event: ev.VerifyAbandoned) -> State:
    first = key_of(event)
    state = state.drop(item("abandon", first))
    if (group := state.verifying.groups.get(first)) is None:
        raise ImpossibleTransition(f"{event.kind} of {first}, which is not under way")
    for key in group.left:
        state = replace(state, verifying=state.verifying.left(key))
    return state


def _judged(state: State, event: ev.AttemptEvent) -> Job:
    """The event's job. A late verdict on an earlier attempt does not apply to the current one."""
    job = job_of(state, event)
    if event.attempt != job.attempts:
        raise ImpossibleTransition(f"{event.kind} of {key_of(event)}, which is not the last attempt")
    return job


def on_release_started(state: State, event: ev.ReleaseStarted) -> State:
    return state.with_attempt(attempt_of(state, event)).drop(item("release", key_of(event)))


def on_release_failed(state: State, event: ev.ReleaseFailed) -> State:
    attempt = attempt_of(state, event)
    attempt = replace(attempt, tries=attempt.tries + 1, trouble=event.detail)
    return state.with_attempt(attempt).put(item("release", attempt.key), event.retry_at)


def on_agent_released(state: State, event: ev.AgentReleased) -> State:
    attempt = attempt_of(state, event)
    state = slots.left(replace(state, attempts=state.attempts.delete(attempt.key)), attempt)
    state = state.drop(item("release", attempt.key))
    job = _with_found(state.batches[event.batch].job(event.job), attempt, event)
    if event.head or event.unsaved:
        state = state.with_job(event.batch, job)
    batch = state.batches[event.batch]
    if job.state is JobState.COLLECTING and job.attempts == event.attempt:
        return state.put(("settle", event.batch, event.job), event.at)
    if batch.finished_at is not None and batch.agents == 0:
        return state.put(("seal", batch.id), event.at)
    return state


APPLIED: Mapping[type[ev.Event], Callable[..., State]] = {
    ev.CollectStarted: on_collect_started,
    ev.CollectFailed: on_collect_failed,
    ev.PublicationRefused: on_publication_refused,
    ev.WorkCollected: on_work_collected,
    ev.WorkRescued: on_work_rescued,
    ev.VerifyStarted: on_verify_started,
    ev.WorkPutBack: on_work_put_back,
    ev.WorkVerified: on_work_verified,
    ev.VerifyAbandoned: on_verify_abandoned,
    ev.ReleaseStarted: on_release_started,
    ev.ReleaseFailed: on_release_failed,
    ev.AgentReleased: on_agent_released,
}
