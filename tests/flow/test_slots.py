"""How many agents run, and where."""

from supervisor.model import event as ev
from supervisor.model.effect import Collect, Launch, Release
from supervisor.model.event import PoolSpec
from supervisor.model.profile import Profile
from tests.flow.world import World

SSH = PoolSpec("ssh", "ssh", 4, hosts=("left", "right"))
CLOUD = PoolSpec("cloud", "modal", 5, agents_per_host=2)


def starts(world: World) -> list[ev.LaunchStarted]:
    return world.told(ev.LaunchStarted)


def on(*pools: str, slots: int = 0) -> Profile:
    return Profile(pools=pools, slots=slots)


def test_never_more_agents_than_slots() -> None:
    world = World(local=3).submit(tests=10)
    assert len(starts(world)) == world.pool().busy == 3


def test_a_slot_is_free_once_the_work_is_safe() -> None:
    """Its agent is put away in the background."""
    world = World(local=1).submit(tests=2).do(Launch).publish(1)
    assert len(starts(world)) == 1
    world.do(Collect)
    assert len(starts(world)) == 2
    assert world.pool().lingering == 1


def test_agents_that_are_hard_to_put_away_hold_launches_up_in_the_end() -> None:
    world = World(local=1).submit(tests=9)
    for job in (1, 2):
        world.do(Launch).publish(job).do(Collect)
    assert world.pool().lingering == 2
    assert len(starts(world)) == 2
    world.do(Release)
    assert len(starts(world)) == 3


def test_lowered_slots_stop_nothing_and_start_nothing() -> None:
    world = World(local=2).submit(tests=4).do(Launch)
    world.happens(ev.SlotsChanged(world.now, "local", 1)).publish(1).do(Collect)
    assert world.pool().busy == 1
    assert len(starts(world)) == 2
    world.publish(2).do(Collect, Release)
    assert len(starts(world)) == 3


def test_raised_slots_are_filled_at_once() -> None:
    world = World(local=1).submit(tests=4)
    world.happens(ev.SlotsChanged(world.now, "local", 4))
    assert len(starts(world)) == 4


def test_what_finds_no_room_overflows_to_the_next_pool() -> None:
    world = World(first=1, second=2).submit(tests=4, profile=on("first", "second"))
    assert [start.pool for start in starts(world)] == ["first", "second", "second"]


def test_a_profile_limits_its_own_batch_only() -> None:
    world = World(local=4).submit("a", 4, profile=on("local", slots=1)).submit("b", 4)
    assert [start.batch for start in starts(world)] == ["a", "b", "b", "b"]


def test_a_batch_of_higher_priority_goes_first() -> None:
    world = World(local=1).submit("a", 3).submit("b", 3, priority=1)
    world.do(Launch).publish(1, "a").do(Collect)
    assert [start.batch for start in starts(world)] == ["a", "b"]


def test_a_batch_that_finds_no_room_does_not_hold_up_those_behind_it() -> None:
    world = World(full=0, local=1).submit("a", 1, priority=1, profile=on("full")).submit("b", 1)
    assert [start.batch for start in starts(world)] == ["b"]


def test_equal_batches_share_fairly() -> None:
    world = World(local=1).submit("a", 9).submit("b", 9)
    world.happens(ev.SlotsChanged(world.now, "local", 6))
    assert world.batch("a").busy == world.batch("b").busy == 3


def test_existing_hosts_are_filled_evenly() -> None:
    world = World(SSH).submit(tests=4, profile=on("ssh"))
    assert [start.host for start in starts(world)] == ["left", "right", "left", "right"]
    assert not any(start.new_host for start in starts(world))
    world.do(Launch).publish(2).do(Collect, Release).submit("c", 1, profile=on("ssh"))
    assert starts(world)[-1].host == "right"


def test_a_host_that_gives_no_agent_lets_the_others_go_first_for_a_while() -> None:
    """Empty as it is, it would be the first choice again and again; later it is tried once more."""
    world = World(PoolSpec("ssh", "ssh", 1, hosts=("left", "right"))).submit(tests=4, profile=on("ssh"))
    world.fail(Launch, "provider").do(Release).wait(5).do(Launch).publish(1).do(Collect, Release)
    assert [start.host for start in starts(world)] == ["left", "right", "right"]
    world.do(Launch).wait(300).publish(2).do(Collect, Release)
    assert starts(world)[-1].host == "left"
    assert not world.do(Launch).pool("ssh").avoided


