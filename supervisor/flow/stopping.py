"""Stopping a batch: when its budget is spent, or when its model's provider needs a person's action.

Theory of operation. A stopped batch launches no agents:

    budget            for good. Queued jobs are cancelled. Agents at work are told to wrap up (programs are not) and
                      put away some minutes later. The finished work is integrated, without an integrator.
    login, credit     until a person has solved the problem and runs `resume`. No retry is used and nothing is
                      cancelled: the jobs wait, because the provider would refuse every agent.

Tokens are counted while agents work, so a batch exceeds its budget only by what its agents use while they wrap up.
"""

from dataclasses import replace

from supervisor.errors import ImpossibleTransition
from supervisor.model import event as ev
from supervisor.model.attempt import AttemptKey
from supervisor.model.batch import Batch, BatchState
from supervisor.model.hindrance import FOR_A_PERSON, Hindrance
from supervisor.model.job import Job, JobState
from supervisor.model.state import State

#: the time that agents at work have to commit and publish
WRAP_UP_SECONDS = 300.0

_OPEN = (BatchState.RUNNING, BatchState.INTEGRATING)


def spent(state: State, batch: Batch, at: float) -> State:
    """After tokens were counted: make the stop due if the budget is spent."""
    is_due = _has_spent(batch) and not batch.is_spent and batch.state in _OPEN
    return state.put(("stop", batch.id), at) if is_due else state


def hindered(state: State, batch: Batch, job: Job, at: float) -> State:
    """After an agent was given up as hindered: make the stop due if only a person can resolve that."""
    is_due = job.setbacks.hindrance in FOR_A_PERSON and not batch.stopped and batch.state in _OPEN
    return state.put(("stop", batch.id), at) if is_due else state


def due(batch: Batch, now: float) -> ev.BatchStopped:
    if _has_spent(batch):
        limit, tokens = batch.profile.budget_tokens, batch.usage.tokens
        detail = f"the budget of {limit:,} tokens is spent ({tokens:,} were used)"
        return ev.BatchStopped(now, batch.id, reason="budget", detail=detail)
    # A hindrance is cleared only by a launch, and due effects start before launches.
    refused = next(job for job in batch.begun() if job.setbacks.hindrance in FOR_A_PERSON)
    why = (
        "reports that there is no credit left"
        if refused.setbacks.hindrance == Hindrance.CREDIT
        else "refuses the login"
    )
    detail = f"the model's provider {why}" + (f" ({refused.detail})" if refused.detail else "")
    return ev.BatchStopped(now, batch.id, reason=refused.setbacks.hindrance, detail=detail)


def stopped(state: State, event: ev.BatchStopped, batch: Batch) -> State:
    if batch.is_spent or batch.stopped == event.reason:
        raise ImpossibleTransition(f"batch {batch.id} is already stopped")
    batch = replace(batch, stopped=event.reason, stop_detail=event.detail)
    state = state.with_batch(batch).drop(("stop", batch.id))
    return wrapped_up(state, batch, event.at)


def wrapped_up(state: State, batch: Batch, at: float) -> State:
    """If the budget is spent, cancel queued jobs and end agents; collection and verification need no tokens."""
    for job in batch.begun() if batch.is_spent else ():
        match job.state:
            case JobState.QUEUED | JobState.LAUNCHING | JobState.PARKED:
                state = state.put(("cancel", batch.id, job.number), at)
            case JobState.RUNNING if not batch.profile.is_talked_to:
                state = state.put(("cancel", batch.id, job.number), at + WRAP_UP_SECONDS)
            case JobState.RUNNING:
                state = state.put(("wrap-up", *AttemptKey(batch.id, job.number, job.attempts)), at)
            case _:
                pass
    return state


def resumed(batch: Batch) -> Batch:
    return batch if batch.is_spent else replace(batch, stopped="", stop_detail="")


def _has_spent(batch: Batch) -> bool:
    return 0 < batch.profile.budget_tokens <= batch.usage.tokens
