"""Slots: how many agents may run, and where. Each pool is a semaphore, kept as numbers in the state."""

from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256

from supervisor.flow import canary, policy, rates
from supervisor.flow.governor import accounts, pressure, spending
from supervisor.model import event as ev
from supervisor.model.attempt import Attempt, AttemptKey
from supervisor.model.batch import Batch
from supervisor.model.pool import Pool
from supervisor.model.profile import Profile
from supervisor.model.state import State

#: How long a pool rests after its provider failed: doubles up to the limit.
REST_SECONDS, LONGEST_REST_SECONDS = 5.0, 300.0
#: reasons of a failed launch that are the provider's fault, not the job's
PROVIDER_FAULTS = frozenset({"provider", "missing", rates.REFUSED})
#: reasons that may be the host's fault: for this long, the pool's other hosts are preferred
HOST_FAULTS, AVOID_SECONDS = frozenset({"provider", "timeout", "not-started"}), 300.0
#: How long an agent needs its host beyond its time limit: before it for the launch, after it to fetch the work.
LAUNCHING_SECONDS, LEAVING_SECONDS = 600.0, 300.0


# --- the arithmetic


def taken(state: State, attempt: Attempt) -> State:
    pool, batch = state.pools[attempt.pool], state.batches[attempt.key.batch]
    pool = replace(pool, busy=pool.busy + 1)
    if attempt.host:
        pool = pool.with_member(attempt.host, +1)
    if attempt.new_host:
        pool = replace(pool, born=pool.born.set(attempt.host, attempt.started_at))
    return (
        rates.taken(accounts.taken(state, attempt), attempt)
        .with_pool(pool)
        .with_batch(replace(batch, busy=batch.busy + 1, agents=batch.agents + 1))
    )


def freed(state: State, attempt: Attempt) -> State:
    """Free the slot: the agent's work is safe, so another agent may start while this one is put away."""
    pool, batch = state.pools[attempt.pool], state.batches[attempt.key.batch]
    state = accounts.freed(state, attempt).with_pool(replace(pool, busy=pool.busy - 1, lingering=pool.lingering + 1))
    return state.with_batch(replace(batch, busy=batch.busy - 1))


def left(state: State, attempt: Attempt) -> State:
    """The agent is put away."""
    if attempt.holds_slot:
        state = freed(state, attempt)
    state = spending.ended(state, attempt)
    pool, batch = state.pools[attempt.pool], state.batches[attempt.key.batch]
    pool = replace(pool, lingering=pool.lingering - 1)
    if attempt.host:
        pool = pool.with_member(attempt.host, -1)
    return state.with_pool(pool).with_batch(replace(batch, agents=batch.agents - 1))


def pool_answered(state: State, attempt: Attempt, at: float) -> State:
    pool = state.pools[attempt.pool]
    avoided = pool.avoided.delete(attempt.host) if attempt.host in pool.avoided else pool.avoided
    return rates.answered(state, attempt, at).with_pool(replace(pool, failures=0, avoided=avoided, trouble=""))


def launch_failed(state: State, attempt: Attempt, event: ev.LaunchFailed) -> State:
    """If the provider is at fault, its pool rests: jobs wait or use the next pool of their profile.

    If the provider refused because of its launch rate, it is asked less often instead."""
    pool = state.pools[attempt.pool]
    if attempt.new_host:
        pool = replace(pool, broken=pool.broken | {attempt.host})
    elif attempt.host in pool.hosts and event.reason in HOST_FAULTS:
        pool = replace(pool, avoided=pool.avoided.set(attempt.host, event.at + AVOID_SECONDS))
    if event.reason == rates.REFUSED:
        return rates.refused(state, attempt, event.at).with_pool(pool)
    if event.reason not in PROVIDER_FAULTS:
        return state.with_pool(pool)
    if not pool.resting:
        rest = min(REST_SECONDS * 2 ** min(pool.failures, 10), LONGEST_REST_SECONDS)
        state = state.put(("rest", pool.name), event.at + rest)
        pool = replace(pool, failures=pool.failures + 1, resting=True, trouble=event.detail or event.reason)
    return state.with_pool(pool)


# --- the choice


def next_launch(state: State, now: float) -> ev.LaunchStarted | None:
    """The launch that is due now, if any. It needs all of these:

    - neither the queue nor the batch is paused, the batch's window is open, and a job waits
    - the batch holds fewer slots than its profile allows, and its canaries have come through or are this launch
    - one of its accounts is open for its model (`governor`)
    - one of its pools, tried in order, may have its code and has room, and the provider's rate allows what the
      launch creates

    Batches of higher priority go first; among equals, the one with the fewest agents, then the oldest.
    """
    for batch in sorted(launchable(state), key=lambda batch: (-batch.priority, batch.busy, batch.number)):
        if (account := accounts.open_for(state, batch, now)) is None:
            continue
        for pool in _pools(state, batch):
            launch = replace(_launch(state, batch, pool, now), account=account)
            if rates.has_token(state, pool, new_host=launch.new_host, now=now):
                return launch
    return None


