"""What is due now: `plan(state, now) -> effects`.

The shell applies and journals each effect's `began`, and calls `plan` again until nothing is due. So `began` must
take its item off the agenda; an effect that was not started is still due in the next call. Launches are planned one
at a time, because each one changes which launch may follow.
"""

from collections.abc import Callable, Mapping

from supervisor.flow import (
    attention,
    batches,
    breaker,
    governor,
    lifecycle,
    partial,
    rates,
    reviewing,
    settle,
    siblings,
    slots,
    stopping,
    surveying,
    verifying,
    window,
)
from supervisor.model import event as ev
from supervisor.model.agenda import Item
from supervisor.model.attempt import AttemptKey
from supervisor.model.batch import BatchState
from supervisor.model.effect import (
    Abandon,
    Clear,
    Collect,
    Effect,
    Integrate,
    IntegrateSoFar,
    Launch,
    LeaveBase,
    Note,
    Release,
    Revise,
    RunAtBase,
    Verify,
)
from supervisor.model.job import How
from supervisor.model.state import State


def plan(state: State, now: float) -> list[Effect]:
    # One effect can invalidate another that is due on the same subject, so each subject gets one at a time.
    first: dict[Item, Item] = {}
    for item in state.agenda.due(now):
        first.setdefault(item[1:3], item)
    # Accounts are decided first: that may put to sleep an agent that is due in the same turn.
    of_accounts = [item for item in first.values() if item[0] in governor.ITEMS]
    due = [_DUE[str(item[0])](state, item, now) for item in of_accounts or first.values()]
    return (
        _unsurveyed(state, now) or due or _verifications(state, now) or _launches(state, now) or _surveys(state, now)
    )


def next_at(state: State, now: float) -> float | None:
    """The time of the next item on the agenda, of the next launch that a provider's rate allows, or at which claims
    have waited for others long enough."""
    times = (state.agenda.next_at, slots.next_token_at(state, now), verifying.gathered_at(state, now))
    return min((at for at in times if at is not None), default=None)


def _launches(state: State, now: float) -> list[Effect]:
    if (began := slots.next_launch(state, now)) is not None:
        return [Launch(began, lifecycle.launched(began))]
    waits = governor.wait(state, slots.launchable(state), now)
    return [] if waits is None else [Note(waits)]


def _verifications(state: State, now: float) -> list[Effect]:
    pool, keys = verifying.next_group(state, now)
    if not keys:
        return []
    first, *others = keys
    began: list[Effect] = [Verify(ev.VerifyStarted(now, *first, pool=pool), keys, pool)]
    return began + [Note(ev.VerifyStarted(now, *key, beside=first.job, pool=pool)) for key in others]


def _surveys(state: State, now: float) -> list[Effect]:
    began = surveying.next_group(state, now)
    return [] if began is None else [RunAtBase(began, began.batch, began.number, began.files)]


def _unsurveyed(state: State, now: float) -> list[Effect]:
    return [LeaveBase(ev.SurveyAbandoned(now, *group), *group) for group in surveying.unwanted(state)]


def _key(item: Item) -> AttemptKey:
    return AttemptKey(str(item[1]), int(item[2]), int(item[3]))


def _collect(state: State, item: Item, now: float) -> Effect:
    attempt = state.attempts[_key(item)]
    ending = state.batches[attempt.key.batch].job(attempt.key.job).ending
    rescue = ending is None or ending.how is not How.PUBLISHED
    return Collect(ev.CollectStarted(now, *attempt.key), attempt, rescue)


def _abandon(state: State, item: Item, now: float) -> Effect:
    return Abandon(ev.VerifyAbandoned(now, *_key(item)), _key(item))


def _release(state: State, item: Item, now: float) -> Effect:
    attempt = state.attempts[_key(item)]
    return Release(ev.ReleaseStarted(now, *attempt.key), attempt)


def _time_out(state: State, item: Item, now: float) -> Effect:
    return Note(ev.TimeRanOut(now, *_key(item)))


def _quiet(state: State, item: Item, now: float) -> Effect:
    return attention.look(state, _key(item), now)


def _wrap_up(state: State, item: Item, now: float) -> Effect:
    return attention.wrap_up(state, _key(item), now)


def _halt(state: State, item: Item, now: float) -> Effect:
    return Note(ev.AgentHalted(now, *_key(item), detail="a cap was reached, and the time to publish is over"))


