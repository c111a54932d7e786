"""How often a provider is asked for something new, and what its refusals teach."""

from bisect import bisect_right
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supervisor.flow import rates, slots
from supervisor.flow.plan import next_at
from supervisor.model import event as ev
from supervisor.model.effect import Launch, Release
from supervisor.model.event import PoolSpec
from supervisor.model.profile import Profile
from supervisor.model.rate import SAVED_SECONDS, Rate
from tests.flow.world import World, replayed
from tests.properties import examples

CLOUD = PoolSpec("cloud", "modal", 40, agents_per_host=2, launch_rate=1.0)
SSH = PoolSpec("ssh", "pool", 40, hosts=("left", "right"), launch_rate=2.0)


def on(*pools: str) -> Profile:
    return Profile(pools=pools)


def launched(world: World, provider: str) -> list[ev.LaunchStarted]:
    """Those that cost a token."""
    starts = [start for start in world.told(ev.LaunchStarted) if start.provider == provider]
    return [start for start in starts if start.new_host or not world.pool(start.pool).agents_per_host]


def learned(world: World) -> list[float]:
    return [event.rate for event in world.told(ev.LaunchRateChanged)]


def test_launches_come_at_the_rate_of_their_provider() -> None:
    world = World(SSH).submit(tests=4, profile=on("ssh")).wait(10)
    times = [start.at for start in launched(world, "pool")]
    assert [later - earlier for earlier, later in pairwise(times)] == pytest.approx([0.5] * 3)


def test_a_launch_on_a_new_host_that_has_room_costs_nothing() -> None:
    """The provider is asked for hosts: each first agent waits for its token, the second goes along with it."""
    world = World(CLOUD).submit(tests=6, profile=on("cloud")).wait(10)
    starts = world.told(ev.LaunchStarted)
    assert [start.new_host for start in starts] == [True, False] * 3
    assert [round(start.at - starts[0].at) for start in starts] == [0, 0, 1, 1, 2, 2]


def test_pools_of_one_provider_share_its_rate() -> None:
    """Both batches wait; that of the other pool is not served beside the first."""
    other = PoolSpec("other", "pool", 9, hosts=("left",), launch_rate=2.0)
    world = World(SSH, other).submit("a", 2, profile=on("ssh")).submit("b", 2, profile=on("other")).wait(10)
    times = [start.at for start in launched(world, "pool")]
    assert [later - earlier for earlier, later in pairwise(times)] == pytest.approx([0.5] * 3)


def test_a_token_is_waited_for_although_the_next_pool_has_room() -> None:
    world = World(SSH, local=9).submit(tests=4, profile=on("ssh", "local")).wait(10)
    assert {start.pool for start in world.told(ev.LaunchStarted)} == {"ssh"}


def test_another_batch_is_not_held_up_by_it() -> None:
    world = World(SSH, local=9).submit("a", 9, priority=1, profile=on("ssh")).submit("b", 2)
    assert [start.batch for start in world.told(ev.LaunchStarted)] == ["a", "b", "b"]


def test_no_more_is_begun_than_is_asked_for_at_once() -> None:
    """What waited in the device for others to end would come in a burst."""
    world = World(replace(SSH, launch_rate=40)).submit(tests=9, profile=on("ssh")).wait(10)
    assert len(world.pending(Launch)) == rates.AGENTS_AT_ONCE
    assert next_at(world.state, world.now) is None
    world.do(Launch)
    assert len(world.pending(Launch)) == rates.AGENTS_AT_ONCE
    assert slots.awaited(world.state) == {"ssh"}


def test_without_a_rate_all_slots_are_filled_at_once() -> None:
    world = World(local=9).submit(tests=9)
    assert len(world.told(ev.LaunchStarted)) == 9
    assert next_at(world.state, world.now) is None


def test_a_refusal_halves_the_rate_once_for_all_that_were_under_way() -> None:
    world = World(SSH).submit(tests=9, profile=on("ssh")).wait(1)
    assert len(world.pending(Launch)) == 3
    world.fail(Launch, rates.REFUSED)
    assert learned(world) == [1.0]
    assert not world.pool("ssh").resting
    world.do(Release).wait(1)
    assert len(world.pending(Launch)) == 1
    world.fail(Launch, rates.REFUSED)
    assert learned(world) == [1.0, 0.5]


def test_a_refusal_costs_no_retry_and_the_next_pool_is_used_meanwhile() -> None:
    world = World(SSH, local=1).submit(tests=3, profile=on("ssh", "local"))
    world.fail(Launch, rates.REFUSED).do(Release)
    assert [start.pool for start in world.told(ev.LaunchStarted)] == ["ssh", "local"]
    assert not any(event.counts for event in world.told(ev.JobRequeued))


def test_a_rate_that_works_grows_back_to_what_is_configured() -> None:
    world = World(replace(SSH, slots=400)).submit(tests=400, profile=on("ssh"))
    world.fail(Launch, rates.REFUSED).do(Release)
    for _ in range(40):
        world.wait(5).do(Launch)
    assert learned(world) == [1.0, 1.25, 1.5625, 1.953125, 0.0]
    assert rates.of(world.state, world.pool("ssh")).per_second == 2.0


def test_a_provider_without_a_rate_gets_one_when_it_refuses() -> None:
    world = World(PoolSpec("ssh", "pool", 9, hosts=("left",))).submit(tests=9, profile=on("ssh"))
    world.fail(Launch, rates.REFUSED).do(Release).wait(0.9)
    assert learned(world) == [2.0]
    assert len(world.pending(Launch)) == 1