def test_where_no_host_gives_an_agent_they_are_filled_evenly_still() -> None:
    world = World(SSH).submit(tests=4, profile=on("ssh")).fail(Launch, "provider").do(Release).wait(5)
    assert dict(world.pool("ssh").members) == {"left": 2, "right": 2}


def test_what_is_wrong_with_a_job_is_not_held_against_its_host() -> None:
    world = World(SSH).submit(tests=1, profile=on("ssh")).fail(Launch, "refused").do(Release)
    assert not world.pool("ssh").avoided


def test_new_hosts_are_asked_for_when_the_others_are_full() -> None:
    world = World(CLOUD).submit(tests=5, profile=on("cloud"))
    assert [start.new_host for start in starts(world)] == [True, False, True, False, True]
    assert len({start.host for start in starts(world)}) == 3


def test_a_host_that_could_not_be_made_is_not_shared() -> None:
    world = World(CLOUD).submit(tests=1, profile=on("cloud")).fail(Launch, "timeout")
    world.submit("c", 1, profile=on("cloud"))
    first, second = starts(world)
    assert second.new_host
    assert second.host != first.host


def test_a_host_is_forgotten_with_its_last_agent() -> None:
    world = World(CLOUD).submit(tests=2, profile=on("cloud")).run()
    assert not world.pool("cloud").members


def test_a_pool_whose_provider_fails_rests() -> None:
    """Its other jobs wait, instead of failing one after the other."""
    world = World(local=1).submit(tests=5).fail(Launch, "provider").do(Release)
    assert world.pool().resting
    assert len(starts(world)) == 1
    world.wait(5)
    assert len(starts(world)) == 2


def test_a_resting_pool_sends_its_jobs_to_the_next_one() -> None:
    world = World(first=1, second=1).submit(tests=1, profile=on("first", "second")).fail(Launch, "provider")
    assert [start.pool for start in starts(world)] == ["first", "second"]


def test_a_pool_rests_longer_each_time_up_to_a_limit() -> None:
    """Also when the provider is down for weeks."""
    world = World(local=1).submit()
    rests = []
    for _ in range(1100):
        world.fail(Launch, "provider").do(Release)
        rests.append(world.state.agenda.times["rest", "local"] - world.now)
        world.wait(rests[-1])
    assert rests[:4] == [5, 10, 20, 40]
    assert rests[-1] == 300
    assert world.do(Launch).pool().failures == 0


def test_failures_at_the_same_time_are_one_failure() -> None:
    world = World(local=3).submit(tests=3).fail(Launch, "provider")
    assert world.pool().failures == 1


def test_nothing_is_launched_while_the_queue_is_paused() -> None:
    world = World(local=1).happens(ev.QueuePaused(0.0, reason="login lost")).submit(tests=2)
    assert not starts(world)
    world.happens(ev.QueueResumed(world.now))
    assert len(starts(world)) == 1


def test_a_paused_batch_lets_others_pass() -> None:
    world = World(local=0).submit("a").submit("b").happens(ev.BatchPaused(0.0, "a"))
    world.happens(ev.SlotsChanged(world.now, "local", 2))
    assert [start.batch for start in starts(world)] == ["b"]
    world.happens(ev.BatchResumed(world.now, "a"))
    assert [start.batch for start in starts(world)] == ["b", "a"]


def test_a_pool_configured_no_more_keeps_its_agents_and_gets_no_new_ones() -> None:
    world = World(local=1).submit(tests=2).do(Launch)
    world.happens(ev.PoolsConfigured(world.now, ())).publish(1).do(Collect, Release)
    assert len(starts(world)) == 1
    world.happens(ev.PoolsConfigured(world.now, (PoolSpec("local", "local", 1),)))
    assert len(starts(world)) == 2


def test_an_attempt_has_the_same_agent_id_whoever_asks() -> None:
    ids = [start.agent_id for world in (World(local=2), World(local=2)) for start in starts(world.submit(tests=2))]
    assert ids[:2] == ids[2:]
    assert len(set(ids)) == 2
