"""The hours in which only people use an account: `no_use = "9:00-18:00"`."""

from supervisor.flow import window
from supervisor.model import event as ev
from supervisor.model.account import NO_USE, Account
from supervisor.model.state import State


def scheduled(state: State, account: Account, at: float) -> State:
    """Make the next check due when the hours begin, or at once if they have begun."""
    item, spec = ("hours", account.name), account.spec
    if not spec.no_use:
        return state.drop(item)
    is_theirs, until = window.look(spec.no_use, spec.timezone, at)
    return state.put(item, at if is_theirs else until)


def begin(state: State, name: str, now: float) -> ev.AccountPaused:
    spec = state.accounts[name].spec
    is_theirs, until = window.look(spec.no_use, spec.timezone, now)
    detail = f"people use it at {spec.no_use}"
    return ev.AccountPaused(now, name, NO_USE, until if is_theirs else now, detail=detail)
