"""Siblings: of the jobs that one broken fixture fails, one gets an agent, and its fix is tried on the others."""

from dataclasses import replace
from typing import Any

import pytest

from supervisor.flow.requests import decide
from supervisor.flow.siblings import MOST_FAILED
from supervisor.model import event as ev
from supervisor.model import request as rq
from supervisor.model.batch import BatchState
from supervisor.model.effect import Collect, Integrate, Launch, Release, RunAtBase, Verify
from supervisor.model.job import JobState
from supervisor.model.outcome import Outcome
from supervisor.model.profile import Profile
from supervisor.model.survey import Surveyed
from tests.flow.laws import Historian, check_books, check_nothing_is_forgotten
from tests.flow.world import World, replayed

HOLDING = Profile(survey="full", hold_siblings=True, retries=0)
PLACE = "tests/conftest.py:4 in shop: OSError: no room"


def family(*jobs: int, place: str = PLACE, green: int = 0) -> Surveyed:
    return Surveyed(red=len(jobs), green=green, shared=len(jobs), families={place: jobs})


def comes_to(world: World, found: Surveyed) -> World:
    """Of the first group under way."""
    effect, *_ = world.pending(RunAtBase)
    return world.answer(effect, ev.SurveyEnded(world.now, effect.batch, effect.number, found))


def holding(tests: int = 6, *jobs: int, files: int = 1, local: int = 4, **profile: Any) -> World:
    """A batch whose first file was run at the base: these jobs of it fail in one fixture, by default all."""
    world = World(local=local)
    world.watchers.append(Historian())
    world.submit(tests=tests, files=files, profile=replace(HOLDING, **profile))
    return comes_to(world, family(*(jobs or range(1, tests + 1))))


def states(world: World) -> list[JobState]:
    check_books(world.state)
    check_nothing_is_forgotten(world.state, world.asked)
    return [job.state for job in world.batch().jobs()]


def launched(world: World) -> list[int]:
    return [event.job for event in world.told(ev.LaunchStarted)]


def mends(world: World, job: int = 1) -> World:
    """The agent of a job publishes work, and that is verified."""
    return world.do(Launch).publish(job).do(Collect, Verify)


def comes_to_nothing(world: World, job: int = 1) -> World:
    return world.do(Launch).vanish(job).do(Collect, Release)


def verdict(world: World, verification: Any, reason: str = "") -> World:
    """On all that is being verified."""
    for effect in world.pending(Verify):
        *others, last = (
            ev.WorkVerified(world.now, *key, outcome="failed", verification=verification, reason=reason)
            for key in effect.keys
        )
        for event in others:
            world.hear(event)
        world.answer(effect, last)
    return world


HELD, DONE, VERIFYING = JobState.HELD, JobState.DONE, JobState.VERIFYING


# --- who is held


def test_one_of_a_family_gets_an_agent_and_the_others_are_held() -> None:
    world = holding(6)
    assert launched(world) == [1]
    assert states(world) == [JobState.LAUNCHING, *[HELD] * 5]
    assert world.job(2).detail == f"held for b.1: both fail at {PLACE}"


def test_who_fails_elsewhere_or_passes_goes_as_usual() -> None:
    world = holding(6, 2, 4, 5)
    assert launched(world) == [1, 2, 3, 6]
    assert [job.number for job in world.batch().jobs() if job.state is HELD] == [4, 5]


def test_a_job_is_launched_only_after_its_file_was_run_at_the_base() -> None:
    world = World(local=4).submit(tests=4, files=2, profile=HOLDING)
    assert not launched(world)
    comes_to(world, Surveyed(green=2))
    assert launched(world) == [1, 2]
    comes_to(world, Surveyed(green=2))
    assert launched(world) == [1, 2, 3, 4]


@pytest.mark.parametrize("profile", [Profile(survey="full"), replace(HOLDING, survey="file")])
def test_without_the_key_or_without_a_survey_nobody_waits(profile: Profile) -> None:
    assert launched(World(local=4).submit(tests=4, profile=profile)) == [1, 2, 3, 4]


def test_a_family_may_be_in_several_files() -> None:
    world = holding(4, 1, 2, files=2)
    comes_to(world, family(3, 4))
    assert launched(world) == [1]
    assert [job.state for job in world.batch().jobs()][1:] == [HELD] * 3


