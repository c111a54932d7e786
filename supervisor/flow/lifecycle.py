"""The life of a job and of its attempts' agents.

Theory of operation. A job has a state, an attempt has a stage, and both are set only here, by the tables below.
The job follows the agent until the agent's work is safe. Then they separate: the job is verified and ends, while the
agent is put away in the background and its attempt leaves the state.

    normal      launch → live → published → collected ─┬─ job: verified → ended
                                                       └─ agent: released
    otherwise   vanished, timed out, stalled, refused, cancelled, not launched: its work is rescued, the agent is
                released, and only then is the job settled (requeued or ended). So a job never has two agents.

    held        without an agent, until the work of a sibling is verified and tried on its test (`siblings`).

Each `on_…` function applies one event to the state; `history.apply` calls it. `collect` has the events of collecting
work and putting agents away; `attention` has those of agents that wait, stall or ask.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from supervisor.errors import ImpossibleTransition
from supervisor.flow import queue, slots, stopping, verifying
from supervisor.flow.governor import levels, wrapping
from supervisor.model import event as ev
from supervisor.model.attempt import Attempt, AttemptKey, Stage
from supervisor.model.job import Ending, How, Job, JobState
from supervisor.model.outcome import Outcome
from supervisor.model.state import State

_CLOSING: Mapping[type[ev.Event], JobState] = {
    ev.AgentVanished: JobState.COLLECTING,
    ev.TimeRanOut: JobState.COLLECTING,
    ev.AgentStalled: JobState.COLLECTING,
    ev.AgentHalted: JobState.COLLECTING,
    ev.WakingDeclined: JobState.COLLECTING,
    ev.WorkPublished: JobState.COLLECTING,
    ev.JobCancelled: JobState.COLLECTING,
}

#: events of a live agent that change neither its stage nor its job's state
_WATCHED = (ev.NudgeStarted, ev.AgentNudged, ev.AgentHindered)

#: Rule 1: a job's state changes only by this table.
TRANSITIONS: Mapping[JobState, Mapping[type[ev.Event], JobState]] = {
    JobState.QUEUED: {
        ev.LaunchStarted: JobState.LAUNCHING,
        ev.JobCancelled: JobState.CANCELLED,
        ev.JobReady: JobState.QUEUED,
        ev.JobHeld: JobState.HELD,
    },
    JobState.HELD: {
        ev.FixBorrowed: JobState.VERIFYING,
        ev.JobFreed: JobState.QUEUED,
        ev.JobCancelled: JobState.CANCELLED,
    },
    JobState.LAUNCHING: {
        ev.LaunchSucceeded: JobState.RUNNING,
        ev.LaunchFailed: JobState.COLLECTING,
        ev.LaunchInterrupted: JobState.COLLECTING,
        ev.JobCancelled: JobState.LAUNCHING,
    },
    JobState.RUNNING: {
        **_CLOSING,
        **dict.fromkeys((*_WATCHED, ev.AgentFellQuiet, ev.AgentStirred), JobState.RUNNING),
        ev.JobParked: JobState.PARKED,
    },
    JobState.PARKED: {
        **_CLOSING,
        **dict.fromkeys(_WATCHED, JobState.PARKED),
        ev.JobUnparked: JobState.RUNNING,
    },
    JobState.COLLECTING: {
        ev.CollectStarted: JobState.COLLECTING,
        ev.CollectFailed: JobState.COLLECTING,
        ev.PublicationRefused: JobState.COLLECTING,
        ev.WorkCollected: JobState.VERIFYING,
        ev.WorkRescued: JobState.COLLECTING,
        ev.JobCancelled: JobState.COLLECTING,
        ev.JobRequeued: JobState.QUEUED,
        ev.JobEnded: JobState.DONE,
    },
    JobState.VERIFYING: {
        ev.VerifyStarted: JobState.VERIFYING,
        ev.WorkPutBack: JobState.VERIFYING,
        ev.WorkVerified: JobState.VERIFYING,
        ev.JobFreed: JobState.QUEUED,
        ev.JobCancelled: JobState.CANCELLED,
        ev.JobEnded: JobState.DONE,
    },
    JobState.DONE: {ev.JobRetried: JobState.QUEUED},
    JobState.CANCELLED: {ev.JobRetried: JobState.QUEUED},
}

#: Rule 2: an attempt's stage changes only by this table. None: the attempt leaves the state.
STAGES: Mapping[Stage, Mapping[type[ev.Event], Stage | None]] = {
    Stage.LAUNCHING: {
        ev.LaunchSucceeded: Stage.LIVE,
        ev.LaunchFailed: Stage.RELEASING,
        ev.LaunchInterrupted: Stage.COLLECTING,
    },
    Stage.LIVE: {
        **dict.fromkeys(_CLOSING, Stage.COLLECTING),
        **dict.fromkeys((*_WATCHED, ev.AgentFellQuiet, ev.AgentStirred, ev.JobParked, ev.JobUnparked), Stage.LIVE),
    },
    Stage.COLLECTING: {
        ev.CollectStarted: Stage.COLLECTING,
        ev.CollectFailed: Stage.COLLECTING,
        ev.PublicationRefused: Stage.COLLECTING,
        ev.WorkCollected: Stage.RELEASING,
        ev.WorkRescued: Stage.RELEASING,
    },
    Stage.RELEASING: {
        ev.ReleaseStarted: Stage.RELEASING,
        ev.ReleaseFailed: Stage.RELEASING,
        ev.AgentReleased: None,
    },
}

#: agenda items of a live agent, dropped when it ends
_OF_LIVE_AGENTS = ("time-out", "quiet", "wrap-up", "halt")

#: failures in which mngr created no agent, so that the job need not wait for its release
NOTHING_LAUNCHED = frozenset({"provider", "refused", "missing"})


def advance(state: JobState, event: ev.Event) -> JobState:
    following = TRANSITIONS[state].get(type(event))
    if following is None:
        raise ImpossibleTransition(f"a {state} job can't have {event.kind}")
    if isinstance(event, ev.JobEnded) and event.outcome == "cancelled":
        return JobState.CANCELLED
    return following


def key_of(event: ev.AttemptEvent) -> AttemptKey:
    return AttemptKey(event.batch, event.job, event.attempt)


def item(what: str, key: AttemptKey) -> tuple[str, str, int, int]:
    return (what, key.batch, key.job, key.attempt)


def _moved(attempt: Attempt, event: ev.Event) -> Attempt:
    if type(event) not in STAGES[attempt.stage]:
        raise ImpossibleTransition(f"an agent that is {attempt.stage} can't have {event.kind}")
    return replace(attempt, stage=STAGES[attempt.stage][type(event)] or attempt.stage)


def attempt_of(state: State, event: ev.AttemptEvent) -> Attempt:
    """The event's attempt, moved to its next stage."""
    if (attempt := state.attempts.get(key_of(event))) is None:
        raise ImpossibleTransition(f"{event.kind} of {key_of(event)}, whose agent is put away")
    return _moved(attempt, event)


