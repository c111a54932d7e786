"""Alerts: rules over the state say what a person should know now.

Theory of operation. Each rule finds problems in the state alone. An event raises an alert for a new problem, and
another one resolves it when the problem is gone: so an alert is raised once, however large its problem grows, and a
restart repeats none. A batch that fails in one way has one alert, with or without the breaker.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from hashlib import sha256

from supervisor.errors import ImpossibleTransition
from supervisor.flow import breaker, surveying
from supervisor.flow.governor import spending
from supervisor.model import event as ev
from supervisor.model.alert import Alert, AlertKind, Rule
from supervisor.model.batch import Batch, BatchState
from supervisor.model.hindrance import FOR_A_PERSON
from supervisor.model.outcome import Outcome
from supervisor.model.pattern import Pattern
from supervisor.model.state import State

#: the most resolved alerts that are remembered
MOST_PAST = 100
LONGEST_MESSAGE = 500

_LATE = (Outcome.TIMED_OUT, Outcome.STALLED)


def changes(state: State, rules: Iterable[Rule], now: float) -> list[ev.Event]:
    """The events for problems that are new, and for those that are gone."""
    found = {alert.id: alert for rule in rules for alert in _FOUND[rule.kind](state, rule.limit, now)}
    raised: list[ev.Event] = [
        ev.AlertRaised(now, alert.id, alert.kind, alert.subject, alert.message)
        for alert in found.values()
        if alert.id not in state.alerts.open
    ]
    return raised + [
        ev.AlertResolved(now, alert.id, alert.kind, alert.subject, alert.message, why=_why_over(state, alert))
        for alert in state.alerts.open.values()
        if alert.id not in found
    ]


def _why_over(state: State, alert: Alert) -> str:
    name = "" if alert.kind == AlertKind.SCHEDULE else alert.subject.partition(".")[0]
    batch = state.batches.get(name)
    if name and (batch is None or batch.finished_at is not None):
        return f"batch {name} is over"
    return "it is not so any more"


def _alert(kind: AlertKind, subject: str, message: str, *more: str) -> Alert:
    which = [sha256("\0".join(more).encode(errors="replace")).hexdigest()[:8]] if more else []
    return Alert(".".join(filter(None, (kind, subject, *which))), kind, subject, message[:LONGEST_MESSAGE])


def lasting(seconds: float) -> str:
    """`45 s`, `30 min`, `2.5 hours`."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} hours"


# --- the rules


def _same_failure(state: State, limit: float, now: float) -> Iterator[Alert]:
    for batch in _unfinished(state):
        for pattern in breaker.grown_by(batch, int(limit)):
            yield _alert(AlertKind.SAME_FAILURE, batch.id, _same(batch, pattern), *pattern.fingerprint)
        if batch.failures.tripped:
            yield _alert(AlertKind.SAME_FAILURE, batch.id, f"batch {batch.id}: {batch.stop.detail}", "mixed")


def _same(batch: Batch, pattern: Pattern) -> str:
    if pattern.tripped and batch.stop.reason == breaker.TRIPPED:
        return f"batch {batch.id} is paused: {batch.stop.detail}"
    stage, outcome, _, _ = pattern.fingerprint
    said = f"{pattern.count} jobs failed in the same way ({outcome} while {stage}: {pattern.sample})"
    return f"batch {batch.id}: {said}"


def _time_outs(state: State, limit: float, now: float) -> Iterator[Alert]:
    """Leaves out failures that are reported as the same failure."""
    for batch in _unfinished(state):
        late: defaultdict[str, set[int]] = defaultdict(set)
        told = set(breaker.grown_by(batch, breaker.limit(batch) or int(limit)))
        for pattern in batch.failures.patterns.values():
            if _is_late(pattern) and pattern not in told:
                late[pattern.fingerprint.stage].update(pattern.jobs)
        for stage, jobs in late.items():
            if len(jobs) >= limit:
                said = f"batch {batch.id}: {len(jobs)} jobs timed out or stalled while {stage}, in different ways"
                yield _alert(AlertKind.TIME_OUTS, batch.id, said, stage)


def _is_late(pattern: Pattern) -> bool:
    return pattern.fingerprint.outcome in _LATE or pattern.fingerprint.message.startswith("timeout")


def _budget(state: State, limit: float, now: float) -> Iterator[Alert]:
    for batch in _unfinished(state):
        budget, used = batch.profile.budget_tokens, batch.usage.tokens
        if budget and used >= limit * budget:
            said = f"batch {batch.id} has used {used:,} of its {budget:,} tokens"
            yield _alert(AlertKind.BUDGET, batch.id, f"{said}: it starts nothing more" if batch.is_spent else said)
    for account in state.accounts.values():
        for cap in spending.limits(state, account, now):  # a cap that accounts share is reported once
            if cap.spent >= limit * cap.most:
                said = f"{cap.name}: {cap.amount(cap.spent)} of {cap.amount(cap.most)} are used"
                yield _alert(AlertKind.BUDGET, "", said, cap.name)


