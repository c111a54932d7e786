"""What stops a batch: a budget that is spent, or a model's provider that asks for a person.

Theory of operation. A stopped batch starts no agent, and nothing else about it changes by itself:

    budget            for good. What waits is cancelled, agents at work are told to wrap up and are put away some
                      minutes later, and what is done is integrated, by machine alone.
    login, credit     until a person has seen to it and says `resume`. No retry is used up and nothing is cancelled:
                      the jobs wait, where an agent for each would only be refused.

Tokens are counted while agents work, so what is spent beyond a budget is what those at work spend while they wrap up.
"""

from collections.abc import Iterator
from dataclasses import replace

from supervisor.errors import ImpossibleTransition
from supervisor.model import event as ev
from supervisor.model.attempt import AttemptKey
from supervisor.model.batch import Batch, BatchState
from supervisor.model.job import INTEGRATOR, Job, JobState
from supervisor.model.state import State

#: hindrances that no waiting mends
FOR_A_PERSON = frozenset({"login", "credit"})
#: what agents at work get to commit and publish
WRAP_UP_SECONDS = 300.0

_OPEN = (BatchState.RUNNING, BatchState.INTEGRATING)


def spent(state: State, batch: Batch, at: float) -> State:
    """After tokens were counted."""
    limit = batch.profile.budget_tokens
    is_due = limit and batch.usage.tokens >= limit and not batch.is_spent and batch.state in _OPEN
    return state.put(("stop", batch.id), at) if is_due else state


def hindered(state: State, batch: Batch, job: Job, at: float) -> State:
    """After an agent was given up for what its model's provider said."""
    is_due = job.hindrance in FOR_A_PERSON and not batch.stopped and batch.state in _OPEN
    return state.put(("stop", batch.id), at) if is_due else state


def due(batch: Batch, now: float) -> ev.BatchStopped:
    limit, tokens = batch.profile.budget_tokens, batch.usage.tokens
    if limit and tokens >= limit:
        detail = f"the budget of {limit:,} tokens is spent ({tokens:,} were used)"
        return ev.BatchStopped(now, batch.id, reason="budget", detail=detail)
    refused = next((job for job in _jobs(batch) if job.hindrance in FOR_A_PERSON), None)
    reason, said = (refused.hindrance, refused.detail) if refused else ("login", "")
    what = "the model's provider wants to be paid" if reason == "credit" else "the model's provider refuses the login"
    return ev.BatchStopped(now, batch.id, reason=reason, detail=f"{what} ({said})" if said else what)


def stopped(state: State, event: ev.BatchStopped, batch: Batch) -> State:
    if batch.is_spent or batch.stopped == event.reason:
        raise ImpossibleTransition(f"batch {batch.id} is stopped already")
    batch = replace(batch, stopped=event.reason, stop_detail=event.detail)
    state = state.with_batch(batch).drop(("stop", batch.id))
    return _wrapped_up(state, batch, event.at) if batch.is_spent else state


def _wrapped_up(state: State, batch: Batch, at: float) -> State:
    """What is being brought home or verified takes no more tokens: it goes on."""
    for job in _jobs(batch):
        match job.state:
            case JobState.QUEUED | JobState.LAUNCHING | JobState.PARKED:
                state = state.put(("cancel", batch.id, job.number), at)
            case JobState.RUNNING:
                state = state.put(("wrap-up", *AttemptKey(batch.id, job.number, job.attempts)), at)
            case _:
                pass
    return state


def uncalled(state: State, batch: Batch, at: float) -> State:
    """An integrator that was asked for before it was known that there is nothing left to pay it with."""
    return state.put(("cancel", batch.id, INTEGRATOR), at) if batch.is_spent else state


def resumed(batch: Batch) -> Batch:
    return batch if batch.is_spent else replace(batch, stopped="", stop_detail="")


def _jobs(batch: Batch) -> Iterator[Job]:
    yield from batch.touched.values()
    if batch.integrator is not None:
        yield batch.integrator
