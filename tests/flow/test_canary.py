"""In a large batch a few jobs go first, and the fleet follows once they have come through."""

import pytest

from supervisor.flow import canary
from supervisor.model.effect import Collect, Launch, Release, Verify
from supervisor.model.profile import Profile
from tests.flow.world import World


def submitted(jobs: int, canaries: int, slots: int = 20) -> World:
    return World(local=slots).submit(tests=jobs, profile=Profile(canaries=canaries, retries=0))


def at_work(world: World) -> int:
    return world.pool().busy


@pytest.mark.parametrize("canaries", [1, 2, 3])
def test_the_fleet_waits_until_all_canaries_have_come_through(canaries: int) -> None:
    world = submitted(40, canaries).do(Launch)
    for job in range(1, canaries + 1):
        assert at_work(world) == canaries - job + 1
        assert f"{job - 1} of {canaries} did" in canary.told(world.batch())
        world.publish(job).do(Collect)
    assert at_work(world) == 20
    assert canary.told(world.batch()) == ""


def test_they_need_not_be_verified_first() -> None:
    world = submitted(40, 1).do(Launch).publish(1).do(Collect)
    assert world.pending(Verify)
    assert at_work(world) == 20


def test_one_that_fails_is_followed_by_the_next_job() -> None:
    world = submitted(40, 1).do(Launch).vanish(1).do(Collect, Release, Launch)
    assert at_work(world) == 1
    world.publish(2).do(Collect)
    assert at_work(world) == 20


def test_if_they_keep_failing_in_the_same_way_the_breaker_pauses_the_batch() -> None:
    world = submitted(40, 1).do(Launch)
    for job in range(1, 6):
        world.vanish(job).do(Collect, Release, Launch)
    assert at_work(world) == 0
    assert world.batch().stop.reason == "breaker"


@pytest.mark.parametrize(("jobs", "canaries"), [(10, 3), (40, 0)])
def test_a_small_batch_and_one_without_canaries_starts_at_once(jobs: int, canaries: int) -> None:
    assert at_work(submitted(jobs, canaries)) == min(jobs, 20)


def test_other_batches_do_not_wait_for_them() -> None:
    world = submitted(40, 1).submit("c", 5)
    assert at_work(world) == 6


def test_a_batch_with_canaries_comes_to_its_end() -> None:
    world = submitted(30, 2).run()
    assert "b" not in world.state.batches
