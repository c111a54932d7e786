"""How many agents an account serves at a time: the number finds its level.

Theory of operation. The level rises when as many agents as it has were answered since its last change, and all of
them are needed. Until the first refusal it doubles, but first waits for refusals of the last level: agents' programs
try again by themselves before they say so. When the provider refuses requests for their rate, the level falls to a
part of the agents at work, once for an episode, and what was then too many is its ceiling. From there on it follows
a cubic curve in time, as TCP CUBIC does: back quickly, long just below the ceiling, and then beyond it ever faster,
so that a ceiling that a passing storm has made is soon forgotten. A refusal far below the ceiling only half replaces
it. A fall ends no agent, so what is refused while more agents are at work than the level allows was caused before it
and counts for little. A pause of the account is no time of the curve, because it shows nothing.
"""

from dataclasses import replace
from math import cbrt, floor

from supervisor.errors import ImpossibleTransition
from supervisor.model import event as ev
from supervisor.model.account import Account, Level
from supervisor.model.attempt import AttemptKey
from supervisor.model.state import State

#: Refusals within this time of the last fall are of the same episode; within the second one, as long as more agents
#: are at work than the level allows.
EPISODE_SECONDS, DRAIN_SECONDS = 60.0, 300.0
#: What a level does is heard by then: its programs were refused three times, and the agents had fallen quiet.
HEARD_SECONDS = 240.0
#: what is left of the agents at work after a refusal
KEPT_SHARE = 0.7
#: What share of the agents at work were too many: by the time that a refusal is heard there are more than were.
CAUSED_SHARE = 0.95
#: The same after a doubling: it may have been the level before.
DOUBLED_SHARE = 0.62
#: from this share of the ceiling on, a refusal is one of that ceiling
NEAR_SHARE = 0.85
#: The level is one beyond the ceiling so long after it came back there, eight beyond after twice as long.
PROBE_SECONDS = 540.0
#: the largest step beyond the ceiling, as a part of the level
STEPS = 12


def raised(level: Level, now: float) -> int:
    if not level.ceiling:
        return level.agents * 2
    most = max(level.ceiling, level.agents + max(1, level.agents // STEPS))
    return max(level.agents + 1, min(most, floor(_curve(level, now))))


def _shift(level: Level) -> float:
    return cbrt(level.ceiling - level.low)


def _curve(level: Level, now: float) -> float:
    """The level at a time: it comes back fast, stays near the ceiling, and leaves it ever faster."""
    return level.ceiling + ((now - level.lowered_at) / PROBE_SECONDS - _shift(level)) ** 3


def _due(level: Level) -> float:
    """When the curve reaches the next level."""
    if not level.ceiling:
        return level.changed_at + HEARD_SECONDS * (level.round > 0)
    seconds = PROBE_SECONDS * (_shift(level) + cbrt(level.agents + 1 - level.ceiling))
    return level.lowered_at + max(seconds, EPISODE_SECONDS)


def rested(level: Level, seconds: float) -> Level:
    """The account was paused for so long: that time has shown nothing, and the level does not rise for it."""
    return replace(level, lowered_at=level.lowered_at + seconds) if level.lowered_at else level


def served(state: State, key: AttemptKey, at: float) -> State:
    """The agent was answered by its model; it counts once for each level."""
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
    return state.put(item, max(at, _due(level)))


def refused(state: State, account: Account, at: float) -> State:
    """For the rate: the level falls, unless it has just done so."""
    level = replace(account.level, refused=account.level.refused + 1)
    state = state.with_account(replace(state.accounts[account.name], level=level))
    episode = DRAIN_SECONDS if account.busy > level.agents else EPISODE_SECONDS
    if level.lowered_at and at < level.lowered_at + episode:
        return state
    return state.put(("lower", account.name), at)


def raise_(state: State, name: str, now: float) -> ev.LevelChanged:
    level = state.accounts[name].level
    return ev.LevelChanged(now, name, raised(level, now), f"all {level.agents} agents were served")


def lower(state: State, name: str, now: float) -> ev.LevelChanged:
    account = state.accounts[name]
    at_work = max(1, min(account.level.agents, account.busy))
    reason = f"requests of {at_work} agents were refused for their rate"
    return ev.LevelChanged(now, name, max(1, int(_too_many(account) * KEPT_SHARE)), reason, refused=True)


def _too_many(account: Account) -> int:
    """The agents that were refused: after a doubling fewer, because refusals are heard late."""
    level = account.level
    is_doubled = level.round and not level.ceiling
    return max(1, min(round(level.agents * DOUBLED_SHARE) if is_doubled else level.agents, account.busy))


def _ceiling(account: Account) -> int:
    was, too_many = account.level.ceiling, _too_many(account)
    heard = max(1, round(too_many * CAUSED_SHARE))
    return heard if too_many >= NEAR_SHARE * was else (was + heard) // 2


def on_changed(state: State, event: ev.LevelChanged) -> State:
    if (account := state.accounts.get(event.account)) is None:
        raise ImpossibleTransition(f"there is no account {event.account}")
    was = account.level
    level = Level(
        agents=max(1, event.agents),
        ceiling=_ceiling(account) if event.refused else was.ceiling,
        low=max(1, event.agents) if event.refused else was.low,
        changed_at=event.at,
        lowered_at=event.at if event.refused else was.lowered_at,
        why=event.reason,
        round=was.round + 1,
    )
    return state.with_account(replace(account, level=level)).drop(("raise", account.name), ("lower", account.name))
