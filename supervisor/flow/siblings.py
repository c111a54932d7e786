"""Siblings: of the jobs that fail for one broken fixture, one gets an agent, and its fix is tried on the others.

Theory of operation. The survey of the base tells which tests fail in the same way at the same place of shared code:
a family. With `hold_siblings`, a job is launched only after its file was run at the base, so that its family is
known. The first job of a family is launched; the others are held, unless they were launched before.

    its work is verified     each held job is tried: its test is run with that work. If it passes, the job is done,
                             and has nothing to merge; otherwise it is freed: it gets an agent, at the base
    it brings no fix         the next job is launched. After two failures all others are freed: two failed agents
                             suggest that the place can't be fixed this way, and trying one job after the other would
                             take the whole night. A cancelled job does not count as a failure
    no more agents           when a batch is cancelled, or has spent its budget, its held jobs are cancelled, unless
                             an agent at work may still publish a fix: trying it needs no tokens

A job is held at most once, and only before its first attempt. Whatever ends the first job is an event of that job,
or ends its batch. Both are handled here, so no job is held forever.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from supervisor.errors import ImpossibleTransition
from supervisor.flow import queue, verifying
from supervisor.flow.lifecycle import job_of
from supervisor.model import event as ev
from supervisor.model.attempt import AttemptKey
from supervisor.model.batch import Batch, BatchState
from supervisor.model.job import INTEGRATOR, Job, JobState
from supervisor.model.outcome import SUCCESSES, Outcome
from supervisor.model.siblings import Family, Fix
from supervisor.model.state import State
from supervisor.model.verdict import UNJUDGED

#: what may be due for a job: it is held, it is tried with a sibling's work, it gets an agent
HOLD, BORROW, FREE = "hold", "borrow", "free"
#: after so many failed agents, the other jobs of the family stop waiting
MOST_FAILED = 2

#: what takes a job out of the queue, or changes whether it waits for a sibling
_MOVES = (ev.JobHeld, ev.FixBorrowed, ev.JobFreed, ev.JobCancelled, ev.JobEnded)


# --- what follows from an event


def followed(state: State, event: ev.Event) -> State:
    """After any event: make due what follows for the family of its job."""
    match event:
        case ev.SurveyEnded(found=found) if found.families and state.batches[event.batch].profile.hold_siblings:
            return _learned(state, event)
        case ev.BatchStopped() | ev.BatchCancelled():
            return _closed(state, state.batches[event.batch], event.at)
        case ev.JobEvent() if isinstance(event, _MOVES):
            return _moved(state, event)
    return state


def _learned(state: State, event: ev.SurveyEnded) -> State:
    for place, jobs in event.found.families.items():
        batch = state.batches[event.batch]
        siblings = batch.siblings.joined(place, jobs)
        family = siblings.families[place]
        if not _is_given_up(family) and family.fix is None and not _is_coming(batch, family.first):
            family = replace(family, first=_next(batch, family))
        batch = replace(batch, siblings=siblings.with_family(family))
        state = state.with_batch(batch).drop((HOLD, batch.id, family.first))
        if not _is_given_up(family) and not _is_closed(batch):
            own = (number for number in jobs if siblings.place_of[number] == place)
            waiting = [number for number in own if number not in batch.touched and number != family.first]
            state = _put(state, batch, HOLD, waiting, event.at)
    return state


def _closed(state: State, batch: Batch, at: float) -> State:
    """If the batch launches no more agents for good: a job that was not launched never will be."""
    if not _is_closed(batch):
        return state
    for family in batch.siblings.families.values():
        state = state.drop(*((HOLD, batch.id, number) for number in family.jobs))
        state = _continued(state, batch, family, at, _held(batch, family))
    return state


def _moved(state: State, event: ev.JobEvent) -> State:
    batch = state.batches[event.batch]
    if (family := batch.siblings.of(event.job)) is None:
        return state
    state = state.drop(*((what, event.batch, event.job) for what in (HOLD, BORROW, FREE)))
    if isinstance(event, ev.JobHeld):
        return _continued(state, batch, family, event.at, [event.job])
    job = batch.job(event.job)
    after = _after(family, job) if job.state.is_over else family
    if after is family:
        return state
    batch = replace(batch, siblings=batch.siblings.with_family(after))
    return _continued(state.with_batch(batch), batch, after, event.at, _held(batch, after))


def _after(family: Family, job: Job) -> Family:
    """The family after one of its jobs is over."""
    if family.fix is None and _helps(job):
        family = replace(family, fix=Fix(job.number, job.brought.head, job.pool))
    if family.first != job.number:
        return family
    has_failed = family.fix is None and job.outcome is not Outcome.CANCELLED
    return replace(family, first=0, failed=family.failed + has_failed)


def _helps(job: Job) -> bool:
    return job.outcome in SUCCESSES and job.verdict.verification == "verified" and bool(job.brought.head)


def _held(batch: Batch, family: Family) -> list[int]:
    return [number for number in family.jobs if batch.job(number).state is JobState.HELD]


def _continued(state: State, batch: Batch, family: Family, at: float, held: list[int]) -> State:
    """Make due what comes next for these held jobs of the family."""
    if not held:
        return state
    if family.fix is not None:
        return _put(state, batch, BORROW, held, at)
    if not _is_coming(batch, first := family.first):
        if _is_given_up(family) or _is_closed(batch):
            return _put(state, batch, FREE, held, at)
        first = _next(batch, family)
        siblings = batch.siblings.with_family(replace(family, first=first))
        state = state.with_batch(replace(batch, siblings=siblings))
    return _put(state, batch, FREE, [first] if batch.job(first).state is JobState.HELD else [], at)


def _put(state: State, batch: Batch, what: str, jobs: list[int], at: float) -> State:
    for number in jobs:
        if (what, batch.id, number) not in state.agenda.times:
            state = state.put((what, batch.id, number), at)
    return state


# --- questions


def _is_given_up(family: Family) -> bool:
    return family.failed >= MOST_FAILED


def _is_closed(batch: Batch) -> bool:
    return batch.is_spent or batch.state is BatchState.CANCELLED


def _is_coming(batch: Batch, number: int) -> bool:
    """Whether the result of that job is still open. In a closed batch, a job without a record is over."""
    return number != INTEGRATOR and not batch.job(number).state.is_over


def _next(batch: Batch, family: Family) -> int:
    """The job that goes first: one that is already at work, or else the first held job, or the first in the queue."""

    def rank(number: int) -> tuple[bool, bool, int]:
        state = batch.job(number).state
        return number not in batch.touched, state is JobState.HELD, number

    open_ = [number for number in family.jobs if not batch.job(number).state.is_over]
    return min(open_, key=rank, default=0)


def first_of(batch: Batch, number: int) -> int:
    """The job that a held one waits for; 0: it no longer waits for any."""
    family = batch.siblings.of(number)
    return 0 if family is None else family.fix.job if family.fix is not None else family.first


def held_for(batch: Batch) -> Iterator[tuple[Family, int]]:
    """The families with held jobs, and how many each has."""
    for family in batch.siblings.families.values() if batch.count(JobState.HELD) else ():
        if held := _held(batch, family):
            yield family, len(held)


# --- what is due


def due(batch: Batch, what: str, number: int, now: float) -> ev.JobEvent:
    family = batch.siblings.of(number)
    assert family is not None, f"{batch.job_id(number)} has no siblings"
    if what == HOLD:
        return ev.JobHeld(now, batch.id, number, first=first_of(batch, number), place=family.place)
    if what == BORROW:
        assert family.fix is not None, f"nobody has mended {family.place}"
        return ev.FixBorrowed(now, batch.id, number, family.fix.job, family.fix.head, family.fix.pool)
    if _is_closed(batch):
        return ev.JobCancelled(now, batch.id, number)
    if _is_given_up(family):
        return ev.JobFreed(now, batch.id, number, why=f"{family.failed} agents of siblings came to nothing")
    return ev.JobFreed(now, batch.id, number, why="it is the next of its siblings: the one before came to nothing")


def settled(batch: Batch, job: Job, now: float) -> ev.JobEnded | ev.JobFreed:
    """The event after a job's test was run with the work of a sibling."""
    assert job.borrowed is not None
    sibling, verdict = batch.job_id(job.borrowed.job), job.verdict
    if verdict.verification == "verified":
        detail = f"its test passes with the work of {sibling}"
        return ev.JobEnded(now, batch.id, job.number, outcome=Outcome.FIXED_BY_SIBLING, detail=detail)
    said = verdict.reason or verdict.detail
    why = f"the work of {sibling} does not suffice: {said}"
    if _is_closed(batch):
        return ev.JobEnded(now, batch.id, job.number, outcome=Outcome.CANCELLED, detail=why)
    return ev.JobFreed(now, batch.id, job.number, why=why, failure=said)


