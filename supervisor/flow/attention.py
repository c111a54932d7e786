"""Agents that wait, fall silent or ask for permission: they are nudged, parked, and given up if that does not help.

Theory of operation. Activity is not journalled: the watch reports when an agent falls quiet and when it is active
again, and timers do the rest. A quiet agent has one item on the agenda, `quiet`. When it is due:

    waits, and has not begun          → nudged, a few seconds after it was launched or its turn was broken off
    waits, not nudged for that yet    → nudged, a few seconds after the end of its turn
    silent for the stall time         → nudged once more, whatever it was nudged for before
    nudged, and still quiet           → stalled: after the stall time, and at least half of it after the nudge
    hindered, its account waits       → told to go on when the wait is over, or put away (`governor.sleeping`)
    nudged, and hindered otherwise    → given up at once; its job is requeued later without using a retry

A program (see `Profile.is_talked_to`) has no turns and is not nudged: it is stalled after the stall time.

So an agent is nudged at most once for each reason, and the nudge to begin does not use up another. A message that
did not reach the agent does not count: it is repeated a few times (`REPEATED_SECONDS`) while its reason lasts. An
active agent is left alone until its job's time limit, and a refusal by the model's provider is never a stall.
An agent that asks for permission parks its job. Then a person decides (`notify`), the answer is no (`deny`), or the
agent is given up after a while (`time-out`). The job's time limit still applies meanwhile, because it holds a slot.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import inf

from supervisor.errors import ImpossibleTransition
from supervisor.flow import stopping
from supervisor.flow.governor import levels, pauses, sleeping, spending, waking
from supervisor.flow.lifecycle import attempt_of, closed, item, job_of, key_of, unless_hindered
from supervisor.model import event as ev
from supervisor.model.agenda import Item
from supervisor.model.attempt import Attempt, AttemptKey
from supervisor.model.effect import Effect, Note, Nudge
from supervisor.model.job import INTEGRATOR, Ending, How, Job, JobState
from supervisor.model.state import State
from supervisor.model.usage import Usage

_END = (
    'commit your work on your branch, write the outcome to $SUPERVISOR_OUTCOME and run: sh -c "$SUPERVISOR_PUBLISH"'
)
#: one line each: a terminal would submit several lines as several messages
TOLD: Mapping[str, str] = {
    # A restart may have interrupted its launch before its first message; codex may break off its first turn.
    "unheard": (
        "Nothing was heard of you yet, so begin now: "
        'read the file that "$SUPERVISOR_PROMPT" names, and do what it says.'
    ),
    "waiting": (
        "You have stopped, but nothing is published yet. Your task is in the file that $SUPERVISOR_PROMPT names. "
        f"Nobody answers questions here: decide yourself, then {_END}"
    ),
    "silent": f"You have shown no activity for a long time. If you are done or stuck, {_END}",
    "parked": f"No: nobody is here to permit it. Continue without it, or say in the outcome what blocks you; {_END}",
    "again": (
        "Your model's provider refused to serve you, and serves you again by now. Go on with what you were doing; "
        f"when you are done, {_END}"
    ),
    "cap": (
        "The token budget that all agents share is spent for now, so stop: revert what is half done, say in the "
        f"outcome what is left, and within a few minutes {_END}"
    ),
    "budget": (
        "The token budget of your batch is spent, so stop now: revert what is half done, say in the outcome what "
        f"is left, and within {stopping.WRAP_UP_SECONDS / 60:.0f} minutes {_END}"
    ),
}

#: the delay before an undelivered message is repeated, for each repetition
REPEATED_SECONDS = (10.0, 20.0, 40.0, 80.0)


# --- what is due


def look(state: State, key: AttemptKey, now: float) -> Effect:
    """What to do about an agent that is still quiet or still asks for permission."""
    attempt, job, profile = (
        state.attempts[key],
        state.batches[key.batch].job(key.job),
        state.batches[key.batch].profile,
    )
    if job.state is JobState.RUNNING and attempt.waits and sleeping.sleeps(state, attempt):
        return _wake(state, attempt, now)
    if profile.is_talked_to and (reason := _nudge(job, attempt, profile.on_parked)) is not None:
        is_parked = job.state is JobState.PARKED
        return Nudge(ev.NudgeStarted(now, *key, reason=reason), attempt, TOLD[reason], asks=is_parked)
    if job.state is JobState.PARKED:
        return Note(ev.AgentStalled(now, *key, detail=f"it asked for permission and nobody granted it: {job.detail}"))
    quiet = now - (attempt.quiet_since or now)
    although = ", despite a reminder" if profile.is_talked_to else ""
    return Note(ev.AgentStalled(now, *key, detail=f"no activity for {quiet:.0f} s{although}"))


def _wake(state: State, attempt: Attempt, now: float) -> Effect:
    if (declined := sleeping.declined(state, attempt, now)) is not None:
        return Note(declined)
    if sleeping.was_told(state, attempt):
        return Note(ev.AgentStalled(now, *attempt.key, detail="its account does not serve it"))
    costs = waking.priced(state, attempt, now)
    return Nudge(ev.NudgeStarted(now, *attempt.key, reason="again", waking=costs), attempt, TOLD["again"])


def wrap_up(state: State, key: AttemptKey, now: float) -> Effect:
    """Tell an agent, whatever it is doing, to finish within a few minutes."""
    reason = "budget" if state.batches[key.batch].is_spent else "cap"
    return Nudge(ev.NudgeStarted(now, *key, reason=reason), state.attempts[key], TOLD[reason])


def _nudge(job: Job, attempt: Attempt, on_parked: str) -> str | None:
    """The reason to nudge it; None: nudges have not helped, so give it up."""
    if job.state is JobState.PARKED:
        return "parked" if on_parked == "deny" and "parked" not in attempt.nudges else None
    is_told = not attempt.undelivered or _is_out_of_reach(attempt)
    if is_told and attempt.nudged_at is not None and attempt.nudged_at >= (attempt.quiet_since or 0.0):
        return None
    if job.setbacks.hindrance and attempt.nudges - {"unheard"}:
        return None
    return next(iter(_untold(attempt)), None)


def _untold(attempt: Attempt) -> list[str]:
    """The reasons for which a quiet agent should be nudged and was not yet, in order."""
    reasons = ("unheard",) * attempt.unheard + ("waiting",) * attempt.waits + ("silent",)
    return [reason for reason in reasons if reason not in attempt.nudges]


# --- what has happened


def _both(state: State, event: ev.AttemptEvent) -> tuple[Attempt, Job]:
    """The event's attempt, which must be its job's last one, and the job."""
    attempt, job = attempt_of(state, event), job_of(state, event)
    if event.attempt != job.attempts:
        raise ImpossibleTransition(f"{event.kind} of {attempt.key}, which is not the last attempt")
    return attempt, job


def on_fell_quiet(state: State, event: ev.AgentFellQuiet) -> State:
    attempt, job = _both(state, event)
    if attempt.quiet_since is not None and (attempt.waits or not event.waits):
        raise ImpossibleTransition(f"{attempt.key} is already quiet")
    profile = state.batches[event.batch].profile
    waits = event.waits and profile.is_talked_to
    attempt = replace(attempt, quiet_since=min(event.since, event.at), waits=waits, unheard=waits and event.unheard)
    due = event.since + profile.stall_timeout_seconds
    if waits and (_untold(attempt)[:1] not in ([], ["silent"]) or job.setbacks.hindrance):
        due = sleeping.wake_at(state, attempt, event.at) if sleeping.sleeps(state, attempt) else event.at
    return state.with_attempt(attempt).put(item("quiet", attempt.key), due)


def on_stirred(state: State, event: ev.AgentStirred) -> State:
    attempt, _ = _both(state, event)
    if attempt.quiet_since is None:
        raise ImpossibleTransition(f"{attempt.key} is not quiet")
    return state.with_attempt(_active(attempt)).drop(item("quiet", attempt.key))


def _active(attempt: Attempt) -> Attempt:
    return replace(attempt, quiet_since=None, waits=False, unheard=False)


def on_nudge_started(state: State, event: ev.NudgeStarted) -> State:
    attempt, _ = _both(state, event)
    if event.reason in attempt.nudges - {"again"}:
        raise ImpossibleTransition(f"{attempt.key} was already nudged: {event.reason}")
    attempt = replace(attempt, nudges=attempt.nudges | {event.reason}, nudged_at=event.at)
    again, end = _timers(event.reason, attempt.key)
    if again != end:
        seconds = stopping.WRAP_UP_SECONDS if event.reason == "budget" else state.budget.grace_seconds
        # A repeated message does not extend the agent's time.
        late = min(event.at + seconds, state.agenda.times.get(end, inf))
        return state.drop(again).with_attempt(attempt).put(end, late)
    stall = state.batches[event.batch].profile.stall_timeout_seconds
    due = max(event.at + stall / 2, (attempt.quiet_since or event.at) + stall)
    return state.with_attempt(attempt).put(item("quiet", attempt.key), due)


def on_nudged(state: State, event: ev.AgentNudged) -> State:
    """An undelivered message does not count: look again soon, as long as there is a reason to nudge the agent."""
    attempt, _ = _both(state, event)
    if event.delivered or not event.reason:
        return state.with_attempt(replace(attempt, undelivered=0))
    attempt = replace(attempt, undelivered=attempt.undelivered + 1)
    if _is_out_of_reach(attempt):
        return state.with_attempt(attempt)
    state = state.with_attempt(replace(attempt, nudges=attempt.nudges - {event.reason}))
    again, end = _timers(event.reason, attempt.key)
    if (last := state.agenda.times.get(end)) is None:
        return state
    return state.put(again, min(event.at + REPEATED_SECONDS[attempt.undelivered - 1], last))


def _timers(reason: str, key: AttemptKey) -> tuple[Item, Item]:
    """The agenda items that tell the agent for this reason, and that give it up after that."""
    if reason not in ("budget", "cap"):
        return item("quiet", key), item("quiet", key)
    return item("wrap-up", key), item("halt", key) if reason == "cap" else ("cancel", key.batch, key.job)


def _is_out_of_reach(attempt: Attempt) -> bool:
    return attempt.undelivered > len(REPEATED_SECONDS)


def on_stalled(state: State, event: ev.AgentStalled) -> State:
    _, job = _both(state, event)
    return closed(state, event, job, unless_hindered(job, Ending(How.STALLED, event.detail)))


def on_waking_declined(state: State, event: ev.WakingDeclined) -> State:
    """The job starts again from the rescued work. The integrator's job starts from a branch that is made for it."""
    _, job = _both(state, event)
    detail = f"{job.setbacks.hindrance}: {event.detail}"
    job = replace(job, continues=event.attempt if event.job != INTEGRATOR else 0)
    return closed(state, event, job, Ending(How.HINDERED, detail))


