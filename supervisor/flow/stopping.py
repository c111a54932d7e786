"""Stopping a batch: when its budget is spent, or when only a person can fix the problem.

Theory of operation. A stopped batch launches no agents:

    budget            for good. Queued jobs are cancelled. Agents at work are told to wrap up (programs are not) and
                      put away some minutes later. The finished work is integrated, without an integrator.
    login, credit     until a person has solved the problem and runs `resume`. No retry is used and nothing is
                      cancelled: the jobs wait, because the provider would refuse every agent.
    survey            the same, because everything fails at the base for one reason (`surveying`).

Tokens are counted while agents work, so a batch exceeds its budget only by what its agents use while they wrap up.
"""

from dataclasses import replace

from supervisor.errors import ImpossibleTransition
from supervisor.flow import surveying
from supervisor.model import event as ev
from supervisor.model.attempt import AttemptKey
from supervisor.model.batch import Batch, BatchState, Stop
from supervisor.model.hindrance import FOR_A_PERSON, Hindrance
from supervisor.model.job import Job, JobState
from supervisor.model.price import MICRO
from supervisor.model.state import State

#: the time that agents at work have to commit and publish
WRAP_UP_SECONDS = 300.0
#: behind the gate, this part of the budget is left for wrapping up: a twentieth
WRAP_UP_PART = 20

_OPEN = (BatchState.RUNNING, BatchState.INTEGRATING)


def spent(state: State, batch: Batch, at: float) -> State:
    """After tokens were counted: make the stop due if the budget is spent."""
    is_due = _has_spent(batch) and not batch.is_spent and batch.state in _OPEN
    return state.put(("stop", batch.id), at) if is_due else state


def hindered(state: State, batch: Batch, job: Job, at: float) -> State:
    """After an agent was given up as hindered: make the stop due if only a person can resolve that."""
    is_due = job.setbacks.hindrance in FOR_A_PERSON and not batch.stop.reason and batch.state in _OPEN
    return state.put(("stop", batch.id), at) if is_due else state


def withdrawn(state: State, event: ev.Event) -> State:
    """After an event: drop a stop that is due but has lost its reason, for example because the agent whose login was
    refused has published after all."""
    batch = state.batches.get(event.batch) if isinstance(event, ev.BatchEvent) else None
    if batch is None or ("stop", batch.id) not in state.agenda.times or _reason(batch) is not None:
        return state
    return state.drop(("stop", batch.id))


def due(batch: Batch, now: float) -> ev.BatchStopped:
    reason = _reason(batch)
    assert reason is not None, f"the stop of {batch.id} was not withdrawn"
    return ev.BatchStopped(now, batch.id, *reason)


def _reason(batch: Batch) -> tuple[str, str] | None:
    """Why it must stop: in a word, and in a sentence."""
    if _has_spent(batch):
        limit, tokens = batch.profile.budget_tokens, batch.usage.tokens
        if 0 < limit <= tokens:
            return "budget", f"the budget of {limit:,} tokens is spent ({tokens:,} were used)"
        dollars = batch.money / MICRO
        return "budget", f"the budget of ${batch.profile.budget_dollars:,.2f} is spent (${dollars:,.2f} were used)"
    if surveying.is_broken(batch):
        return surveying.STOPPED, surveying.why(batch)
    if refused := next((job for job in batch.begun() if job.setbacks.hindrance in FOR_A_PERSON), None):
        has_none = refused.setbacks.hindrance == Hindrance.CREDIT
        why = "reports that there is no credit left" if has_none else "refuses the login"
        said = f" ({refused.detail})" if refused.detail else ""
        return refused.setbacks.hindrance, f"the model's provider {why}{said}"
    return None


def stopped(state: State, event: ev.BatchStopped, batch: Batch) -> State:
    if batch.is_spent or batch.stop.reason == event.reason:
        raise ImpossibleTransition(f"batch {batch.id} is already stopped")
    batch = replace(batch, stop=Stop(event.reason, event.detail))
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


def overtaken(state: State, batch: Batch) -> State:
    """All its jobs are over: a broken base does not prevent their integration."""
    return state if _has_spent(batch) else state.drop(("stop", batch.id))


def resumed(batch: Batch) -> Batch:
    if batch.is_spent:
        return batch
    survey = batch.survey.anew() if batch.stop.reason == surveying.STOPPED else batch.survey
    return replace(batch, stop=Stop(), survey=survey)


def cap_of(batch: Batch) -> int:
    """What the gate lets agents use, in tokens; 0: no limit. The last part of the budget is for wrapping up."""
    budget = batch.profile.budget_tokens
    return budget if batch.is_spent else budget - budget // WRAP_UP_PART


def _has_spent(batch: Batch) -> bool:
    profile = batch.profile
    has_spent_dollars = 0 < profile.budget_dollars <= batch.money / MICRO
    return 0 < profile.budget_tokens <= batch.usage.tokens or has_spent_dollars