def test_a_sibling_that_becomes_known_after_the_fix_is_tried_at_once() -> None:
    world = holding(4, 1, 2, files=2)
    mends(world).do(Verify)
    comes_to(world, family(3, 4)).do(Verify)
    assert launched(world) == [1]
    assert {job.outcome for job in world.batch().jobs()} == {Outcome.FIXED, Outcome.FIXED_BY_SIBLING}


def test_two_places_are_two_families() -> None:
    world = World(local=4).submit(tests=4, profile=HOLDING)
    both = {**family(1, 3).families, **family(2, 4, place="tool/shop.py:9 in buy: KeyError: pear").families}
    comes_to(world, Surveyed(red=4, shared=4, families=both))
    assert launched(world) == [1, 2]


def test_a_base_where_all_fails_at_one_place_gets_one_agent_and_is_not_stopped() -> None:
    world = holding(6)
    assert not world.told(ev.BatchStopped)
    cause = Surveyed(red=6, cause="OSError", sample="OSError")
    other = comes_to(World(local=2).submit(tests=6, files=1, profile=HOLDING), cause)
    assert other.told(ev.BatchStopped), "unless it is the test itself that fails, or nothing can be collected"


# --- what comes of them


def test_when_the_fix_is_verified_the_others_are_tried_with_it_and_need_no_agent() -> None:
    world = mends(holding(6))
    [effect] = world.pending(Verify)
    assert [key.job for key in effect.keys] == [2, 3, 4, 5, 6], "together, because it is one tree"
    assert {world.job(n).borrowed.head for n in range(2, 7)} == {"c0de"}  # type: ignore[union-attr]
    world.do(Verify)
    assert launched(world) == [1]
    assert [job.outcome for job in world.batch().jobs()] == [Outcome.FIXED, *[Outcome.FIXED_BY_SIBLING] * 5]
    assert world.job(2).detail == "its test passes with the work of b.1"
    world.run()
    [ended] = world.told(ev.IntegrationEnded)
    assert {row.fate for number, row in ended.ledger.items() if number > 1} == {"empty"}


def test_who_still_fails_gets_an_agent_that_is_told_so() -> None:
    world = verdict(mends(holding(3)), "unverified", "KeyError: pear")
    assert launched(world) == [1, 2, 3]
    assert (job := world.job(2)).borrowed is not None
    assert job.borrowed.why_not == "KeyError: pear"
    assert job.setbacks.why == "the work of b.1 does not suffice: KeyError: pear"
    assert mends(mends(world, 2), 3).run() is world


def test_when_the_first_comes_to_nothing_the_next_goes() -> None:
    world = comes_to_nothing(holding(6))
    assert launched(world) == [1, 2]
    assert states(world)[2:] == [HELD] * 4
    mends(world, 2).do(Verify)
    assert launched(world) == [1, 2]
    assert [job.outcome for job in world.batch().jobs()][2:] == [Outcome.FIXED_BY_SIBLING] * 4


def test_after_two_that_came_to_nothing_all_others_go() -> None:
    assert MOST_FAILED == 2
    world = comes_to_nothing(comes_to_nothing(holding(6)), 2)
    assert launched(world) == [1, 2, 3, 4, 5, 6]


def test_a_first_that_is_cancelled_says_nothing_about_the_place() -> None:
    world = holding(6)
    for job in (1, 2, 3):
        world.do(Launch).cancel(job).do(Collect, Release)
    assert launched(world) == [1, 2, 3, 4]
    assert states(world)[4:] == [HELD] * 2


def test_a_claim_that_is_refuted_is_no_fix() -> None:
    world = verdict(holding(6).do(Launch).publish(1).do(Collect), "refused", "skip: it skips the test")
    assert launched(world) == [1, 2]


def test_a_first_that_is_tried_again_is_waited_for() -> None:
    world = comes_to_nothing(holding(6, retries=1))
    assert (launched(world), states(world)[1:]) == ([1, 1], [HELD] * 5)


# --- people, money, restarts


def test_one_that_is_held_can_be_cancelled_and_retried_and_gets_an_agent_then() -> None:
    world = holding(3).cancel(2)
    assert world.job(2).state is JobState.CANCELLED
    world.retry(2)
    assert launched(world) == [1, 2]


