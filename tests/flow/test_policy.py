"""No agent is started where the code of its repository may not go, whatever is submitted or configured."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.errors import Refused
from supervisor.flow.policy import model_of, told
from supervisor.flow.requests import decide
from supervisor.model import event as ev
from supervisor.model import request as rq
from supervisor.model.account import AccountSpec
from supervisor.model.effect import Launch
from supervisor.model.policy import Policy
from supervisor.model.profile import Profile
from tests.flow.world import World, numbered

ALL = Policy("/srv", providers=("*",), accounts=("*",), models=("*",))


def asked(policy: Policy, **profile: object) -> rq.Submit:
    return rq.Submit("b", "/srv/app", "base", numbered(10), Profile(policy=policy, **profile))  # type: ignore[arg-type]


def submitted(world: World, policy: Policy, **profile: object) -> World:
    return world.happens(*decide(world.state, asked(policy, **profile), world.now))


@pytest.mark.parametrize(
    ("policy", "says"),
    [
        (
            Policy("/srv"),
            "would send code to the pool local (provider local), but the policy of /srv allows no providers",
        ),
        (replace(ALL, providers=("modal",)), "the policy of /srv allows the providers modal"),
        (replace(ALL, accounts=("work",)), "to the account claude, but the policy of /srv allows the accounts work"),
        (replace(ALL, models=("claude-opus-*",)), "to a model that it does not name, but the policy of /srv allows"),
    ],
)
def test_a_submission_that_would_break_it_is_refused_with_that_sentence(policy: Policy, says: str) -> None:
    with pytest.raises(Refused) as refused:
        submitted(World(local=2), policy)
    assert says in refused.value.message
    assert refused.value.message.startswith("profile default would send code to ")
    assert "[policy]" in refused.value.hint


@pytest.mark.parametrize("args", [("--model", "claude-opus-5"), ("--model=claude-opus-5",), ("-m", "claude-opus-5")])
def test_a_model_is_that_of_the_arguments(args: tuple[str, ...]) -> None:
    assert model_of(Profile(agent_args=args)) == "claude-opus-5"
    policy = replace(ALL, models=("claude-opus-*",))
    assert submitted(World(local=2), policy, agent_args=args).pending(Launch)
    with pytest.raises(Refused, match="to the model claude-opus-5, but the policy of /srv allows the models other"):
        submitted(World(local=2), replace(ALL, models=("other",)), agent_args=args)


def test_what_is_allowed_is_started() -> None:
    assert len(submitted(World(local=2), ALL).pending(Launch)) == 2


def test_it_does_not_overflow_to_where_its_code_may_not_go() -> None:
    policy = replace(ALL, providers=("local",))
    world = submitted(World(local=2, modal=50), policy, pools=("local", "modal"))
    assert [launch.attempt.pool for launch in world.pending(Launch)] == ["local", "local"]
    assert told(world.state, world.batch()) == "the policy of /srv/app keeps its jobs from modal (provider modal)"
    assert world.state.pools["modal"].busy == 0


def test_nor_to_an_account_that_is_denied() -> None:
    world = World(local=30).happens(ev.AccountsConfigured(0, (AccountSpec("work", slots=2), AccountSpec("own"))))
    policy = replace(ALL, accounts=("work",))
    assert len(submitted(world, policy, accounts=("work", "own")).pending(Launch)) == 2
    with pytest.raises(Refused, match="to the account own"):
        decide(world.state, replace(asked(policy, accounts=("own", "work")), batch="c"), world.now)


def test_nothing_is_verified_where_its_code_may_not_go() -> None:
    with pytest.raises(Refused, match=r"to the pool far \(provider far\), to be verified"):
        submitted(World(local=2, far=2), replace(ALL, providers=("local",)), verify_pools=("far",))


def test_nor_to_a_pool_that_is_configured_otherwise_later_on() -> None:
    world = submitted(World(local=1), replace(ALL, providers=("local",)))
    elsewhere = ev.PoolSpec("local", "modal", 50)
    world.happens(ev.PoolsConfigured(world.now, (elsewhere,), 1))
    assert len(world.pending(Launch)) == 1, "that which was under way"
    assert told(world.state, world.batch()).endswith("keeps its jobs from local (provider modal), so none is started")


def test_a_pool_can_be_allowed_by_its_name() -> None:
    policy = replace(ALL, providers=(), pools=("safe",))
    world = submitted(World(ev.PoolSpec("safe", "ssh", 3)), policy, pools=("safe",))
    assert len(world.pending(Launch)) == 3


def test_without_a_policy_everything_is_allowed() -> None:
    world = World(local=1, modal=1).submit(tests=5, profile=Profile(pools=("local", "modal")))
    assert len(world.pending(Launch)) == 2
    assert told(world.state, world.batch()) == ""


@given(
    st.lists(st.sampled_from(["local", "modal", "docker", "*"]), max_size=2, unique=True),
    st.permutations(["local", "modal", "docker"]),
    st.integers(1, 3),
)
def test_never_an_agent_elsewhere(allowed: list[str], pools: list[str], used: int) -> None:
    world, policy = World(local=2, modal=2, docker=2), replace(ALL, providers=tuple(allowed))
    profile = Profile(policy=policy, pools=tuple(pools[:used]))
    world.submit(tests=20, profile=profile)
    launched = {launch.attempt.provider for launch in world.pending(Launch)}
    assert launched == {name for name in pools[:used] if "*" in allowed or name in allowed}