def job_of(state: State, event: ev.JobEvent) -> Job:
    """The event's job, moved to its next state."""
    if (batch := state.batches.get(event.batch)) is None or not batch.has_job(event.job):
        raise ImpossibleTransition(f"{event.kind} of {event.batch}.{event.job}, which is not open")
    job = batch.job(event.job)
    return replace(job, state=advance(job.state, event))


def launched(event: ev.LaunchStarted) -> Attempt:
    return Attempt(
        key=key_of(event),
        agent_id=event.agent_id,
        agent_name=event.agent_name,
        pool=event.pool,
        provider=event.provider,
        host=event.host,
        new_host=event.new_host,
        started_at=event.at,
        account=event.account,
        continues=event.continues,
    )


def on_launch_started(state: State, event: ev.LaunchStarted) -> State:
    job, attempt = job_of(state, event), launched(event)
    if event.attempt != job.attempts + 1:
        raise ImpossibleTransition(f"{attempt.key} does not follow attempt {job.attempts}")
    job = replace(job, attempts=event.attempt, agent=event.agent_name, pool=event.pool, ending=None)
    job = replace(job, setbacks=replace(job.setbacks, hindrance=""), detail="", account=event.account)
    if job.times.launched is None:
        job = replace(job, times=replace(job.times, launched=event.at))
    return slots.taken(queue.taken(state, event.batch, job, event.at).with_attempt(attempt), attempt)


def on_launch_succeeded(state: State, event: ev.LaunchSucceeded) -> State:
    attempt = replace(attempt_of(state, event), host_id=event.host_id)
    job = job_of(state, event)
    job = replace(job, setbacks=replace(job.setbacks, launches=0))
    state = slots.pool_answered(state, attempt, event.at).with_job(event.batch, job).with_attempt(attempt)
    if job.ending is not None:  # it was cancelled during the launch
        return state.put(("cancel", event.batch, event.job), event.at)
    limit = state.batches[event.batch].seconds_of(event.job)
    state = state.put(item("time-out", attempt.key), event.at + limit)
    return wrapping.launched(state, attempt, event.at)


def on_launch_failed(state: State, event: ev.LaunchFailed) -> State:
    attempt, job = attempt_of(state, event), job_of(state, event)
    how = How.INTERRUPTED if event.reason == "interrupted" else How.UNLAUNCHED
    own_fault = how is How.UNLAUNCHED and event.reason not in slots.PROVIDER_FAULTS
    job = replace(job, setbacks=replace(job.setbacks, launches=job.setbacks.launches + own_fault))
    if job.ending is None:
        job = replace(job, ending=Ending(how, event.detail, event.reason))
    state = state.with_job(event.batch, job).with_attempt(attempt).put(item("release", attempt.key), event.at)
    state = slots.launch_failed(state, attempt, event)
    if event.reason in NOTHING_LAUNCHED:
        return state.put(("settle", event.batch, event.job), event.at)
    return state