def awaited(state: State, now: float = 0.0) -> set[str]:
    """The pools with room for which a job waits: once all that is due has begun, only for the provider's rate."""
    ready = (batch for batch in launchable(state) if accounts.open_for(state, batch, now) is not None)
    return {pool.name for batch in ready for pool in _pools(state, batch)}


def next_token_at(state: State, now: float) -> float | None:
    pools = (state.pools[name] for name in awaited(state, now))
    return min((rates.of(state, pool).next_at for pool in pools if not rates.is_full(state, pool)), default=None)


def _pools(state: State, batch: Batch) -> Iterator[Pool]:
    """The batch's pools with room, in order. A job waits for a configured rate, because its tokens come soon; if the
    rate was learned from refusals, the job may use the next pool."""
    for pool in (state.pools[name] for name in batch.profile.pools if name in state.pools):
        if pool.has_room and policy.may_use(batch.profile, pool):
            yield pool
            if (rate := rates.of(state, pool)).limit and not rate.learned:
                return


def launchable(state: State) -> Iterator[Batch]:
    """The batches with a job that could be launched, as far as the batch and the pools are concerned."""
    if state.paused or not any(pool.has_room for pool in state.pools.values()):
        return
    for batch in state.batches.values():
        waits = not batch.paused and batch.window_open and batch.next_waiting is not None
        if waits and canary.has_room(batch) and (not batch.profile.slots or batch.busy < batch.profile.slots):
            yield batch


def _launch(state: State, batch: Batch, pool: Pool, now: float) -> ev.LaunchStarted:
    number = batch.next_waiting
    assert number is not None
    attempt = batch.job(number).attempts + 1
    name = f"sv-{batch.id}-{number}-{attempt}"
    until = now + seconds_of_host(batch.profile, batch.seconds_of(number))
    host, new_host = _host(pool, f"{name}-host", now, until)
    return ev.LaunchStarted(
        at=now,
        batch=batch.id,
        job=number,
        attempt=attempt,
        agent_id=agent_id(state.installation, AttemptKey(batch.id, number, attempt)),
        agent_name=name,
        pool=pool.name,
        provider=pool.provider,
        host=host,
        new_host=new_host,
        continues=batch.job(number).continues,
    )


def agent_id(installation: str, key: AttemptKey) -> str:
    """The id is a function of the attempt, so that mngr refuses to create its agent twice."""
    return "agent-" + sha256(f"{installation}/{key}".encode()).hexdigest()[:32]


def seconds_of_host(profile: Profile, seconds: float) -> float:
    """The longest time for which an agent with this time limit needs its host: its tests may be run again there."""
    return LAUNCHING_SECONDS + seconds + (1 + profile.verify_runs) * profile.test_timeout_seconds + LEAVING_SECONDS


def _host(pool: Pool, new: str, now: float, until: float) -> tuple[str, bool]:
    """The pool's host with the fewest agents, avoided hosts last.

    If the provider creates hosts: one that has room and lives until `until`, otherwise a new one."""
    if pool.hosts:
        return min(pool.hosts, key=lambda host: (pool.avoided.get(host, 0) > now, pool.members.get(host, 0))), False
    if not pool.agents_per_host:
        return "", False
    for host, members in sorted(pool.members.items()):
        if members < pool.agents_per_host and host not in pool.broken and pool.lives_until(host) >= until:
            return host, False
    return new, True


# --- pools as configured


def configured(state: State, specs: tuple[ev.PoolSpec, ...]) -> State:
    """A pool that was removed from the configuration keeps its agents and gets no new ones."""
    known = {spec.name: spec for spec in specs}
    pools = state.pools
    for name, pool in state.pools.items():
        if name not in known:
            pools = pools.set(name, replace(pool, slots=0))
    for spec in specs:
        pool = pools.get(spec.name) or Pool(name=spec.name, provider=spec.provider, slots=spec.slots)
        pool = replace(pool, provider=spec.provider, slots=spec.slots)
        pool = replace(pool, hosts=spec.hosts, agents_per_host=spec.agents_per_host)
        pool = replace(pool, host_seconds=spec.host_seconds, build_args=spec.build_args)
        pool = replace(pool, auto=spec.auto, most=spec.slots)
        pool = pressure.fitted(state, pool) if spec.auto else pool
        pool = replace(pool, verify_slots=spec.verify_slots)
        pools = pools.set(spec.name, pool)
    return rates.configured(replace(state, pools=pools), specs)