def test_one_that_a_sibling_has_fixed_gets_an_agent_when_it_is_retried() -> None:
    world = mends(holding(4, 1, 2)).do(Verify).retry(2)
    assert (launched(world)[-1], world.job(2).borrowed) == (2, None)


def test_one_that_is_cancelled_while_it_is_tried_gives_its_slot_back() -> None:
    world = mends(holding(2))
    world.cancel(2)
    assert not world.pending(Verify)
    assert world.job(2).state is JobState.CANCELLED


def test_a_batch_that_is_cancelled_leaves_nobody_held() -> None:
    world = holding(6)
    world.happens(*decide(world.state, rq.Cancel("b"), world.now))
    assert not world.batch().count(HELD)
    world.do(Launch, Collect, Release)
    assert "b" not in world.state.batches


def spends(world: World) -> World:
    return world.happens(ev.UsageCounted(world.now, *world.last_attempt(1).key, input=9, output=9, model="m"))


def test_a_spent_budget_lets_an_agent_at_work_help_its_siblings_yet() -> None:
    world = spends(holding(3, budget_tokens=10).do(Launch))
    assert world.batch().is_spent
    assert states(world)[1:] == [HELD] * 2
    mends(world).do(Verify)
    assert [job.outcome for job in world.batch().jobs()][1:] == [Outcome.FIXED_BY_SIBLING] * 2


def test_with_a_spent_budget_who_is_not_helped_is_cancelled() -> None:
    world = comes_to_nothing(spends(holding(3, budget_tokens=10).do(Launch)))
    assert [job.outcome for job in world.batch().jobs()][1:] == [Outcome.CANCELLED] * 2
    tried = verdict(mends(spends(holding(3, budget_tokens=10).do(Launch))), "unverified", "KeyError")
    assert [job.outcome for job in tried.batch().jobs()][1:] == [Outcome.CANCELLED] * 2


def test_a_budget_that_is_spent_before_the_first_was_launched_cancels_the_family() -> None:
    world = holding(4, 3, 4, local=1, budget_tokens=10)
    assert states(world)[2:] == [JobState.QUEUED, HELD]
    spends(world.do(Launch))
    assert states(world)[1:] == [JobState.CANCELLED] * 3


def test_a_pause_holds_up_agents_and_no_trials() -> None:
    world = holding(6).do(Launch).happens(ev.BatchPaused(0, "b")).publish(1).do(Collect, Verify, Verify)
    assert [job.outcome for job in world.batch().jobs()][1:] == [Outcome.FIXED_BY_SIBLING] * 5


def test_trials_that_a_restart_has_ended_are_made_again() -> None:
    world = mends(holding(3)).restart()
    [effect] = world.pending(Verify)
    assert [tuple(key) for key in effect.keys] == [("b", 2, 0), ("b", 3, 0)]
    assert replayed(world.events) == world.state


def test_a_group_that_settles_nothing_goes_one_by_one() -> None:
    world = mends(holding(3))
    for _ in range(3):
        world.fail(Verify)
    assert launched(world) == [1, 2, 3]


def test_what_was_made_in_a_remote_pool_is_tried_there() -> None:
    spec = ev.PoolSpec("cloud", "modal", 2)
    world = World(spec).submit(tests=3, profile=replace(HOLDING, pools=("cloud",)))
    mends(comes_to(world, family(1, 2, 3)))
    assert [effect.pool for effect in world.pending(Verify)] == ["cloud"]


def test_work_and_trials_are_not_verified_together() -> None:
    world = World(local=4, verify_slots=1).submit(tests=4, profile=HOLDING)
    comes_to(world, family(1, 3, 4)).do(Launch)
    world.publish(1).do(Collect, Verify)
    world.publish(2).do(Collect)
    assert [[key.job for key in effect.keys] for effect in world.pending(Verify)] == [[3, 4], [2]]


def test_the_batch_is_drained_when_the_last_sibling_is_settled() -> None:
    world = mends(holding(2)).do(Release)
    assert not world.pending(Integrate)
    assert world.do(Verify).pending(Integrate)


def test_a_large_family_is_held_and_settled() -> None:
    world = mends(holding(600, verify_group=32))
    while world.pending(Verify):
        world.do(Verify)
    assert world.batch().count(DONE) == 600
    assert world.batch().state is BatchState.INTEGRATING
