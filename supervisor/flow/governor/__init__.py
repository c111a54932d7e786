"""How many agents may be at work, and on whose account.

    accounts    chooses the account of an agent, or says why none is open
    pauses      what a provider refuses, and until when
    sleeping    which agents sleep through a pause, and are woken
    waking      what waking them costs
    levels      how many agents an account serves at a time
    spending    what was spent, what is reserved, and what may still be spent
    wrapping    how agents at work end when a cap is reached
    allowances  the caps as the gate receives them, which enforces them by itself
    shares      how much of a subscription's windows is used, and may be used
    hours       when accounts are left for people
    pressure    how many agents this machine has room for

This module has what `plan` and `history` need of them.
"""

from collections.abc import Callable, Iterable, Mapping

from supervisor.flow.governor import accounts, hours, levels, pauses, pressure, spending
from supervisor.model import event as ev
from supervisor.model.account import PACE
from supervisor.model.agenda import Item
from supervisor.model.batch import Batch
from supervisor.model.state import State

ITEMS: Mapping[str, Callable[..., ev.Event]] = {
    "pause": pauses.pause,
    "open": pauses.opened,
    "hours": hours.begin,
    "raise": levels.raise_,
    "lower": levels.lower,
    "cap": spending.reached,
}


def due(state: State, item: Item, now: float) -> ev.Event:
    """The event of an agenda item about an account. In the item, its name and details follow the action."""
    return ITEMS[str(item[0])](state, *item[1:], now)


def wait(state: State, batches: Iterable[Batch], now: float) -> ev.Event | None:
    """What to journal when nothing can be launched for these batches and no other event would end that."""
    for batch in batches:
        if not batch.busy and (refused := accounts.for_a_person(state, batch)) is not None:
            return ev.BatchStopped(now, batch.id, reason=refused[1].reason, detail=pauses.why(*refused))
        for name in accounts.names_of(batch.profile):
            account = state.accounts[name]
            if account.pause_for(accounts.model_of(batch)) is None and account.busy < account.most:
                lack = spending.lacking(state, account, now)
                if lack is not None and (lack.reason == PACE or not account.busy):
                    return lack
    return None


APPLIED: Mapping[type[ev.Event], Callable[..., State]] = {
    ev.AccountsConfigured: accounts.on_configured,
    ev.AccountPaused: pauses.on_paused,
    ev.AccountOpened: pauses.on_opened,
    ev.AccountWindowSeen: accounts.on_window_seen,
    ev.LevelChanged: levels.on_changed,
    ev.PressureSeen: pressure.on_seen,
}
