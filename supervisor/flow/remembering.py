"""What alerts need to remember of events: since when something is paused, when the queue moved, what is not saved.

It is part of the state, so it survives a restart.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from supervisor.flow.lifecycle import key_of
from supervisor.model import event as ev
from supervisor.model.alert import Alerts
from supervisor.model.state import State

#: Events after which the queue has moved, or may move: before them there was nothing to wait for.
_MOVES = (
    ev.LaunchStarted,
    ev.JobEnded,
    ev.JobRequeued,
    ev.BatchSubmitted,
    ev.BatchResumed,
    ev.QueueResumed,
    ev.WindowOpened,
    ev.SlotsChanged,
    ev.PoolsConfigured,
    ev.DaemonStarted,
)


def remembered(before: State, after: State, event: ev.Event) -> State:
    """The state after an event, with what is remembered of it."""
    if (remember := _REMEMBERED.get(type(event))) is None:
        return after
    return replace(after, alerts=remember(before, after.alerts, event))


def _moved(before: State, alerts: Alerts, event: ev.Event) -> Alerts:
    return replace(alerts, moved=event.at)


def _batch_paused(before: State, alerts: Alerts, event: ev.BatchEvent) -> Alerts:
    if event.batch in alerts.paused or (isinstance(event, ev.BatchStopped) and event.reason == "budget"):
        return alerts
    return replace(alerts, paused=alerts.paused.set(event.batch, event.at))


def _batch_resumed(before: State, alerts: Alerts, event: ev.BatchEvent) -> Alerts:
    return replace(_resumed(alerts, event.batch), moved=event.at)


def _batch_over(before: State, alerts: Alerts, event: ev.BatchEvent) -> Alerts:
    alerts = _resumed(alerts, event.batch)
    unsaved = alerts.unsaved.delete(event.batch) if event.batch in alerts.unsaved else alerts.unsaved
    return replace(alerts, unsaved=unsaved) if isinstance(event, ev.BatchSealed) else alerts


def _queue_paused(before: State, alerts: Alerts, event: ev.Event) -> Alerts:
    return alerts if "" in alerts.paused else replace(alerts, paused=alerts.paused.set("", event.at))


def _queue_resumed(before: State, alerts: Alerts, event: ev.Event) -> Alerts:
    return replace(_resumed(alerts, ""), moved=event.at)


def _resumed(alerts: Alerts, subject: str) -> Alerts:
    return replace(alerts, paused=alerts.paused.delete(subject)) if subject in alerts.paused else alerts


def _used(before: State, alerts: Alerts, event: ev.UsageCounted) -> Alerts:
    known = before.attempts[key_of(event)].usage
    more = event.input + event.output + event.cached - known.tokens
    idle = alerts.idle.get(key_of(event), 0) + more if event.tool_calls == known.tool_calls else 0
    return replace(alerts, idle=alerts.idle.set(key_of(event), idle))


def _found(before: State, alerts: Alerts, event: ev.WorkRescued | ev.AgentReleased) -> Alerts:
    key = key_of(event)
    if isinstance(event, ev.AgentReleased) and key in alerts.idle:
        alerts = replace(alerts, idle=alerts.idle.delete(key))
    known = alerts.unsaved.get(event.batch, ())
    if not event.unsaved or key in known:
        return alerts
    return replace(alerts, unsaved=alerts.unsaved.set(event.batch, (*known, key)))


_REMEMBERED: Mapping[type[ev.Event], Callable[..., Alerts]] = {
    **dict.fromkeys(_MOVES, _moved),
    ev.BatchPaused: _batch_paused,
    ev.BatchStopped: _batch_paused,
    ev.BreakerTripped: _batch_paused,
    ev.BatchResumed: _batch_resumed,
    ev.IntegrationStarted: _batch_over,
    ev.BatchCancelled: _batch_over,
    ev.BatchSealed: _batch_over,
    ev.QueuePaused: _queue_paused,
    ev.OlderStateAccepted: _queue_paused,
    ev.QueueResumed: _queue_resumed,
    ev.UsageCounted: _used,
    ev.WorkRescued: _found,
    ev.AgentReleased: _found,
}
