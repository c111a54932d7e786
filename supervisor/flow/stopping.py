"""What stops a batch: a budget that is spent, or a model's provider that asks for a person.

Theory of operation. A stopped batch starts no agent, and nothing else about it changes by itself:

    budget            for good. What waits is cancelled, agents at work are told to wrap up (programs are told
                      nothing) and are put away some minutes later, and what is done is integrated, by machine alone.
    login, credit     until a person has seen to it and says `resume`. No retry is used up and nothing is cancelled:
                      the jobs wait, where an agent for each would only be refused.

Tokens are counted while agents work, so what is spent beyond a budget is what those at work spend while they wrap up.
"""

from dataclasses import replace

from supervisor.errors import ImpossibleTransition
from supervisor.model import event as ev
from supervisor.model.attempt import AttemptKey
from supervisor.model.batch import Batch, BatchState
from supervisor.model.hindrance import FOR_A_PERSON, Hindrance
from supervisor.model.job import Job, JobState
from supervisor.model.state import State

#: what agents at work get to commit and publish
WRAP_UP_SECONDS = 300.0

_OPEN = (BatchState.RUNNING, BatchState.INTEGRATING)


def spent(state: State, batch: Batch, at: float) -> State:
    """After tokens were counted."""
    is_due = _has_spent(batch) and not batch.is_spent and batch.state in _OPEN
    return state.put(("stop", batch.id), at) if is_due else state


def hindered(state: State, batch: Batch, job: Job, at: float) -> State:
    """After an agent was given up for what its model's provider said."""
    is_due = job.setbacks.hindrance in FOR_A_PERSON and not batch.stopped and batch.state in _OPEN
    return state.put(("stop", batch.id), at) if is_due else state


def due(batch: Batch, now: float) -> ev.BatchStopped:
    if _has_spent(batch):
        limit, tokens = batch.profile.budget_tokens, batch.usage.tokens
        detail = f"the budget of {limit:,} tokens is spent ({tokens:,} were used)"
        return ev.BatchStopped(now, batch.id, reason="budget", detail=detail)
    # Nothing but a launch clears a hindrance, and what is due begins before that.
    refused = next(job for job in batch.begun() if job.setbacks.hindrance in FOR_A_PERSON)
    wants = "wants to be paid" if refused.setbacks.hindrance == Hindrance.CREDIT else "refuses the login"
    detail = f"the model's provider {wants}" + (f" ({refused.detail})" if refused.detail else "")
    return ev.BatchStopped(now, batch.id, reason=refused.setbacks.hindrance, detail=detail)


def stopped(state: State, event: ev.BatchStopped, batch: Batch) -> State:
    if batch.is_spent or batch.stopped == event.reason:
        raise ImpossibleTransition(f"batch {batch.id} is stopped already")
    batch = replace(batch, stopped=event.reason, stop_detail=event.detail)
    state = state.with_batch(batch).drop(("stop", batch.id))
    return wrapped_up(state, batch, event.at)


def wrapped_up(state: State, batch: Batch, at: float) -> State:
    """With its budget spent. What is being brought home or verified takes no more tokens: it goes on."""
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
