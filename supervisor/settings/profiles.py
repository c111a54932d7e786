"""Resolving profiles with what they inherit, and pools as the core needs them."""

import os
from collections.abc import Mapping
from difflib import get_close_matches
from functools import reduce
from types import MappingProxyType
from typing import Any

from supervisor.errors import Misconfigured, NoSuchThing
from supervisor.kinds import kind_of, unwalled
from supervisor.model.event import PoolSpec
from supervisor.model.profile import Profile
from supervisor.settings.pools import PoolTable
from supervisor.settings.tables import ProfileTable, Settings
from supervisor.settings.values import timezone_name

NO_LIFETIMES: Mapping[str, float] = MappingProxyType({})


def resolve(settings: Settings, name: str) -> Profile:
    """The profile of that name, with what it inherits. `default` always exists."""
    table = _inherited(settings, name)
    pools = [pool.name for pool in settings.pools]
    verifying = [pool for pool in table.verify_pools if pool != "local"]  # this machine, whatever pools there are
    if unknown := [pool for pool in (*table.pools, *verifying) if pool not in pools]:
        raise Misconfigured(
            f"profile {name} uses the pool {unknown[0]}, which is not configured",
            hint=f"the pools are: {', '.join(pools) or 'none'}",
        )
    named = table.accounts or ((table.account,) if table.account else ())
    if unknown := [account for account in named if account not in settings.accounts]:
        raise Misconfigured(
            f"profile {name} uses the account {unknown[0]}, which is not configured",
            hint=f"the accounts are: {', '.join(settings.accounts) or 'none'}",
        )
    if table.agent == "command" and not table.command:
        raise Misconfigured(
            f'profile {name} has agent = "command" but no command', hint="set `command` to the argv of the program"
        )
    if table.hold_siblings and (table.survey != "full" or not table.verify_runs):
        raise Misconfigured(
            f"profile {name} has hold_siblings, and only a survey tells which tests fail at the same place",
            hint='say survey = "full" with verify_runs = 1 or more, or leave out hold_siblings',
        )
    if "agent_args" not in table.model_fields_set:
        table = table.model_copy(update={"agent_args": kind_of(table.agent).args})
    values = table.model_dump(exclude={"inherits", "integrate_at", "account"}) | {"accounts": named}
    early = table.integrate_at
    values |= {"integrate_share": early.share or 0.0, "integrate_after_seconds": early.after or 0.0}
    values |= {key: tuple(map(str, values[key])) for key in ("sandbox_read", "sandbox_write")}
    values |= {"budget_tokens": table.budget_tokens or 0, "budget_dollars": table.budget_dollars or 0.0}
    profile = Profile(**values | {"name": name, "timezone": table.timezone or local_timezone()})
    if profile.agent_walls == "require" and (why := unwalled(profile)):
        raise Misconfigured(
            f"profile {name} requires walls around agents: {why}", hint='say agent_walls = "auto" or "off"'
        )
    return profile


def _inherited(settings: Settings, name: str) -> ProfileTable:
    chain: list[str] = []
    said: list[dict[str, Any]] = []
    while name or not chain:
        if name in chain:
            raise Misconfigured(
                f"profile {chain[0]} inherits itself: {' → '.join([*chain, name])}",
                hint="remove one `inherits` of the cycle",
            )
        table = settings.profiles.get(name)
        if table is None and name != "default":
            raise _no_profile(settings, name, chain)
        table = table or ProfileTable()
        said.append(table.model_dump(exclude_unset=True))
        chain.append(name)
        name = table.inherits
    return ProfileTable.model_validate(reduce(_over, reversed(said)))


def _over(inherited: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """Own values override inherited ones; variables of `env` are inherited one by one."""
    env = {**inherited.get("env", {}), **own.get("env", {})}
    was = inherited.get("agent", ProfileTable().agent)
    if own.get("agent", was) != was:
        inherited = {key: value for key, value in inherited.items() if key != "agent_args"}  # of another kind
    return inherited | own | ({"env": env} if env else {})


def _no_profile(settings: Settings, name: str, chain: list[str]) -> Misconfigured | NoSuchThing:
    known = sorted({"default", *settings.profiles})
    near = get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"the profiles are: {', '.join(known)}"
    if chain:
        return Misconfigured(f"profile {chain[-1]} inherits {name}, which does not exist", hint=hint)
    return NoSuchThing(f"there is no profile {name or "''"}", hint=hint)


#: The launch rates of providers whose pools say none. An account of Modal takes 5 sandboxes a second or more.
LAUNCH_RATES = {"modal": 4.0}


def launch_rates(settings: Settings) -> dict[str, float]:
    """By provider. Raises Misconfigured if its pools say different ones."""
    said: dict[str, PoolTable] = {}
    for pool in (each for each in settings.pools if each.launch_rate is not None):
        other = said.setdefault(pool.provider, pool)
        if other.launch_rate != pool.launch_rate:
            both = f"{other.launch_rate:g} in pool {other.name} and {pool.launch_rate:g} in pool {pool.name}"
            raise Misconfigured(
                f"the launch_rate of provider {pool.provider} is {both}", hint="it is one for all pools of a provider"
            )
    if far := [pool for pool in settings.pools if pool.slots == "auto" and (pool.provider != "local" or pool.hosts)]:
        hint = "set a number: only of this machine it is known how many agents it has room for"
        raise Misconfigured(f'pool {far[0].name} has slots = "auto", but is not on this machine', hint=hint)
    return LAUNCH_RATES | {name: pool.launch_rate for name, pool in said.items() if pool.launch_rate is not None}


#: The most that this machine is believed to have room for.
MOST_SLOTS = 200


def pool_specs(settings: Settings, lifetimes: Mapping[str, float] = NO_LIFETIMES) -> tuple[PoolSpec, ...]:
    """`lifetimes` has, by pool, how many seconds its new hosts live, where that is known."""
    rates = launch_rates(settings)

    def spec(pool: PoolTable) -> PoolSpec:
        makes_hosts = pool.provider != "local" and not pool.hosts
        return PoolSpec(
            name=pool.name,
            provider=pool.provider,
            slots=MOST_SLOTS if pool.slots == "auto" else pool.slots,
            auto=pool.slots == "auto",
            hosts=pool.hosts,
            agents_per_host=pool.agents_per_host if makes_hosts else 0,
            launch_rate=rates.get(pool.provider, 0.0),
            host_seconds=lifetimes.get(pool.name, 0.0) if makes_hosts else 0.0,
            build_args=pool.build_args if makes_hosts else (),
            verify_slots=pool.verify_slots or 0,
        )

    return tuple(spec(pool) for pool in settings.pools)


def local_timezone() -> str:
    """The IANA name of this machine's time zone."""
    found = os.environ.get("TZ", "").lstrip(":")
    if not found:
        link = os.path.realpath("/etc/localtime")
        found = link.partition("zoneinfo/")[2]
    try:
        return timezone_name(found)
    except ValueError:
        return "UTC"