# --- what happens


def on_held(state: State, event: ev.JobHeld) -> State:
    job = job_of(state, event)
    if state.batches[event.batch].siblings.of(event.job) is None:
        raise ImpossibleTransition(f"{event.kind} of {event.batch}.{event.job}, which has no siblings")
    job = replace(job, detail=f"held for {event.batch}.{event.first}: both fail at {event.place}")
    return queue.put_aside(state, event.batch, job)


def on_fix_borrowed(state: State, event: ev.FixBorrowed) -> State:
    fix = Fix(event.from_job, event.head, event.pool)
    job = replace(job_of(state, event), borrowed=fix, verdict=UNJUDGED, detail="")
    state = state.with_job(event.batch, job)
    return verifying.wanted(state, AttemptKey(event.batch, event.job, job.attempts))


def on_freed(state: State, event: ev.JobFreed) -> State:
    """Keep what the sibling's work lacks: the next agent is told."""
    job, before = job_of(state, event), state.batches[event.batch].job(event.job)
    if before.state is not JobState.HELD and not before.is_on_trial:
        raise ImpossibleTransition(f"{event.kind} of {event.batch}.{event.job}, which is not held")
    borrowed = job.borrowed and replace(job.borrowed, why_not=event.failure or event.why)
    job = replace(job, borrowed=borrowed, verdict=UNJUDGED, detail="")
    job = replace(job, setbacks=replace(job.setbacks, why=event.why))
    return queue.again(state.with_job(event.batch, job).drop(("settle", event.batch, event.job)), event)


APPLIED: Mapping[type[ev.Event], Callable[..., State]] = {
    ev.JobHeld: on_held,
    ev.FixBorrowed: on_fix_borrowed,
    ev.JobFreed: on_freed,
}
