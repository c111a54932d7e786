"""Launch rates: how often each provider is asked for a new host or agent, and how its refusals change that.

Each creation takes a token: a new host if the provider makes hosts, otherwise a new agent. No more creations are
begun than the device requests at once, because those that waited there would come in a burst. When the provider
refuses a launch for its rate, the rate is halved, once for all launches that were under way; when it accepts launches
again, the rate grows back step by step. Both changes are events, so the rate survives a restart.
"""

from dataclasses import replace

from supervisor.model import event as ev
from supervisor.model.attempt import Attempt, Stage
from supervisor.model.pool import Pool
from supervisor.model.rate import Rate
from supervisor.model.state import State

#: the reason of a launch that its provider refused for its rate
REFUSED = "rate"
#: the most creations under way at a provider with a rate
HOSTS_AT_ONCE, AGENTS_AT_ONCE = 16, 4
#: After this time, a rate that works is raised by this factor.
PROBE_SECONDS, PROBE_FACTOR = 20.0, 1.25
#: For a provider without a configured rate: the rate assumed when it refuses, and the rate that ends the assumption.
UNKNOWN_RATE, FORGOTTEN_RATE = 4.0, 32.0
#: No rate falls below one creation a minute.
LOWEST_RATE = 1 / 60


def of(state: State, pool: Pool) -> Rate:
    return state.rates.get(pool.provider, Rate())


def has_token(state: State, pool: Pool, *, new_host: bool, now: float) -> bool:
    if not (rate := of(state, pool)).per_second or not _costs(pool, new_host=new_host):
        return True
    return rate.next_at <= now and not is_full(state, pool)


def is_full(state: State, pool: Pool) -> bool:
    """Whether the next creation waits for one that is under way."""
    launching = (each for each in state.attempts.values() if each.stage is Stage.LAUNCHING)
    ours = sum(each.provider == pool.provider and _is_creation(state, each) for each in launching)
    return ours >= (HOSTS_AT_ONCE if pool.agents_per_host else AGENTS_AT_ONCE)


def taken(state: State, attempt: Attempt) -> State:
    if not _is_creation(state, attempt):
        return state
    rate = state.rates.get(attempt.provider, Rate())
    return _with(state, attempt.provider, rate.taken(attempt.started_at))


def _is_creation(state: State, attempt: Attempt) -> bool:
    return _costs(state.pools[attempt.pool], new_host=attempt.new_host)


def _costs(pool: Pool, *, new_host: bool) -> bool:
    return new_host or not pool.agents_per_host


# --- how refusals and successes change the rate


def refused(state: State, attempt: Attempt, at: float) -> State:
    """Launches that had begun before the rate was lowered say nothing about the new one."""
    rate = state.rates.get(attempt.provider, Rate())
    return state if attempt.started_at <= rate.learned_at else state.put(("slow-down", attempt.provider), at)


def answered(state: State, attempt: Attempt, at: float) -> State:
    rate = state.rates.get(attempt.provider, Rate())
    item = ("speed-up", attempt.provider)
    if not rate.learned or attempt.started_at <= rate.learned_at or item in state.agenda.times:
        return state
    return state.put(item, max(at, rate.learned_at + PROBE_SECONDS))


def slowed(state: State, provider: str, now: float) -> ev.LaunchRateChanged:
    rate = state.rates.get(provider, Rate()).per_second or UNKNOWN_RATE
    return ev.LaunchRateChanged(now, provider, max(rate / 2, min(rate, LOWEST_RATE)), refused=True)


def quickened(state: State, provider: str, now: float) -> ev.LaunchRateChanged:
    rate = state.rates.get(provider, Rate())
    grown = rate.learned * PROBE_FACTOR
    return ev.LaunchRateChanged(now, provider, grown if grown < (rate.limit or FORGOTTEN_RATE) else 0.0)


def on_launch_rate_changed(state: State, event: ev.LaunchRateChanged) -> State:
    state = state.drop(("slow-down", event.provider), ("speed-up", event.provider))
    return _with(state, event.provider, state.rates.get(event.provider, Rate()).changed(event.rate, event.at))


# --- rates as configured


def configured(state: State, specs: tuple[ev.PoolSpec, ...]) -> State:
    limits = {spec.provider: spec.launch_rate for spec in specs}
    for provider in {*limits, *state.rates}:
        rate = state.rates.get(provider, Rate()).configured(limits.get(provider, 0.0))
        state = _with(state, provider, rate)
    return state


def restarted(state: State, at: float) -> State:
    """No launch waits for a time that was computed before the clock was set back."""
    for provider, rate in state.rates.items():
        state = _with(state, provider, replace(rate, full_at=min(rate.full_at, rate.emptied(at).full_at)))
    return state


def _with(state: State, provider: str, rate: Rate) -> State:
    return replace(state, rates=state.rates.set(provider, rate))
