"""The same failure in several jobs pauses their batch, once, before the others are spent on it."""

import pytest

from supervisor.flow import breaker
from supervisor.flow.requests import decide
from supervisor.model import event as ev
from supervisor.model import request as rq
from supervisor.model.effect import Collect, Launch, Release, Verify
from supervisor.model.hindrance import Hindrance
from supervisor.model.outcome import Outcome
from supervisor.model.profile import Profile
from tests.flow.world import World, replayed

LIMIT = Profile().breaker_jobs


def working(jobs: int, slots: int, **profile: object) -> World:
    settings = Profile(**{"retries": 0, **profile})  # type: ignore[arg-type]
    return World(local=slots).submit(tests=jobs, profile=settings).do(Launch)


def live(world: World) -> list[int]:
    return sorted(key.job for key, attempt in world.state.attempts.items() if attempt.stage == "live")


def fails(world: World, job: int, detail: str = "its process ended with 1") -> World:
    world.happens(ev.AgentVanished(world.now, *world.last_attempt(job).key, detail=detail))
    return world.do(Collect, Release, Launch)


def succeeds(world: World, job: int) -> World:
    return world.publish(job).do(Collect, Verify, Release, Launch)


def resume(world: World) -> World:
    return world.happens(*decide(world.state, rq.Resume("b"), world.now)).do(Launch)


def trips(world: World) -> list[ev.BreakerTripped]:
    return world.told(ev.BreakerTripped)


@pytest.mark.parametrize("slots", [1, 4, 10, 40])
def test_forty_agents_that_time_out_pause_their_batch_within_five(slots: int) -> None:
    world = working(40, slots)
    for _ in range(40):
        world.wait(Profile().job_timeout_seconds).do(Collect, Release, Launch)
    launched = [event.job for event in world.told(ev.LaunchStarted) if event.job]
    assert len(launched) <= slots + LIMIT - 1, "those at work, and what their ends made room for before the fifth"
    (tripped,) = trips(world)
    assert (tripped.count, tripped.stage, tripped.outcome) == (LIMIT, "running", "timed-out")
    assert tripped.failed_jobs == (1, 2, 3, 4, 5)
    assert "5 jobs failed in the same way" in tripped.detail
    assert "not done within 3600 s" in tripped.detail
    assert tripped.is_infrastructure, "nothing else has ended"
    if slots < 40:
        assert world.batch().stop.reason == breaker.TRIPPED
        assert world.batch().next_waiting is None


def test_a_paused_batch_is_resumed_by_a_person_and_trips_again_only_if_the_pattern_grows_by_as_much() -> None:
    world = working(40, 1)
    for job in range(1, LIMIT + 1):
        fails(world, job)
    assert len(trips(world)) == 1
    assert not live(world)
    resume(world)
    for job in range(LIMIT + 1, 2 * LIMIT):
        fails(world, job)
        assert len(trips(world)) == 1
    fails(world, 2 * LIMIT)
    assert [event.count for event in trips(world)] == [LIMIT, 2 * LIMIT]


def test_what_fails_while_it_is_paused_is_seen_by_who_resumes_it() -> None:
    world = working(40, 20)
    for job in range(1, 21):
        fails(world, job)
    assert [event.count for event in trips(world)] == [LIMIT]
    resume(world)
    for job in range(21, 20 + LIMIT):
        fails(world, job)
    assert len(trips(world)) == 1
    fails(world, 20 + LIMIT)
    assert len(trips(world)) == 2


def test_failures_of_other_kinds_are_counted_apart() -> None:
    world = working(40, 1)
    for job in range(1, 10):
        fails(world, job, "ModuleNotFoundError: no module" if job % 2 else "OSError: disk full")
    assert [event.exception for event in trips(world)] == ["ModuleNotFoundError"]
    first, second = world.batch().patterns
    assert (first.count, second.count) == (5, 4)
    assert first.fingerprint.exception == "ModuleNotFoundError"


def test_what_differs_from_job_to_job_makes_no_difference() -> None:
    world = working(40, 1)
    for job in range(1, LIMIT + 1):
        fails(world, job, f"clone 'a{job}' failed: /srv/{job}/x.py:{job}: timed out after {job}.5 s")
    assert len(trips(world)) == 1
    assert trips(world)[0].sample == "clone 'a1' failed: /srv/1/x.py:1: timed out after 1.5 s"


def test_a_few_failures_among_many_that_end_well_pause_nothing() -> None:
    world = working(400, 1)
    for job in range(1, 401):
        (fails if job % 40 == 0 else succeeds)(world, job)
    assert not trips(world)
    assert world.batch().patterns[0].count == 10


def test_jobs_that_are_tried_again_count_once_and_at_their_first_failure() -> None:
    world = working(40, LIMIT, retries=3)
    for job in range(1, LIMIT):
        fails(fails(world.wait(60), job), job)
    assert not trips(world)
    fails(world.wait(60), LIMIT)
    assert len(trips(world)) == 1