def test_a_restart_knows_what_was_learned_when_the_batch_is_long_gone() -> None:
    """The events of a batch leave the journal with it; the rate is told apart from them."""
    world = World(SSH).submit(tests=9, profile=on("ssh")).fail(Launch, rates.REFUSED)
    left = [event for event in world.events if not isinstance(event, ev.BatchEvent)]
    assert rates.of(replayed(left), world.pool("ssh")).learned == 1.0


def test_nobody_waits_for_a_time_at_which_the_clock_was_set_back() -> None:
    world = World(SSH).submit(tests=2, profile=on("ssh"))
    world.now -= 86_400
    world.happens(ev.DaemonStarted(world.now)).wait(1)
    assert len(launched(world, "pool")) == 2


def test_a_lower_rate_of_a_new_configuration_holds_at_once() -> None:
    world = World(SSH).submit(tests=9, profile=on("ssh"))
    world.happens(ev.PoolsConfigured(world.now, (PoolSpec("ssh", "pool", 9, launch_rate=0.1),))).wait(10)
    assert len(launched(world, "pool")) == 2


def test_an_agent_is_not_put_on_a_host_that_ends_before_it_may() -> None:
    """The third agent would outlive the first host, where there is room for it."""
    profile = Profile(pools=("cloud",), job_timeout_seconds=1000, test_timeout_seconds=10, verify_runs=0)
    needed = slots.seconds_of_host(profile, 1000)
    world = World(PoolSpec("cloud", "modal", 2, agents_per_host=3, host_seconds=needed + 100))
    world.submit(tests=3, profile=profile).do(Launch).wait(101).publish(1).do(*[type(e) for e in world.asked])
    starts = world.told(ev.LaunchStarted)
    assert [start.new_host for start in starts] == [True, False, True]


def test_a_host_whose_end_is_not_known_is_used_again() -> None:
    world = World(PoolSpec("cloud", "modal", 2, agents_per_host=3)).submit(tests=3, profile=on("cloud")).do(Launch)
    world.wait(3000).publish(1).do(*[type(e) for e in world.asked])
    assert [start.new_host for start in world.told(ev.LaunchStarted)] == [True, False, False]


steps = st.one_of(
    st.tuples(st.just("wait"), st.floats(0, 30)),
    st.tuples(
        st.sampled_from(["succeed", "refuse", "fail", "release", "publish", "restart", "submit"]), st.just(0.0)
    ),
)
limits = st.sampled_from([0.05, 0.5, 1.0, 3.0, 4.0, 7.5, 40.0, 200.0])


@given(limit=limits, per_host=st.integers(0, 3), script=st.lists(steps, max_size=30))
@settings(max_examples=examples(1 / 2), deadline=None)
def test_never_more_in_any_time_than_the_bucket_allows_and_never_a_standstill(
    limit: float, per_host: int, script: list[tuple[str, float]]
) -> None:
    """Whatever the provider answers: a slower rate only holds more back, and each job gets its token in the end."""
    world = World(PoolSpec("cloud", "modal", 30, agents_per_host=per_host, launch_rate=limit))
    world.submit("a", 20, profile=on("cloud"))
    for number, (step, seconds) in enumerate(script):
        _played(world, step, seconds, number)
        if slots.awaited(world.state):
            at = next_at(world.state, world.now)
            assert at is not None or world.pending(Launch), "nobody will launch what waits"
            assert at is None or at > world.now, "what is due was not begun"
        assert _under_way(world) <= (rates.HOSTS_AT_ONCE if per_host else rates.AGENTS_AT_ONCE)

    _within(world, limit)
    _all_end(world)
    _within(world, limit)


def _played(world: World, step: str, seconds: float, number: int) -> None:
    match step:
        case "wait":
            world.wait(seconds)
        case "succeed":
            world.do(Launch)
        case "refuse":
            world.fail(Launch, rates.REFUSED)
        case "fail":
            world.fail(Launch, "provider")
        case "release":
            world.do(Release)
        case "publish":
            for attempt in [each for each in world.state.attempts.values() if each.stage == "live"][:3]:
                world.publish(attempt.key.job, attempt.key.batch)
        case "restart":
            lost = [effect.attempt for effect in world.pending(Launch)]
            world.restart()
            for attempt in lost:
                world.happens(ev.LaunchFailed(world.now, *attempt.key, reason="interrupted"))
        case "submit":
            world.submit(f"b{number}", 5, profile=on("cloud"))


def _within(world: World, limit: float) -> None:
    times = [start.at for start in launched(world, "modal")]
    saved = max(1.0, limit * SAVED_SECONDS)
    for first, start in enumerate(times):
        for seconds in (0.0, 1 / limit, 1.0, 60.0):
            last = bisect_right(times, start + seconds)
            assert last - first <= saved + limit * seconds + 1e-6, f"too many within {seconds} s"


def _under_way(world: World) -> int:
    per_host = world.pool("cloud").agents_per_host
    return sum(not per_host or effect.attempt.new_host for effect in world.pending(Launch))


def _all_end(world: World) -> None:
    """From now on everything succeeds."""
    for batch in list(world.state.batches):
        world.run(batch)


def test_a_bucket_saves_up_what_a_quarter_of_a_second_brings() -> None:
    rate = Rate(limit=40)
    for _ in range(10):
        assert rate.next_at <= 100 + 1e-6
        rate = rate.taken(100)
    assert rate.next_at == pytest.approx(100 + 1 / 40)
