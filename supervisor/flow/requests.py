"""Deciding requests: a request becomes events, or is refused.

No events: the request is already fulfilled. Every refusal says what to do instead.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from supervisor.errors import NoSuchThing, Refused
from supervisor.flow import partial, policy, reviewing, window
from supervisor.flow.governor import accounts
from supervisor.model import event as ev
from supervisor.model import request as rq
from supervisor.model.batch import Batch, BatchState
from supervisor.model.hindrance import FOR_A_PERSON
from supervisor.model.job import INTEGRATOR, How, JobState
from supervisor.model.outcome import Outcome
from supervisor.model.state import State

POLICY_HINT = "submit with another profile, or change [policy] in the configuration"
#: outcomes that `retry` of a whole batch retries
_UNWELL = {Outcome.FAILED, Outcome.TIMED_OUT, Outcome.STALLED, Outcome.LOST, Outcome.CANCELLED, Outcome.BLOCKED}


def decide(state: State, request: rq.Request, at: float) -> list[ev.Event]:
    return _DECISIONS[type(request)](state, request, at)


def _open_batch(state: State, batch_id: str) -> Batch:
    batch = state.batches.get(batch_id)
    if batch is None:
        raise NoSuchThing(f"there is no open batch {batch_id}", hint="`supervisorctl status` lists them")
    if batch.finished_at is not None:
        raise Refused(f"batch {batch.id} is already {batch.state}", hint=f"see `supervisorctl report {batch.id}`")
    return batch


def _job_state(batch: Batch, number: int) -> JobState:
    if not 1 <= number <= len(batch.tests):
        raise NoSuchThing(
            f"batch {batch.id} has no job {number}",
            hint=f"its jobs are {batch.id}.1 to {batch.id}.{len(batch.tests)}",
        )
    return batch.job(number).state


def _has_means(batch: Batch) -> None:
    if batch.is_spent:
        hint = "submit the tests that are left, with a larger `budget_tokens` in their profile"
        raise Refused(f"batch {batch.id} can't continue: {batch.stop.detail}", hint=hint)


def _submit(state: State, request: rq.Submit, at: float) -> list[ev.Event]:
    if (known := state.batches.get(request.batch)) is not None:
        if known.tests == request.tests and known.base == request.base:
            return []  # the same submission, repeated
        raise Refused(f"batch {request.batch} already exists", hint="submit it under another id")
    if not request.tests:
        raise Refused("there is no test to work on", hint="see what pytest collects with `--collect-only`")
    if request.role == "writer" and len(request.tasks) != len(request.tests):
        raise Refused("writers need a task for each job", hint="use `supervisorctl tutorial fill` or `sync`")
    if request.cases and (len(request.cases) != len(request.tests) or min(request.cases) < 1):
        raise Refused("`cases` must have one positive number for each test", hint="correct it or leave it out")
    unknown = [pool for pool in request.profile.pools if pool not in state.pools]
    if unknown or not request.profile.pools:
        named = ", ".join(unknown) or "(none)"
        hint = f"the pools are: {', '.join(sorted(state.pools)) or 'none'}"
        raise Refused(f"profile {request.profile.name} uses a pool that is not configured: {named}", hint=hint)
    if denied := policy.breach(request.profile, state.pools):
        raise Refused(denied, hint=POLICY_HINT)
    if request.profile.window:
        window.parse(request.profile.window)
    return [
        ev.BatchSubmitted(
            at,
            request.batch,
            repo=request.repo,
            base=request.base,
            tests=request.tests,
            profile=request.profile,
            priority=request.priority,
            author=request.author,
            role=request.role,
            tasks=request.tasks,
            cases=request.cases,
            retry_of=request.retry_of,
            submitted_from=request.submitted_from,
            audited=request.audited,
        )
    ]


def _cancel(state: State, request: rq.Cancel, at: float) -> list[ev.Event]:
    batch = _open_batch(state, request.batch)
    if request.job:
        _job_state(batch, request.job)
        return _cancel_job(batch, request.job, request.author, at)
    if batch.state is BatchState.CANCELLED:
        return []
    if batch.integrator is not None and not batch.integrator.state.is_over:
        return _cancel_job(batch, INTEGRATOR, request.author, at)  # the machine's merge is kept
    if batch.state is BatchState.INTEGRATING:
        raise Refused(f"batch {batch.id} is being integrated: all its jobs are over", hint="wait for it to finish")
    cancelled = [event for number in batch.touched for event in _cancel_job(batch, number, request.author, at)]
    return [*cancelled, ev.BatchCancelled(at, batch.id, author=request.author)]


def _cancel_job(batch: Batch, number: int, author: str, at: float) -> list[ev.Event]:
    """No event if the job is over or already cancelled, or if its published work is being collected."""
    job = batch.job(number)
    how = job.ending.how if job.ending is not None else None
    if job.state.is_over or how is How.CANCELLED:
        return []
    if how is How.PUBLISHED and job.state is JobState.COLLECTING:
        return []
    return [ev.JobCancelled(at, batch.id, number, author=author)]


def _retry(state: State, request: rq.Retry, at: float) -> list[ev.Event]:
    batch = _open_batch(state, request.batch)
    if batch.state not in (BatchState.QUEUED, BatchState.RUNNING):
        raise Refused(f"batch {batch.id} is {batch.state}: its jobs can't be retried", hint="submit the tests again")
    _has_means(batch)
    if request.job:
        if not _job_state(batch, request.job).is_over:
            return []
        return [ev.JobRetried(at, batch.id, request.job, author=request.author)]
    unwell = [job for job in batch.touched.values() if job.state.is_over and job.outcome in _UNWELL]
    numbers = sorted(job.number for job in unwell)
    return [ev.JobRetried(at, batch.id, number, author=request.author) for number in numbers]


def to_retry(batch: Batch, job: int = 0) -> tuple[int, ...]:
    """The jobs to retry of a batch that is over: the named job, or all that did not end well."""
    if job:
        _job_state(batch, job)
        return (job,)
    return tuple(each.number for each in batch.jobs() if each.outcome in _UNWELL or each.state is JobState.CANCELLED)


def _integrate(state: State, request: rq.IntegrateSoFar, at: float) -> list[ev.Event]:
    """No event if the same request is already due, or if a partial integration already has all the work."""
    batch = _open_batch(state, request.batch)
    if batch.role == "writer":
        raise Refused(
            f"batch {batch.id} has writers: their work is not merged",
            hint="take their proposals with `supervisorctl tutorial fill` or `sync`",
        )
    if batch.state is BatchState.CANCELLED:
        raise Refused(
            f"batch {batch.id} is cancelled", hint=f"`supervisorctl work {batch.id}` shows the work that is kept"
        )
    if batch.state is BatchState.INTEGRATING or batch.is_drained:
        raise Refused(f"batch {batch.id} is being integrated: all its jobs are over", hint="wait for it to finish")
    if not partial.bringing(batch):
        hint = f"`supervisorctl follow {batch.id}` shows its progress"
        raise Refused(f"batch {batch.id} has no finished work yet: there is nothing to integrate", hint=hint)
    is_due = state.agenda.times.get(("partial", batch.id), at + 1) <= at
    return [] if is_due or not partial.is_awaited(batch) else [ev.PartialWanted(at, batch.id, author=request.author)]


def _pause(state: State, request: rq.Pause, at: float) -> list[ev.Event]:
    if not request.batch:
        return [] if state.paused else [ev.QueuePaused(at, author=request.author, reason=request.reason)]
    batch = _open_batch(state, request.batch)
    return [] if batch.paused else [ev.BatchPaused(at, batch.id, author=request.author)]


def _resume(state: State, request: rq.Resume, at: float) -> list[ev.Event]:
    """A person who resumes has also solved the problem that an account waits for."""
    if not request.batch:
        resumed: list[ev.Event] = [ev.QueueResumed(at, author=request.author)] if state.paused else []
        held = [
            batch for batch in state.in_order() if batch.stop.reason in FOR_A_PERSON and batch.finished_at is None
        ]
        resumed += [ev.BatchResumed(at, batch.id, author=request.author) for batch in held]
        return resumed + _opened(state, state.accounts, request.author, at)
    batch = _open_batch(state, request.batch)
    _has_means(batch)
    resumed = [ev.BatchResumed(at, batch.id, author=request.author)] if batch.paused or batch.stop.reason else []
    return resumed + _opened(state, accounts.names_of(batch.profile), request.author, at)


def _opened(state: State, names: Iterable[str], author: str, at: float) -> list[ev.Event]:
    return [
        ev.AccountOpened(at, name, pause.reason, pause.model, author=author)
        for name in names
        for pause in state.accounts[name].pauses.values()
        if pause.needs_a_person
    ]


def _set_slots(state: State, request: rq.SetSlots, at: float) -> list[ev.Event]:
    if (pool := state.pools.get(request.pool)) is None:
        hint = f"the pools are: {', '.join(sorted(state.pools)) or 'none'}"
        raise NoSuchThing(f"there is no pool {request.pool}", hint=hint)
    if request.slots < 0:
        raise Refused(
            "a pool can't have fewer than 0 slots", hint="with 0 slots, nothing new starts and running agents finish"
        )
    if pool.slots == request.slots:
        return []
    return [ev.SlotsChanged(at, pool.name, slots=request.slots, author=request.author)]


def _configure(state: State, request: rq.Configure, at: float) -> list[ev.Event]:
    if state.configured == request.pools and state.verifying.slots == request.verify_slots:
        return []
    return [ev.PoolsConfigured(at, pools=request.pools, verify_slots=request.verify_slots)]


def _configure_accounts(state: State, request: rq.ConfigureAccounts, at: float) -> list[ev.Event]:
    if state.configured_accounts == request.accounts and state.budget == request.budget:
        return []
    return [ev.AccountsConfigured(at, accounts=request.accounts, budget=request.budget)]


_DECISIONS: Mapping[type, Callable[[State, Any, float], list[ev.Event]]] = {
    rq.Submit: _submit,
    rq.Cancel: _cancel,
    rq.Retry: _retry,
    rq.IntegrateSoFar: _integrate,
    rq.ReviewCommits: reviewing.decide,
    rq.Pause: _pause,
    rq.Resume: _resume,
    rq.SetSlots: _set_slots,
    rq.Configure: _configure,
    rq.ConfigureAccounts: _configure_accounts,
}
