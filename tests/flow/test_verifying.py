"""Slots for verification: who gets one next, with whom, and what ends it."""

from collections.abc import Sequence

from supervisor.flow.verifying import ENOUGH, GATHER_SECONDS, GROUP_SECONDS, QUIET_SECONDS, width_of
from supervisor.model import event as ev
from supervisor.model.attempt import AttemptKey
from supervisor.model.effect import Collect, Launch, RunAtBase, Verify
from supervisor.model.job import JobState
from supervisor.model.outcome import Outcome
from supervisor.model.profile import Profile
from supervisor.model.survey import Surveyed
from supervisor.model.verifying import FIRST_SIZE
from tests.flow.world import World


def claims(world: World, jobs: Sequence[int], batch: str = "b") -> World:
    """These jobs have been collected, one after the other, and wait for others no longer."""
    for job in jobs:
        world.publish(job, batch).do(Collect).gather()
    return world


def waiting(jobs: int = 4, *, verify_slots: int = 1, profile: Profile | None = None) -> World:
    """All agents are at work, and the first claim has the one slot."""
    world = World(local=20, verify_slots=verify_slots).submit(tests=jobs, profile=profile).do(Launch)
    return claims(world, range(1, jobs + 1))


def groups(world: World) -> list[list[int]]:
    return [[key.job for key in effect.keys] for effect in world.pending(Verify)]


def key(job: int, attempt: int = 1, batch: str = "b") -> AttemptKey:
    return AttemptKey(batch, job, attempt)


def busy(jobs: int = 4, profile: Profile | None = None, **options: int) -> World:
    """The same, with a job that waits for an agent: no agent's slot is idle."""
    world = World(local=jobs, **options).submit(tests=jobs + 1, profile=profile).do(Launch)
    world.happens(ev.QueuePaused(world.now))
    return claims(world, range(1, jobs + 1))


# --- slots


def widths(world: World) -> list[int]:
    firsts = [effect.keys[0] for effect in world.pending(Verify)]
    return [width_of(world.state, each) for each in firsts]


def test_groups_share_the_slots_that_nobody_waits_for() -> None:
    assert widths(busy(1, verify_slots=4)) == [4]
    assert widths(busy(2, verify_slots=3)) == [2, 1]
    assert widths(waiting(1, verify_slots=2)) == [4]


def test_while_claims_wait_each_group_has_its_own_slot() -> None:
    assert widths(busy(4, verify_slots=1)) == [1]


def test_a_group_that_is_over_has_one_slot() -> None:
    assert width_of(busy(1, verify_slots=4).state, key(3)) == 1


def test_no_more_than_its_slots() -> None:
    world = busy(4, verify_slots=1)
    assert groups(world) == [[1]]
    assert {each.job for each in world.state.verifying.waiting} == {2, 3, 4}


def test_slots_of_agents_that_fall_idle_verify() -> None:
    """When no job waits for an agent any more, as many again."""
    assert groups(waiting(4, verify_slots=1)) == [[1], [2]]


def test_what_waits_is_not_split_over_the_free_slots() -> None:
    """A group uses the slots that nobody else needs, and two groups cost more than one."""
    world = busy(13, verify_slots=1)
    world.happens(ev.PoolsConfigured(world.now, world.state.configured, verify_slots=3))
    assert groups(world) == [[1], list(range(2, 14))]
    assert widths(world) == [2, 1]


def test_more_slots_are_taken_at_once() -> None:
    world = busy(4, verify_slots=1)
    world.happens(ev.PoolsConfigured(world.now, world.state.configured, verify_slots=2))
    assert groups(world) == [[1], [2, 3, 4]]


def test_higher_priority_goes_first() -> None:
    world = World(local=20, verify_slots=1).submit("a", tests=2).submit("z", tests=2, priority=5).do(Launch)
    world.happens(ev.QueuePaused(world.now)).submit("later", tests=1)
    for batch in ("a", "z"):
        claims(world, [1, 2], batch)
    assert groups(world) == [[1]]
    world.do(Verify)
    [effect] = world.pending(Verify)
    assert {each.batch for each in effect.keys} == {"z"}


# --- gathering


def test_claims_wait_a_moment_for_others_while_agents_are_at_work() -> None:
    world = World(local=20).submit(tests=20).do(Launch)
    world.publish(1).do(Collect).wait(QUIET_SECONDS - 1)
    world.publish(2).do(Collect).wait(QUIET_SECONDS - 1)
    assert groups(world) == []
    assert groups(world.wait(1)) == [[1, 2]]


def test_they_wait_no_longer_if_others_come_and_come() -> None:
    world = World(local=60).submit(tests=60).do(Launch)
    began = world.now
    for job in range(1, 60):
        world.publish(job).do(Collect).wait(QUIET_SECONDS / 2)
        if groups(world):
            break
    assert world.now - began <= GATHER_SECONDS + QUIET_SECONDS


def test_a_large_group_waits_for_nobody() -> None:
    world = World(local=60).submit(tests=60).do(Launch)
    for job in range(1, ENOUGH + 1):
        assert groups(world) == []
        world.publish(job).do(Collect)
    assert groups(world) == [list(range(1, ENOUGH + 1))]


def test_when_no_agent_is_at_work_they_wait_for_nobody() -> None:
    world = World(local=2).submit(tests=2).do(Launch)
    world.publish(1).do(Collect).publish(2).do(Collect)
    assert groups(world) == [[1, 2]]


def test_one_by_one_waits_for_nobody() -> None:
    world = World(local=4).submit(tests=4, profile=Profile(verify_group=1)).do(Launch)
    assert groups(world.publish(1).do(Collect)) == [[1]]


