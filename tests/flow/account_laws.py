"""What is true of accounts, whatever happens: part of `laws`."""

from supervisor.flow.governor import accounts, spending, waking
from supervisor.flow.lifecycle import key_of
from supervisor.model import event as ev
from supervisor.model.account import AccountSpec
from supervisor.model.batch import Batch
from supervisor.model.share import WindowShare
from supervisor.model.state import State


def check_books(state: State) -> None:
    for name, account in state.accounts.items():
        assert account.busy == sum(each.holds_slot for each in state.attempts.values() if each.account == name)
        assert account.level.agents >= 1
        for key, pause in account.pauses.items():
            item = ("open", name, key)
            assert pause.until == 0 or item in state.agenda.times, "a pause that never ends"


def will_open(state: State, batch: Batch) -> bool:
    """Its account has agents, whose end opens it, or a pause, whose end or a person does."""
    found = [state.accounts[name] for name in accounts.names_of(batch.profile)]
    return any(account.busy or account.pause_for(accounts.model_of(batch)) for account in found)


def check_waking(before: State, event: ev.NudgeStarted) -> None:
    """Nobody is woken for more than starting its job again costs, or inside of a closed window."""
    if event.reason != "again":
        return
    attempt = before.attempts[key_of(event)]
    assert event.waking == waking.priced(before, attempt, event.at)
    assert event.waking is None or event.waking.cost <= event.waking.instead
    pause = before.accounts[attempt.account].pause_for(attempt.usage.model)
    assert pause is None or 0 < pause.until <= event.at, "woken inside of a closed window"


def check_launch(before: State, name: str, model: str, at: float) -> None:
    account = before.accounts[name]
    assert not account.pause_for(model), "launched inside of a closed window"
    assert account.busy < account.level.agents, "launched above the level"
    assert not account.spec.slots or account.busy < account.spec.slots
    for limit in spending.limits(before, account, at):
        assert limit.spent + limit.reserved + limit.expected <= limit.most or not limit.spent + limit.reserved
    for window in account.windows.values():
        if window.resets_at > at:
            check_window(account.spec, window, at)


def check_window(spec: AccountSpec, window: WindowShare, at: float) -> None:
    mine = 1 - spec.leave
    assert not spec.leave or window.used < mine, "launched on a share that is left for people"
    over = 1 - (window.resets_at - at) / window.seconds
    assert not spec.pace or window.used <= mine * over + 1e-6, "launched ahead of the window's pace"
