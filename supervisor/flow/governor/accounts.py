"""Which account an agent is launched on, and what each account holds.

An agent is launched on the first of its profile's accounts that has no pause for its model, serves more agents, and
can pay for one more. A program without a model has no account, and nothing here limits it.
"""

from dataclasses import replace

from immutables import Map

from supervisor.errors import ImpossibleTransition
from supervisor.flow import policy
from supervisor.flow.governor import hours, pauses, shares, spending
from supervisor.model import event as ev
from supervisor.model.account import NO_USE, Account, AccountSpec, Level, Pause
from supervisor.model.attempt import Attempt
from supervisor.model.batch import Batch
from supervisor.model.profile import Profile
from supervisor.model.state import State

#: The ending of an agent's variable that is a key: its tokens are paid for with money.
KEY_ENDING = "_API_KEY"
#: Agent types without a model, as far as is known: without a configured account nothing limits them.
UNMETERED = frozenset({"command", "rehearsal"})


def names_of(profile: Profile) -> tuple[str, ...]:
    """The accounts of a profile that its data policy allows, in order of preference; (): it needs none.

    The first one is allowed, or the batch would have been refused."""
    if profile.accounts:
        return tuple(name for name in profile.accounts if policy.may_use_account(profile, name))
    return () if profile.agent in UNMETERED else (profile.agent,)


def known(state: State, profile: Profile) -> State:
    """Add the profile's accounts. One that is not configured is paid for with money if its agents have a key."""
    has_key = any(variable.endswith(KEY_ENDING) for variable in profile.env)
    for name in names_of(profile):
        if name not in state.accounts:
            state = state.with_account(Account.new(AccountSpec(name, is_paid=has_key, timezone=profile.timezone)))
    return state


def paused_seconds(state: State, profile: Profile, at: float) -> Map[str, float]:
    """For how long the accounts of a profile have been paused so far, by reason, added up over its accounts."""
    found: dict[str, float] = {}
    for account in (state.accounts[name] for name in names_of(profile) if name in state.accounts):
        for reason, seconds in account.paused_seconds.items():
            found[reason] = found.get(reason, 0.0) + seconds
        for pause in account.pauses.values():
            found[pause.reason] = found.get(pause.reason, 0.0) + max(0.0, at - pause.since)
    return Map(found)


def held_up(state: State, batch: Batch, at: float) -> Map[str, float]:
    """For how long the batch's accounts have been paused since it was submitted, by reason."""
    before, now = batch.paused_before, paused_seconds(state, batch.profile, at)
    more = {reason: seconds - before.get(reason, 0.0) for reason, seconds in now.items()}
    return Map({reason: seconds for reason, seconds in more.items() if seconds > 0})


def open_for(state: State, batch: Batch, now: float) -> str | None:
    """The account for the batch's next agent; "": it needs none; None: all of them hold it back."""
    names = names_of(batch.profile)
    return next((name for name in names if not held(state, batch, name, now)), None) if names else ""


def held(state: State, batch: Batch, name: str, now: float) -> str:
    """Why an account takes no further agent of this batch now, in one sentence; "": it does."""
    account = state.accounts[name]
    if (pause := account.pause_for(model_of(batch))) is not None:
        return pauses.told(account, pause)
    if account.busy >= account.most:
        return f"the account {name} serves {account.most} agents at a time: {account.level.why}"
    return spending.short(state, account, now)


def model_of(batch: Batch) -> str:
    """The model that its agents' arguments name, or else the last one that answered; "": not known yet."""
    return policy.model_of(batch.profile) or batch.usage.model


def for_a_person(state: State, batch: Batch) -> tuple[Account, Pause] | None:
    """The first account of the batch, if all of them wait for a person."""
    found = []
    for name in names_of(batch.profile):
        pause = state.accounts[name].pause_for(model_of(batch))
        if pause is None or not pause.needs_a_person:
            return None
        found.append((state.accounts[name], pause))
    return found[0] if found else None


# --- what each holds


def taken(state: State, attempt: Attempt) -> State:
    if not attempt.account:
        return state
    account = state.accounts[attempt.account]
    return state.with_account(replace(account, busy=account.busy + 1))


def freed(state: State, attempt: Attempt) -> State:
    if (account := state.accounts.get(attempt.account)) is None:
        return state
    return state.with_account(replace(account, busy=account.busy - 1))


def equipped(state: State, attempt: Attempt) -> Batch:
    """The attempt's batch, with what its account adds to the environment of its agents."""
    batch = state.batches[attempt.key.batch]
    if (account := state.accounts.get(attempt.account)) is None or not account.spec.env:
        return batch
    return replace(batch, profile=replace(batch.profile, env={**batch.profile.env, **account.spec.env}))


# --- accounts as configured


def on_configured(state: State, event: ev.AccountsConfigured) -> State:
    """An account that was removed keeps what is known of it, and loses its limits."""
    state = replace(state, budget=event.budget, configured_accounts=event.accounts)
    specs = {spec.name: spec for spec in event.accounts}
    for name, account in state.accounts.items():
        spec = specs.get(name) or AccountSpec(name, is_paid=account.spec.is_paid, timezone=account.spec.timezone)
        level = account.level if account.level.round else Level(spec.first)
        state = state.with_account(replace(account, spec=spec, level=level))
    for name in specs.keys() - state.accounts.keys():
        state = state.with_account(Account.new(specs[name]))
    for name, account in state.accounts.items():
        state = hours.scheduled(state, account, event.at)
        if NO_USE in account.pauses:
            state = state.put(("open", name, NO_USE), event.at)
    return spending.reconsidered(state, event.at)


# --- what providers report of their windows


def on_window_seen(state: State, event: ev.AccountWindowSeen) -> State:
    """A pause that the windows now require becomes due; one that they no longer require ends."""
    if (account := state.accounts.get(event.account)) is None:
        raise ImpossibleTransition(f"there is no account {event.account}")
    before = shares.lacking(state, account, event.at)
    account = replace(account, windows=Map(shares.after(account, event)))
    state = state.with_account(account)
    after = shares.lacking(state, account, event.at)
    return state if before == after else spending.reconsidered(state, event.at)