# --- groups


def test_what_waits_goes_together() -> None:
    world = busy(4, verify_slots=1).do(Verify)
    assert groups(world) == [[2, 3, 4]]
    assert all(world.job(number).state is JobState.VERIFYING for number in (2, 3, 4))


def clean(survey: str) -> World:
    """No test needed work, and one claim has the one slot."""
    world = World(local=4, verify_slots=1).submit(tests=5, profile=Profile(survey=survey)).do(Launch)
    world.happens(ev.QueuePaused(world.now))
    for job in (1, 2, 3):
        world.publish(job)
        [effect] = world.pending(Collect)
        world.answer(
            effect, ev.WorkCollected(world.now, *key(job), claim=Outcome.CLEAN, detail="", head="", commits=0)
        )
    return world.gather()


def test_claims_without_work_go_together() -> None:
    """Their files run at once."""
    assert groups(clean("file")) == [[1, 2, 3]]


def test_without_a_survey_each_of_them_runs_its_own_test() -> None:
    assert groups(clean("none")) == [[1]]


def test_claims_of_one_file_go_together() -> None:
    """A group runs all tests of each file that it has."""
    tests = tuple(f"tests/test_{'abc'[n % 3]}.py::test_{n}" for n in range(10))
    profile = Profile(verify_group=4)
    world = World(local=9, verify_slots=1).happens(ev.BatchSubmitted(0, "b", "/repo", "base", tests, profile, 0))
    claims(world.do(Launch).happens(ev.QueuePaused(world.now)), range(1, 10)).do(Verify)
    assert groups(world) == [[2, 5, 8, 3]]


def test_one_by_one_if_the_profile_says_so() -> None:
    world = World(local=4, verify_slots=1).submit(tests=5, profile=Profile(verify_group=1)).do(Launch)
    claims(world.happens(ev.QueuePaused(0)), [1, 2, 3])
    assert groups(world.do(Verify)) == [[2]]


def test_a_suspect_goes_alone_and_the_others_are_done() -> None:
    world = busy(4, verify_slots=1).do(Verify)
    [effect] = world.pending(Verify)
    world.happens(ev.WorkPutBack(world.now, *key(3), most=1, detail="red"))
    world.hear(ev.WorkVerified(world.now, *key(2), outcome="fixed"))
    world.answer(effect, ev.WorkVerified(world.now, *key(4), outcome="fixed"))
    assert groups(world) == [[3]]


def test_the_tests_of_a_group_run_within_minutes() -> None:
    """By what the survey has seen of them."""
    world = World(local=60, verify_slots=1).submit(tests=60, profile=Profile(survey="full")).do(Launch)
    [effect] = world.pending(RunAtBase)
    world.answer(effect, ev.SurveyEnded(world.now, "b", effect.number, Surveyed(green=60, seconds=60 * 30.0)))
    claims(world, range(1, 41)).do(Verify)
    assert {len(each) for each in groups(world)} == {GROUP_SECONDS / 30}


def test_groups_shrink_when_red_and_grow_while_green() -> None:
    world = busy(120, Profile(verify_group=100), verify_slots=1).do(Verify)
    assert groups(world) == [list(range(2, 34))]
    world.do(Verify)
    assert groups(world) == [list(range(34, 98))], "twice as large"
    world.fail(Verify)
    assert groups(world) == [list(range(34, 66))], "half of it"


def test_who_meets_others_goes_with_those_it_does_not_meet() -> None:
    world = busy(6, verify_slots=1).do(Verify)
    assert groups(world) == [[2, 3, 4, 5, 6]]
    for number, meets in ((2, (3, 4)), (3, (2,)), (5, (6,))):
        world.happens(ev.WorkPutBack(world.now, *key(number), most=32, meets=meets))
    [effect] = world.pending(Verify)
    world.hear(ev.WorkVerified(world.now, *key(4), outcome="fixed"))
    world.answer(effect, ev.WorkVerified(world.now, *key(6), outcome="fixed"))
    assert groups(world) == [[2, 5]], "3 meets 2"
    world.do(Verify)
    assert groups(world) == [[3]]
    assert world.state.verifying.size("b") == FIRST_SIZE, "it was not too large"


# --- what ends it


def test_a_cancelled_claim_waits_no_more() -> None:
    world = busy(4, verify_slots=1).cancel(2)
    assert groups(world.do(Verify)) == [[3, 4]]


def test_a_group_that_nobody_waits_for_is_abandoned() -> None:
    world = busy(3, verify_slots=1).do(Verify)
    assert groups(world) == [[2, 3]]
    world.cancel(2)
    assert groups(world) == [[2, 3]], "one of its jobs still waits for it"
    world.cancel(3)
    assert groups(world) == []
    assert not world.state.verifying.groups


def test_a_late_verdict_of_an_abandoned_group_changes_nothing() -> None:
    world = busy(1, verify_slots=1).cancel(1)
    assert world.refuses(ev.WorkVerified(world.now, *key(1), outcome="fixed"))


def test_after_a_restart_all_of_it_waits_again() -> None:
    world = busy(4, verify_slots=1).do(Verify).restart()
    assert groups(world) == [[2, 3, 4]]


def test_a_journal_of_an_older_version_has_no_groups() -> None:
    """There every claim was verified at once, whatever the number of slots."""
    world = busy(4, verify_slots=1)
    world.happens(*(ev.VerifyStarted(world.now, *key(job)) for job in (2, 3, 4)))
    assert len(world.state.verifying.groups) == 4
    world.restart()
    assert len(world.state.verifying.groups) == 1
