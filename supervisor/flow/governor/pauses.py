"""Pauses of accounts: a provider refuses, and nothing is launched on that account until it serves again.

Theory of operation. A refusal takes effect at once, and the first agent that is refused speaks for all:

    window      the account is paused until the reset that the provider names, and a little longer; if it names none,
                longer each time
    rate        the level falls (`levels`); the account is paused for as long as the provider says
    overload    the account is paused, longer each time; its level stays
    login,      until a person resumes it, or one of its agents is served again
    credit

A pause of a model holds only agents of that model. Agents at work sleep meanwhile, if it costs less to wake them up
than to start their jobs again (`sleeping`). A refusal never counts as a failure of the job.
"""

from dataclasses import replace
from datetime import UTC, datetime

from immutables import Map

from supervisor.errors import ImpossibleTransition
from supervisor.flow.governor import hours, levels, sleeping, wrapping
from supervisor.model import event as ev
from supervisor.model.account import CAP, NO_USE, PACE, Account, Objection, Pause
from supervisor.model.attempt import Attempt
from supervisor.model.hindrance import FOR_A_PERSON, WAITED_OUT, Hindrance
from supervisor.model.state import State

#: The first pause if the provider names no time, and the longest: it doubles each time.
FIRST_SECONDS = {Hindrance.WINDOW: 900.0, Hindrance.RATE: 20.0, Hindrance.OVERLOAD: 15.0}
LONGEST_SECONDS = {Hindrance.WINDOW: 3600.0, Hindrance.RATE: 300.0, Hindrance.OVERLOAD: 600.0}
#: A later end than this is not believed: a week, and a day.
MOST_SECONDS = 8 * 86400.0
#: A pause ends up to this much later than the provider says: clocks differ, and others wait for the same moment.
JITTER_SECONDS = {Hindrance.WINDOW: 60.0, Hindrance.RATE: 5.0, Hindrance.OVERLOAD: 5.0}

WHY = {
    Hindrance.WINDOW: "has used up what it may use for now",
    Hindrance.RATE: "is asked too often",
    Hindrance.OVERLOAD: "is not served, because its provider is overloaded",
    Hindrance.LOGIN: "is refused, because its login is not valid",
    Hindrance.CREDIT: "has no credit left",
    CAP: "has no budget for another agent",
    NO_USE: "is left for people",
    PACE: "is ahead of its pace",
}


def key_of(reason: str, model: str) -> str:
    return f"{reason}/{model}" if model else reason


# --- a refusal


def hindered(state: State, attempt: Attempt, event: ev.AgentHindered) -> State:
    """An agent was refused, or (`problem` "") is served again."""
    if (account := state.accounts.get(attempt.account)) is None:
        return state
    if not event.problem:
        return _served_again(state, account, event.at)
    if event.problem not in WAITED_OUT | FOR_A_PERSON:
        return state
    told = Objection(event.problem, event.at, event.until, event.model, event.detail)
    key = key_of(event.problem, event.model)
    known = account.pauses.get(key)
    # A refusal during a pause tells nothing new, unless it names a later end.
    if known is None or 0 < known.until < told.until:
        account = replace(account, objections=account.objections.set(key, told))
        state = state.with_account(account).put(("pause", account.name, key), event.at)
    return levels.refused(state, account, event.at) if event.problem == Hindrance.RATE else state


def pause(state: State, name: str, key: str, now: float) -> ev.AccountPaused:
    """The pause that follows from a refusal."""
    account = state.accounts[name]
    told, tries = account.objections[key], account.tries.get(account.objections[key].problem, 0)
    until = 0.0 if told.problem in FOR_A_PERSON else _end(state, account, told)
    tries += key not in account.pauses
    return ev.AccountPaused(now, name, told.problem, until, told.model, told.detail, tries)


def _end(state: State, account: Account, told: Objection) -> float:
    problem = Hindrance(told.problem)
    tries = account.tries.get(problem, 0)
    end = told.at + min(FIRST_SECONDS[problem] * 2.0 ** min(tries, 10), LONGEST_SECONDS[problem])
    if told.until > told.at:
        end = min(told.until, told.at + MOST_SECONDS)
    return end + JITTER_SECONDS[problem] * sleeping.jitter(state.installation, account.name, round(end))


def _served_again(state: State, account: Account, at: float) -> State:
    for pause in account.pauses.values():
        if pause.needs_a_person:
            state = state.put(("open", account.name, key_of(pause.reason, pause.model)), at)
    return state


def served(state: State, name: str) -> State:
    """The account serves again: the next refusal counts as the first one."""
    account = state.accounts.get(name)
    if account is None or account.pauses or not account.tries:
        return state
    return state.with_account(replace(account, tries=Map()))


# --- what has happened


def _account(state: State, name: str) -> Account:
    if (account := state.accounts.get(name)) is None:
        raise ImpossibleTransition(f"there is no account {name}")
    return account


def on_paused(state: State, event: ev.AccountPaused) -> State:
    account = _account(state, event.account)
    key = key_of(event.reason, event.model)
    known = account.pauses.get(key)
    since = known.since if known is not None else event.at
    pause = Pause(event.reason, since, event.until, event.model, event.detail, event.tries)
    objections = account.objections.delete(key) if key in account.objections else account.objections
    account = replace(account, pauses=account.pauses.set(key, pause), objections=objections)
    account = replace(account, tries=account.tries.set(event.reason, event.tries))
    state = state.with_account(account).drop(("pause", account.name, key), ("raise", account.name))
    item = ("open", account.name, key)
    state = state.put(item, event.until) if event.until else state.drop(item)
    if event.reason == CAP:
        state = state.drop(("cap", account.name))
        is_new = event.until > event.at and (known is None or known.until <= event.at)
        state = wrapping.wrapped_up(state, account, event.at) if is_new else state
    elif event.reason == NO_USE:
        state = state.drop(("hours", account.name))
    return sleeping.through(state, account, event.at)


def opened(state: State, name: str, key: str, now: float) -> ev.AccountOpened:
    pause = state.accounts[name].pauses[key]
    return ev.AccountOpened(now, name, pause.reason, pause.model)


def on_opened(state: State, event: ev.AccountOpened) -> State:
    account = _account(state, event.account)
    key = key_of(event.reason, event.model)
    if (pause := account.pauses.get(key)) is None:
        raise ImpossibleTransition(f"the account {account.name} is not paused for that")
    seconds = account.paused_seconds.get(event.reason, 0.0) + event.at - pause.since
    account = replace(
        account, pauses=account.pauses.delete(key), paused_seconds=account.paused_seconds.set(event.reason, seconds)
    )
    if event.reason != Hindrance.RATE:  # that one is about the level
        account = replace(account, level=levels.rested(account.level, event.at - pause.since))
    state = state.with_account(account).drop(("open", account.name, key))
    state = sleeping.woken(state, account, event.reason, event.at)
    if event.reason == CAP:
        return wrapping.spared(state, account)
    return hours.scheduled(state, account, event.at) if event.reason == NO_USE else state


def told(account: Account, pause: Pause) -> str:
    """In one sentence, with what a person can do."""
    if pause.needs_a_person:
        return f"{why(account, pause)}; solve that, then run `supervisorctl resume`"
    until = datetime.fromtimestamp(pause.until, UTC)
    return f"{why(account, pause)}; it is used again from {until:%Y-%m-%d %H:%M:%S} UTC on"


def why(account: Account, pause: Pause) -> str:
    whose = f"the account {account.name}" + (f" ({pause.model})" if pause.model else "")
    return f"{whose} {WHY[pause.reason]}" + (f" ({pause.detail})" if pause.detail else "")