def on_launch_interrupted(state: State, event: ev.LaunchInterrupted) -> State:
    job, attempt = job_of(state, event), attempt_of(state, event)
    state = state.with_attempt(replace(attempt, host_id=event.host_id, stage=Stage.LAUNCHING))
    return closed(state, event, job, job.ending or Ending(How.INTERRUPTED, event.detail))


def on_agent_moved(state: State, event: ev.AgentMoved) -> State:
    """Possible in every stage: only the agent's address changes."""
    if (attempt := state.attempts.get(key_of(event))) is None or attempt.host_id == event.host_id:
        raise ImpossibleTransition(f"{event.kind} of {key_of(event)}, which is put away or already on that host")
    return state.with_attempt(replace(attempt, host_id=event.host_id))


def on_work_published(state: State, event: ev.WorkPublished) -> State:
    job = job_of(state, event)
    times, setbacks = replace(job.times, published=event.at), replace(job.setbacks, hindrance="")
    job = replace(job, times=times, setbacks=setbacks, detail="")
    return closed(levels.served(state, key_of(event), event.at), event, job, Ending(How.PUBLISHED))


def on_agent_vanished(state: State, event: ev.AgentVanished) -> State:
    job = job_of(state, event)
    return closed(state, event, job, unless_hindered(job, Ending(How.VANISHED, event.detail)))


def on_time_ran_out(state: State, event: ev.TimeRanOut) -> State:
    limit = state.batches[event.batch].seconds_of(event.job)
    job = job_of(state, event)
    return closed(state, event, job, unless_hindered(job, Ending(How.TIMED_OUT, f"not done within {limit:g} s")))


def unless_hindered(job: Job, ending: Ending) -> Ending:
    """If the model's provider refused to serve the agent, that is the ending: the agent itself did not fail."""
    return Ending(How.HINDERED, f"{job.setbacks.hindrance}: {job.detail}") if job.setbacks.hindrance else ending


def closed(state: State, event: ev.JobEvent, job: Job, ending: Ending) -> State:
    """End the agent and make the collection of its work due."""
    key = AttemptKey(event.batch, event.job, job.attempts)
    if isinstance(event, ev.AttemptEvent) and key_of(event) != key:
        raise ImpossibleTransition(f"{event.kind} of {key_of(event)}, which is not the last attempt")
    if (attempt := state.attempts.get(key)) is None:
        raise ImpossibleTransition(f"{event.kind} of {key}, whose agent is put away")
    attempt = replace(_moved(attempt, event), tries=0)
    setbacks = replace(job.setbacks, hindrances=job.setbacks.hindrances + (ending.how is How.HINDERED))
    state = state.with_job(event.batch, replace(job, ending=ending, setbacks=setbacks)).with_attempt(attempt)
    state = state.drop(("cancel", event.batch, event.job), *(item(what, key) for what in _OF_LIVE_AGENTS))
    if ending.how is How.HINDERED:
        state = stopping.hindered(state, state.batches[event.batch], job, event.at)
    return state.put(item("collect", key), event.at)


def on_job_cancelled(state: State, event: ev.JobCancelled) -> State:
    """A queued job, or one in verification, ends at once; a live agent is first rescued and put away."""
    job = job_of(state, event)
    state = state.drop(("cancel", event.batch, event.job))
    batch = state.batches[event.batch]
    why = f"cancelled by {event.author}" if event.author else batch.stop.detail if batch.is_spent else "cancelled"
    before, ending = batch.job(event.job), Ending(How.CANCELLED, why)
    if before.ending is not None and before.ending.how is How.CANCELLED:
        ending = before.ending
    if before.state is JobState.COLLECTING and before.ending is not None and before.ending.how is How.PUBLISHED:
        raise ImpossibleTransition(f"{event.batch}.{event.job} has published: its work is being collected")
    if before.state in (JobState.RUNNING, JobState.PARKED):
        return closed(state, event, job, ending)
    job = replace(job, ending=ending)
    if not job.state.is_over:  # settled as cancelled once its agent is put away
        return state.with_job(event.batch, job)
    state = verifying.let_go(state, AttemptKey(event.batch, event.job, job.attempts), event.at)
    return queue.ended(state, event, replace(job, outcome=Outcome.CANCELLED, detail=ending.detail))


APPLIED: Mapping[type[ev.Event], Callable[..., State]] = {
    ev.LaunchStarted: on_launch_started,
    ev.LaunchSucceeded: on_launch_succeeded,
    ev.LaunchFailed: on_launch_failed,
    ev.LaunchInterrupted: on_launch_interrupted,
    ev.AgentMoved: on_agent_moved,
    ev.WorkPublished: on_work_published,
    ev.AgentVanished: on_agent_vanished,
    ev.TimeRanOut: on_time_ran_out,
    ev.JobCancelled: on_job_cancelled,
}
