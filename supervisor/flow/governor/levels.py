"""How many agents an account serves at a time: a level that is found by trial.

Theory of operation. A level rises when as many agents as it allows were answered since its last change, and all of
them are needed. There are three ways up:

    at first        it doubles, until a request is refused. Refusals are known late, because agents' programs retry
                    by themselves before they report one; so the more agents there are, the longer the wait before
                    the next doubling.
    back            after a fall it recovers half of the distance to the known level after each quiet minute.
    beyond          it stays at the known level, then rises above it by one, and then ever faster, as TCP CUBIC does:
                    after a quarter of an hour it is one above, after half an hour eight.

When the provider refuses requests for their rate, the level falls to a part of the agents at work, once for an
episode. A fall ends no agent. So a refusal while more agents are at work than the level allows was caused before the
fall, or by a storm: the level falls further, and the known level stays. A refusal with no more agents at work than
the level allows lowers the known level: by one, if so many had been served for a while, otherwise to a part of the
agents. A pause for anything but the rate does not count as time on the curve, because it shows nothing.
"""

from dataclasses import replace
from math import cbrt, ceil, floor

from supervisor.errors import ImpossibleTransition
from supervisor.model import event as ev
from supervisor.model.account import Account, Level
from supervisor.model.attempt import AttemptKey
from supervisor.model.state import State

#: Refusals within this time of the last fall are of the same episode.
EPISODE_SECONDS = 60.0
#: By then the effect of a level is known: programs were refused three times, and their agents had fallen quiet.
HEARD_SECONDS = 300.0
#: The wait for each agent before the next doubling: the more agents there are, the more is at stake.
LISTEN_SECONDS = 15.0
#: what is left of the level after a refusal
KEPT_SHARE = 0.6
#: The share of the agents at work that counts as served: more are at work when a refusal is known than when it came.
SERVED_SHARE = 0.88
#: The same after a doubling: the limit may be anywhere above the level before.
DOUBLED_SHARE = 0.75
#: the share of the distance to the known level that is recovered after a quiet minute
BACK_SHARE = 0.5
#: The level is one above the known one so long after it came back there, eight above after twice as long.
PROBE_SECONDS = 900.0
#: the largest step above it is the level divided by this
STEPS = 12


def raised(level: Level, now: float) -> int:
    if not level.known:
        return level.agents * 2
    if level.agents < level.known:
        return level.agents + ceil((level.known - level.agents) * BACK_SHARE)
    most = level.agents + max(1, level.agents // STEPS)
    return max(level.agents + 1, min(most, floor(level.known + ((now - level.back_at) / PROBE_SECONDS) ** 3)))


def _due(level: Level, at: float) -> float:
    """When the level rises, if no request is refused until then."""
    if not level.known:
        return max(at, level.changed_at + LISTEN_SECONDS * level.agents * (level.round > 0))
    if level.agents < level.known:
        return at + EPISODE_SECONDS
    return max(at, level.back_at + PROBE_SECONDS * cbrt(level.agents + 1 - level.known))


def rested(level: Level, seconds: float) -> Level:
    """The level after a pause of so many seconds: that time showed nothing, so the level does not rise for it."""
    return replace(
        level,
        lowered_at=level.lowered_at and level.lowered_at + seconds,
        back_at=level.back_at and level.back_at + seconds,
    )


def served(state: State, key: AttemptKey, at: float) -> State:
    """The model answered the agent; the agent counts once for each level."""
    held = state.attempts.get(key)
    account = state.accounts.get(held.account) if held is not None else None
    if account is None or held is None:
        return state
    if held.round != account.level.round:
        state = state.with_attempt(replace(held, round=account.level.round))
        account = replace(account, level=replace(account.level, served=account.level.served + 1))
        state = state.with_account(account)
    return _tried(state, account, at)


def _tried(state: State, account: Account, at: float) -> State:
    level, item = account.level, ("raise", account.name)
    is_tried = level.served >= level.agents <= account.busy and not account.pauses
    if not is_tried or item in state.agenda.times or (account.spec.slots and level.agents >= account.spec.slots):
        return state
    return state.put(item, _due(level, at))


def refused(state: State, account: Account, at: float) -> State:
    """A request was refused for its rate: the level falls, unless it has just fallen."""
    level = replace(account.level, refused=account.level.refused + 1)
    state = state.with_account(replace(state.accounts[account.name], level=level))
    if level.lowered_at and at < level.lowered_at + EPISODE_SECONDS:
        return state
    return state.put(("lower", account.name), at)


def raise_(state: State, name: str, now: float) -> ev.LevelChanged:
    level = state.accounts[name].level
    return ev.LevelChanged(now, name, raised(level, now), _why_raised(level))


def _why_raised(level: Level) -> str:
    served = f"all {level.agents} agents were served"
    if not level.known:
        return served
    return f"{served}, as {level.known} were before" if level.agents < level.known else f"{served} for a while"


def lower(state: State, name: str, now: float) -> ev.LevelChanged:
    account = state.accounts[name]
    at_work = max(1, min(account.level.agents, account.busy))
    reason = f"requests of {at_work} agents were refused for their rate"
    agents = min(int(at_work * KEPT_SHARE), _known(account, now))
    return ev.LevelChanged(now, name, max(1, agents), reason, refused=True)


def _known(account: Account, at: float) -> int:
    """How many agents are served, as far as a refusal shows it now."""
    level, at_work = account.level, min(account.level.agents, account.busy)
    if not level.known:
        return max(1, round(at_work * (DOUBLED_SHARE if level.round else SERVED_SHARE)))
    if account.busy > level.agents:
        return level.known
    least = level.known - 1 if level.back_at and at > level.back_at + HEARD_SECONDS else 1
    return max(1, least, round(at_work * SERVED_SHARE))


def on_changed(state: State, event: ev.LevelChanged) -> State:
    if (account := state.accounts.get(event.account)) is None:
        raise ImpossibleTransition(f"there is no account {event.account}")
    was, agents = account.level, max(1, event.agents)
    # A replay begins with the last change before it, when no agent is at work.
    known = max(agents, _known(account, event.at)) if event.refused else was.known
    level = Level(
        agents=agents,
        known=known,
        back_at=0.0 if agents < known else was.back_at or event.at,
        changed_at=event.at,
        lowered_at=event.at if event.refused else was.lowered_at,
        why=event.reason,
        round=was.round + 1,
    )
    return state.with_account(replace(account, level=level)).drop(("raise", account.name), ("lower", account.name))