def on_halted(state: State, event: ev.AgentHalted) -> State:
    """A cap that several agents share was reached: the job is launched again when there is budget again."""
    _, job = _both(state, event)
    return closed(state, event, job, Ending(How.HINDERED, f"cap: {event.detail}"))


def on_parked(state: State, event: ev.JobParked) -> State:
    attempt, job = _both(state, event)
    profile = state.batches[event.batch].profile
    job = replace(job, detail=event.question)
    state = state.with_job(event.batch, job).with_attempt(_active(attempt)).drop(item("quiet", attempt.key))
    match profile.on_parked:
        case "deny":
            return state.put(item("quiet", attempt.key), event.at)
        case "time-out":
            return state.put(item("quiet", attempt.key), event.at + profile.parked_timeout_seconds)
        case _:
            return state


def on_unparked(state: State, event: ev.JobUnparked) -> State:
    attempt, job = _both(state, event)
    return state.with_job(event.batch, replace(job, detail="")).drop(item("quiet", attempt.key))


def on_hindered(state: State, event: ev.AgentHindered) -> State:
    """The same refusal with a later time is a new refusal."""
    attempt, job = _both(state, event)
    if job.setbacks.hindrance == event.problem and (not event.problem or event.since <= job.setbacks.hindered_at):
        raise ImpossibleTransition(f"{key_of(event)} already has the hindrance {event.problem!r}")
    setbacks = replace(job.setbacks, hindrance=event.problem, hindered_at=event.since or event.at)
    state = state.with_job(event.batch, replace(job, setbacks=setbacks, detail=event.detail))
    return pauses.hindered(state, attempt, event)