def _settle(state: State, item: Item, now: float) -> Effect:
    batch = state.batches[str(item[1])]
    job = batch.job(int(item[2]))
    return Note((siblings.settled if job.is_on_trial else settle.settled)(batch, job, now))


def _sibling(state: State, item: Item, now: float) -> Effect:
    return Note(siblings.due(state.batches[str(item[1])], str(item[0]), int(item[2]), now))


def _ready(state: State, item: Item, now: float) -> Effect:
    return Note(ev.JobReady(now, str(item[1]), int(item[2])))


def _cancel(state: State, item: Item, now: float) -> Effect:
    return Note(ev.JobCancelled(now, str(item[1]), int(item[2])))


def _integrate(state: State, item: Item, now: float) -> Effect:
    batch = state.batches[str(item[1])]
    number = batch.integrations.count
    if batch.state is BatchState.INTEGRATING:
        return Integrate(ev.IntegrationResumed(now, batch.id, number), batch.id, number)
    number += 1
    return Integrate(ev.IntegrationStarted(now, batch.id, number), batch.id, number)


def _stop(state: State, item: Item, now: float) -> Effect:
    return Note(stopping.due(state.batches[str(item[1])], now))


def _trip(state: State, item: Item, now: float) -> Effect:
    return Note(breaker.due(state.batches[str(item[1])], now))


def _straggle(state: State, item: Item, now: float) -> Effect:
    return Note(ev.PartialWanted(now, str(item[1]), automatic=True))


def _partial(state: State, item: Item, now: float) -> Effect:
    batch = state.batches[str(item[1])]
    if (begun := batch.integrations.partial) is not None:
        return IntegrateSoFar(ev.PartialResumed(now, batch.id, begun.number), batch.id, begun.number, begun.jobs)
    number, jobs = batch.integrations.count + 1, partial.over(batch)
    return IntegrateSoFar(ev.PartialStarted(now, batch.id, number, jobs), batch.id, number, jobs)


def _finish(state: State, item: Item, now: float) -> Effect:
    batch = state.batches[str(item[1])]
    ledger = batches.unmerged(batch) if batch.state is BatchState.CANCELLED else {}
    return Note(ev.BatchFinished(now, batch.id, ledger))


def _seal(state: State, item: Item, now: float) -> Effect:
    return Note(ev.BatchSealed(now, str(item[1])))


def _window(state: State, item: Item, now: float) -> Effect:
    batch = state.batches[str(item[1])]
    is_open, until = window.look(batch.profile.window, batch.profile.timezone, now)
    return Note((ev.WindowOpened if is_open else ev.WindowClosed)(now, batch.id, until))


def _revise(state: State, item: Item, now: float) -> Effect:
    batch = str(item[1])
    number = state.reviews[batch].number + 1
    return Revise(ev.RevisionStarted(now, batch, number), batch, number)


def _clear(state: State, item: Item, now: float) -> Effect:
    return Clear(ev.ClearingStarted(now))


def _rest(state: State, item: Item, now: float) -> Effect:
    return Note(ev.PoolRested(now, str(item[1])))


def _slow_down(state: State, item: Item, now: float) -> Effect:
    return Note(rates.slowed(state, str(item[1]), now))


def _speed_up(state: State, item: Item, now: float) -> Effect:
    return Note(rates.quickened(state, str(item[1]), now))


def _govern(state: State, item: Item, now: float) -> Effect:
    return Note(governor.due(state, item, now))


_DUE: Mapping[str, Callable[[State, Item, float], Effect]] = {
    **dict.fromkeys(governor.ITEMS, _govern),
    **dict.fromkeys((siblings.HOLD, siblings.BORROW, siblings.FREE), _sibling),
    "collect": _collect,
    "abandon": _abandon,
    "release": _release,
    "time-out": _time_out,
    "quiet": _quiet,
    "wrap-up": _wrap_up,
    "halt": _halt,
    "settle": _settle,
    "ready": _ready,
    "cancel": _cancel,
    "integrate": _integrate,
    "stop": _stop,
    breaker.TRIPPED: _trip,
    "straggle": _straggle,
    "partial": _partial,
    "finish": _finish,
    "seal": _seal,
    reviewing.REVISE: _revise,
    "window": _window,
    "rest": _rest,
    "slow-down": _slow_down,
    "speed-up": _speed_up,
    "clear": _clear,
}