def _paused(state: State, limit: float, now: float) -> Iterator[Alert]:
    for subject, since in state.alerts.paused.items():
        if now - since < limit:
            continue
        how_long = f"for {lasting(now - since)}"
        if not subject:
            why = f" ({state.pause_reason})" if state.pause_reason else ""
            yield _alert(AlertKind.PAUSED, "", f"the queue has been paused {how_long}{why}: `supervisorctl resume`")
        elif (batch := state.batches.get(subject)) is not None and batch.finished_at is None:
            why = f" ({batch.stop.detail})" if batch.stop.detail else ""
            said = f"batch {subject} has been paused {how_long}{why}: `supervisorctl resume {subject}`"
            yield _alert(AlertKind.PAUSED, subject, said)


def _stopped(state: State, limit: float, now: float) -> Iterator[Alert]:
    for batch in _unfinished(state):
        if batch.stop.reason in {*FOR_A_PERSON, surveying.STOPPED}:
            said = f"batch {batch.id} is stopped: {batch.stop.detail}; then `supervisorctl resume {batch.id}`"
            yield _alert(AlertKind.STOPPED, batch.id, said)


def _not_moving(state: State, limit: float, now: float) -> Iterator[Alert]:
    """A job waits, and only a slot holds it back."""
    waiting = [batch for batch in state.batches.values() if _wants_a_slot(state, batch)]
    if waiting and now - state.alerts.moved >= limit:
        how_long = lasting(now - state.alerts.moved)
        said = f"the queue does not move: jobs wait, and for {how_long} none was launched and none has ended"
        yield _alert(AlertKind.NOT_MOVING, "", said)


def _wants_a_slot(state: State, batch: Batch) -> bool:
    held = state.paused or batch.paused or not batch.window_open
    return not held and batch.next_waiting is not None


def _idle_agent(state: State, limit: float, now: float) -> Iterator[Alert]:
    for key, tokens in state.alerts.idle.items():
        if tokens >= limit and (attempt := state.attempts.get(key)) is not None and attempt.stage == "live":
            said = f"the agent of {key.batch}.{key.job} has used {tokens:,} tokens since it last used a tool"
            yield _alert(AlertKind.IDLE_AGENT, f"{key.batch}.{key.job}", said, str(key.attempt))


def _unaccounted(state: State, limit: float, now: float) -> Iterator[Alert]:
    for batch, keys in state.alerts.unsaved.items():
        said = (
            f"work of {len(keys)} agents of batch {batch} could not be saved; it is with the agents, which are kept"
        )
        yield _alert(AlertKind.UNACCOUNTED, batch, f"{said}: `supervisorctl work {batch}`")


def _schedule(state: State, limit: float, now: float) -> Iterator[Alert]:
    for name, run in state.schedules.items():
        if run.problem:
            yield _alert(AlertKind.SCHEDULE, name, f"schedule {name} has submitted no batch: {run.problem}")


def _unfinished(state: State) -> Iterator[Batch]:
    return (batch for batch in state.batches.values() if batch.state in (BatchState.RUNNING, BatchState.INTEGRATING))


_FOUND: Mapping[AlertKind, Callable[[State, float, float], Iterator[Alert]]] = {
    AlertKind.SAME_FAILURE: _same_failure,
    AlertKind.TIME_OUTS: _time_outs,
    AlertKind.BUDGET: _budget,
    AlertKind.PAUSED: _paused,
    AlertKind.STOPPED: _stopped,
    AlertKind.NOT_MOVING: _not_moving,
    AlertKind.IDLE_AGENT: _idle_agent,
    AlertKind.UNACCOUNTED: _unaccounted,
    AlertKind.SCHEDULE: _schedule,
}


# --- what has happened


def on_raised(state: State, event: ev.AlertRaised) -> State:
    if event.id in state.alerts.open:
        raise ImpossibleTransition(f"the alert {event.id} is already raised")
    alert = Alert(event.id, event.rule, event.subject, event.message, since=event.at)
    return replace(state, alerts=replace(state.alerts, open=state.alerts.open.set(event.id, alert)))


def on_resolved(state: State, event: ev.AlertResolved) -> State:
    if (alert := state.alerts.open.get(event.id)) is None:
        raise ImpossibleTransition(f"the alert {event.id} is not raised")
    past = (*state.alerts.past, replace(alert, resolved_at=event.at, why=event.why))[-MOST_PAST:]
    return replace(state, alerts=replace(state.alerts, open=state.alerts.open.delete(event.id), past=past))


APPLIED: Mapping[type[ev.Event], Callable[..., State]] = {
    ev.AlertRaised: on_raised,
    ev.AlertResolved: on_resolved,
}