def on_usage_counted(state: State, event: ev.UsageCounted) -> State:
    """Totals replace totals, so a repeated event counts once. They are accepted until the agent is put away."""
    if (attempt := state.attempts.get(key_of(event))) is None:
        raise ImpossibleTransition(f"{event.kind} of {key_of(event)}, whose agent is put away")
    counts = event.input, event.output, event.cached, event.tool_calls, event.errors
    told = Usage(*counts, model=event.model, written=event.written, context=event.context)
    if told == attempt.usage or told.tokens < attempt.usage.tokens:
        raise ImpossibleTransition(f"{event.kind} of {attempt.key} brings nothing new")
    batch, more = state.batches[event.batch], told - attempt.usage
    job = batch.job(event.job)
    batch = replace(batch.with_job(replace(job, usage=job.usage + more)), usage=batch.usage + more)
    attempt = replace(attempt, usage=told, served_at=event.at if more.tokens else attempt.served_at)
    state = spending.counted(state.with_batch(batch).with_attempt(attempt), attempt, more, event.at)
    if more.output > 0:
        state = levels.served(pauses.served(state, attempt.account), attempt.key, event.at)
    return stopping.spent(state, state.batches[event.batch], event.at)


def usage_counted(at: float, key: AttemptKey, usage: Usage) -> ev.UsageCounted:
    return ev.UsageCounted(
        at,
        *key,
        input=usage.input,
        output=usage.output,
        cached=usage.cached,
        tool_calls=usage.tool_calls,
        errors=usage.errors,
        model=usage.model,
        written=usage.written,
        context=usage.context,
    )


APPLIED: Mapping[type[ev.Event], Callable[..., State]] = {
    ev.AgentFellQuiet: on_fell_quiet,
    ev.AgentStirred: on_stirred,
    ev.NudgeStarted: on_nudge_started,
    ev.AgentNudged: on_nudged,
    ev.AgentStalled: on_stalled,
    ev.AgentHalted: on_halted,
    ev.WakingDeclined: on_waking_declined,
    ev.JobParked: on_parked,
    ev.JobUnparked: on_unparked,
    ev.AgentHindered: on_hindered,
    ev.UsageCounted: on_usage_counted,
}
