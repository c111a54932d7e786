"""`apply(state, event) -> state`: the fold over the journal."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from supervisor.errors import ImpossibleTransition
from supervisor.flow import (
    alerts,
    attention,
    batches,
    collect,
    governor,
    lifecycle,
    rates,
    retention,
    reviewing,
    schedules,
    siblings,
    slots,
    stopping,
    surveying,
    verifying,
)
from supervisor.flow.remembering import remembered
from supervisor.model import event as ev
from supervisor.model.attempt import Stage
from supervisor.model.batch import BatchState
from supervisor.model.pausing import Pausing
from supervisor.model.state import State


def apply(state: State, event: ev.Event) -> State:
    """The state after this event. Raises ImpossibleTransition if the state does not allow it."""
    after = siblings.followed(APPLIED[type(event)](state, event), event)
    after = stopping.withdrawn(after, event)
    return remembered(state, after, event)


def _on_daemon_started(state: State, event: ev.DaemonStarted) -> State:
    """Whatever the last daemon had in progress is due again, except launches: the watch first finds out whether their
    agents exist."""
    state = rates.restarted(state, event.at)
    for key, attempt in state.attempts.items():
        if attempt.stage is Stage.COLLECTING:
            state = state.put(("collect", *key), event.at)
        elif attempt.stage is Stage.RELEASING:
            state = state.put(("release", *key), event.at)
    for batch in state.batches.values():
        if batch.state is BatchState.INTEGRATING and batch.is_drained and not batch.ledger:
            state = state.put(("integrate", batch.id), event.at)
        if batch.integrations.partial is not None:
            state = state.put(("partial", batch.id), event.at)
    state = surveying.all_due_again(verifying.all_wait_again(state))
    state = reviewing.all_due_again(state, event.at)
    return state.put(retention.CLEAR, event.at + retention.FIRST_LOOK_SECONDS)


def _on_pools_configured(state: State, event: ev.PoolsConfigured) -> State:
    state = replace(slots.configured(state, event.pools), configured=event.pools)
    return replace(state, verifying=replace(state.verifying, slots=event.verify_slots))


def _on_slots_changed(state: State, event: ev.SlotsChanged) -> State:
    if (pool := state.pools.get(event.pool)) is None:
        raise ImpossibleTransition(f"there is no pool {event.pool}")
    return state.with_pool(replace(pool, slots=event.slots))


def _on_pool_rested(state: State, event: ev.PoolRested) -> State:
    if (pool := state.pools.get(event.pool)) is None:
        raise ImpossibleTransition(f"there is no pool {event.pool}")
    return state.with_pool(replace(pool, resting=False)).drop(("rest", event.pool))


def _on_queue_paused(state: State, event: ev.QueuePaused) -> State:
    return replace(state, paused=True, pause_reason=event.reason, pausing=Pausing(event.at, event.author))


def _on_queue_resumed(state: State, event: ev.QueueResumed) -> State:
    return replace(state, paused=False, pause_reason="", pausing=None, is_older=False)


def _on_older_state_accepted(state: State, event: ev.OlderStateAccepted) -> State:
    """A job that is queued here may already have an agent: a person must check before anything is launched."""
    how = "was salvaged" if event.salvaged else "was accepted although it is older"
    reason = f"the state {how}: look at what agents there are first"
    return replace(state, paused=True, is_older=True, pause_reason=reason, pausing=Pausing(event.at))


def _on_orphan_destroyed(state: State, event: ev.OrphanDestroyed) -> State:
    return state


APPLIED: Mapping[type[ev.Event], Callable[..., State]] = {
    **lifecycle.APPLIED,
    **collect.APPLIED,
    **batches.APPLIED,
    **attention.APPLIED,
    **retention.APPLIED,
    **governor.APPLIED,
    **alerts.APPLIED,
    **schedules.APPLIED,
    **surveying.APPLIED,
    **siblings.APPLIED,
    **reviewing.APPLIED,
    ev.DaemonStarted: _on_daemon_started,
    ev.PoolsConfigured: _on_pools_configured,
    ev.SlotsChanged: _on_slots_changed,
    ev.PoolRested: _on_pool_rested,
    ev.LaunchRateChanged: rates.on_launch_rate_changed,
    ev.QueuePaused: _on_queue_paused,
    ev.QueueResumed: _on_queue_resumed,
    ev.OlderStateAccepted: _on_older_state_accepted,
    ev.OrphanDestroyed: _on_orphan_destroyed,
}
