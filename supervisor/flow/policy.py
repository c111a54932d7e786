"""The data policy: a batch starts no agent where the code of its repository may not go.

Theory of operation. A batch keeps the policy that held when it was submitted. Its submission is refused if what it
would use first is denied: its first pool, its first account, its model, a pool in which it is to be verified. Denied
pools and accounts that are only for overflow are skipped; so is a pool that later gets another provider. Without a
policy, everything is allowed.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise

from supervisor.model.batch import Batch
from supervisor.model.policy import Policy, is_named
from supervisor.model.pool import Pool
from supervisor.model.profile import Profile
from supervisor.model.state import State

_MODEL_OPTIONS = ("--model", "-m")


def may_use(profile: Profile, pool: Pool) -> bool:
    policy = profile.policy
    return policy is None or is_named(pool.provider, policy.providers) or is_named(pool.name, policy.pools)


def accounts_of(profile: Profile) -> tuple[str, ...]:
    """In order of preference; without a configured one, the kind of agent stands for its login."""
    return profile.accounts or (profile.agent,)


def may_use_account(profile: Profile, name: str) -> bool:
    return profile.policy is None or is_named(name, profile.policy.accounts)


def model_of(profile: Profile) -> str:
    """The model that its agents' arguments or variables name; "": they name none."""
    words = [word for arg in (*profile.agent_args, *profile.command) for word in arg.split("=", 1)]
    named = (value for option, value in pairwise(words) if option in _MODEL_OPTIONS)
    return next(named, profile.env.get("ANTHROPIC_MODEL", ""))


def breach(profile: Profile, pools: Mapping[str, Pool]) -> str:
    """Why a batch of this profile is refused, in one sentence; "": it is not."""
    if (policy := profile.policy) is None:
        return ""
    return next(_breaches(profile, policy, pools), "")


def _breaches(profile: Profile, policy: Policy, pools: Mapping[str, Pool]) -> Iterator[str]:
    if (first := pools.get(profile.pools[0])) is not None and not may_use(profile, first):
        where = f"the pool {first.name} (provider {first.provider})"
        yield _denied(policy, profile, where, "providers", policy.providers)
    for pool in filter(None, map(pools.get, profile.verify_pools)):
        if not may_use(profile, pool):
            where = f"the pool {pool.name} (provider {pool.provider}), to be verified"
            yield _denied(policy, profile, where, "providers", policy.providers)
    account, model = accounts_of(profile)[0], model_of(profile)
    if not may_use_account(profile, account):
        yield _denied(policy, profile, f"the account {account}", "accounts", policy.accounts)
    if not model and "*" not in policy.models:
        why = "name one in `agent_args`, such as --model=NAME"
        yield f"{_denied(policy, profile, 'a model that it does not name', 'models', policy.models)}; {why}"
    elif model and not is_named(model, policy.models):
        yield _denied(policy, profile, f"the model {model}", "models", policy.models)


def _denied(policy: Policy, profile: Profile, what: str, key: str, allowed: tuple[str, ...]) -> str:
    allows = f"allows the {key} {', '.join(allowed)}" if allowed else f"allows no {key}"
    return f"profile {profile.name} would send code to {what}, but the policy of {policy.repository} {allows}"


def denied_pools(state: State, batch: Batch) -> list[Pool]:
    """The pools of its profile that the batch may not use."""
    known = (state.pools[name] for name in batch.profile.pools if name in state.pools)
    return [pool for pool in known if not may_use(batch.profile, pool)]


def told(state: State, batch: Batch) -> str:
    """What the policy keeps the batch from; "": nothing."""
    if not (denied := denied_pools(state, batch)):
        return ""
    names = ", ".join(f"{pool.name} (provider {pool.provider})" for pool in denied)
    said = f"the policy of {batch.repo} keeps its jobs from {names}"
    return f"{said}, so none is started" if len(denied) == len(batch.profile.pools) else said
