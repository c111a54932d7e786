"""Where claims are verified: by default in the pool where their work was made."""

from hypothesis import given
from hypothesis import strategies as st

from supervisor.flow.verifying import place_of, slots_of
from supervisor.model import event as ev
from supervisor.model.effect import Collect, Launch, Verify
from supervisor.model.pool import Pool
from supervisor.model.profile import Profile
from tests.flow.world import World

FAR = ev.PoolSpec("far", "pool", 2, hosts=("left",))


def both(*, verify: tuple[str, ...] = (), far: ev.PoolSpec = FAR) -> World:
    """Jobs 1 and 2 were made far away, 3 and 4 here; a fifth waits for an agent."""
    profile = Profile(pools=("far", "local"), verify_pools=verify)
    world = World(far, ev.PoolSpec("local", "local", 2), verify_slots=1).submit(tests=5, profile=profile).do(Launch)
    world.happens(ev.QueuePaused(world.now))
    for job in (1, 2, 3, 4):
        world.publish(job).do(Collect).gather()
    return world


def under_way(world: World) -> list[tuple[str, list[int]]]:
    return sorted((effect.pool, [key.job for key in effect.keys]) for effect in world.pending(Verify))


def test_each_where_it_was_made() -> None:
    """Each place has slots of its own, and a group is of one place."""
    world = both()
    assert under_way(world) == [("", [3]), ("far", [1])]
    assert under_way(world.do(Verify)) == [("", [4]), ("far", [2])]


def test_a_pool_that_is_away_holds_up_no_other() -> None:
    world = both()
    [here] = [effect for effect in world.pending(Verify) if not effect.pool]
    [key] = here.keys
    world.answer(here, ev.WorkVerified(world.now, *key, outcome="fixed"))
    assert under_way(world) == [("", [4]), ("far", [1])]


def test_all_here_if_the_profile_says_so() -> None:
    world = both(verify=("local",))
    assert under_way(world) == [("", [1])]
    assert under_way(world.do(Verify)) == [("", [2, 3, 4])]


def test_all_far_away_if_the_profile_says_so() -> None:
    assert under_way(both(verify=("far",)).do(Verify)) == [("far", [2, 3, 4])]


def test_more_at_a_time_in_a_pool_that_has_the_slots() -> None:
    several = ev.PoolSpec("far", "pool", 2, hosts=("left",), verify_slots=2)
    assert under_way(both(far=several)) == [("", [3]), ("far", [1]), ("far", [2])]


def test_after_a_restart_each_waits_for_its_own_place() -> None:
    world = both().restart()
    assert under_way(world) == [("", [3, 4]), ("far", [1, 2])]


def test_a_pool_that_is_not_configured_any_more_is_not_this_machine() -> None:
    world = both()
    world.happens(ev.PoolsConfigured(world.now, (ev.PoolSpec("local", "local", 2),), verify_slots=1))
    world.do(Verify)
    assert under_way(world) == [("", [4]), ("far", [2])]
    assert slots_of(world.state, "gone") == 1


@given(st.sets(st.sampled_from(["local", "here", "far", "gone"])).map(sorted).map(tuple), st.sampled_from("ab"))
def test_what_was_written_elsewhere_runs_here_only_if_the_profile_says_so(
    wanted: tuple[str, ...], which: str
) -> None:
    pools = {"here": Pool("here", "local", 4), "far": Pool("far", "pool", 4)}
    made_in = {"a": "far", "b": "gone"}[which]
    place = place_of(pools, Profile(verify_pools=wanted), made_in)
    assert place or {"local", "here"} & set(wanted)
    assert place in ("", "far", "gone")