def test_agents_that_die_at_once_die_of_one_cause_and_go_again() -> None:
    """Such as the end of the tmux server that they run in."""
    world = working(40, 10, retries=1)
    for job in live(world):
        fails(world, job)
    assert not trips(world)
    assert not world.batch().stop.reason


@pytest.mark.parametrize("problem", [Hindrance.LIMIT, Hindrance.OVERLOAD, Hindrance.LOGIN])
def test_what_the_models_provider_refuses_is_no_failure(problem: Hindrance) -> None:
    world = working(20, 10)
    for job in range(1, 11):
        world.happens(ev.AgentHindered(world.now, *world.last_attempt(job).key, problem=problem))
        fails(world, job)
    assert not trips(world)
    assert not world.batch().patterns


def test_neither_is_a_provider_of_hosts_that_is_down_nor_a_restart() -> None:
    world = World(local=10).submit(tests=20, profile=Profile(retries=0))
    world.fail(Launch, "provider").do(Release).wait(600).fail(Launch, "interrupted").do(Release)
    assert not world.batch().patterns


def test_launches_that_fail_by_themselves_are() -> None:
    world = World(local=10).submit(tests=20, profile=Profile(retries=0)).fail(Launch, "garbage")
    world.do(Release)
    assert [event.stage for event in trips(world)] == ["launching"]


def test_work_that_was_run_and_found_wanting_is_shown_and_pauses_nothing() -> None:
    world = working(20, 1)
    for job in range(1, 11):
        world.publish(job).do(Collect)
        key = world.pending(Verify)[0].keys[0]
        said = "unverified: passed 0 of 2"
        verdict = ev.WorkVerified(world.now, *key, "failed", said, verification="unverified", runs=2)
        world.answer(world.pending(Verify)[0], verdict).do(Release, Launch)
    assert not trips(world)
    (pattern,) = world.batch().patterns
    assert (pattern.fingerprint.stage, pattern.count) == ("verifying", 10)


def test_verification_that_can_not_be_carried_out_pauses() -> None:
    world = working(20, 1)
    for job in range(1, LIMIT + 1):
        world.publish(job).do(Collect)
        said = "unverified: setup failed: uv: command not found"
        verdict = ev.WorkVerified(
            world.now, *world.pending(Verify)[0].keys[0], "failed", said, verification="unverified"
        )
        world.answer(world.pending(Verify)[0], verdict).do(Release, Launch)
    assert [event.stage for event in trips(world)] == ["verifying"]


def test_twice_as_many_that_fail_each_in_its_own_way_are_infrastructure() -> None:
    world, words = working(40, 1), ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    for job in range(1, 2 * LIMIT + 1):
        assert not trips(world)
        fails(world, job, f"it met {words[job - 1]}")
    (tripped,) = trips(world)
    assert tripped.is_mixed
    assert tripped.is_infrastructure
    assert "10 of 10 jobs fail, so look at the infrastructure" in tripped.detail
    fails(resume(world), 11, "it met eleven")
    assert len(trips(world)) == 1


def test_failures_beside_successes_are_not_called_infrastructure() -> None:
    world = working(40, 1)
    for job in range(1, LIMIT):
        succeeds(fails(world, 2 * job - 1), 2 * job)
    fails(world, 2 * LIMIT - 1)
    assert [event.is_infrastructure for event in trips(world)] == [False]


def test_a_share_of_all_jobs_pauses_where_that_is_less() -> None:
    world = working(10, 1, breaker_share=0.2)
    assert not trips(fails(world, 1))
    assert len(trips(fails(world, 2))) == 1


def test_it_can_be_switched_off() -> None:
    world = working(30, 30, breaker_jobs=0)
    for job in range(1, 30):
        fails(world, job)
    assert not trips(world)
    assert world.batch().patterns[0].count == 29


def test_a_batch_without_jobs_to_launch_comes_to_its_end() -> None:
    world = working(8, 8)
    for job in range(1, 9):
        fails(world, job)
    assert len(trips(world)) == 1
    assert not world.batch().stop.reason
    assert world.run().told(ev.BatchFinished)


def test_a_batch_that_is_paused_can_be_cancelled() -> None:
    world = working(40, 1)
    for job in range(1, LIMIT + 1):
        fails(world, job)
    world.happens(*decide(world.state, rq.Cancel("b"), world.now))
    assert "b" not in world.state.batches, "no agent is left, so it is over"


def test_a_restart_finds_it_as_it_was() -> None:
    world = working(40, 2)
    for job in range(1, LIMIT + 1):
        fails(world, job)
    world.restart()
    assert replayed(world.events) == world.state
    assert world.batch().stop.reason == breaker.TRIPPED
    assert world.job(1).outcome is Outcome.LOST
