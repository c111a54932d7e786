"""The survey of a base: which files are run when, and a base that is broken."""

from dataclasses import replace
from typing import Any

import pytest

from supervisor.flow.requests import decide
from supervisor.model import event as ev
from supervisor.model import request as rq
from supervisor.model.batch import BatchState
from supervisor.model.effect import Collect, Launch, LeaveBase, Release, RunAtBase, Verify
from supervisor.model.profile import Profile
from supervisor.model.survey import MOST_NAMED, Survey, Surveyed
from tests.flow.world import World

FULL = Profile(survey="full")
BROKEN = "ModuleNotFoundError: No module named 'pantry'"


def surveyed(tests: int = 8, files: int = 4, *, local: int = 2, verify_slots: int = 1, **profile: Any) -> World:
    """A batch whose first agents are at work, and whose first file is run."""
    chosen = replace(FULL, **profile)
    return World(local=local, verify_slots=verify_slots).submit(tests=tests, files=files, profile=chosen).do(Launch)


def groups(world: World) -> list[tuple[str, ...]]:
    return [effect.files for effect in world.pending(RunAtBase)]


def comes_to(world: World, **found: Any) -> World:
    """Of the first group under way."""
    effect, *_ = world.pending(RunAtBase)
    return world.answer(effect, ev.SurveyEnded(world.now, effect.batch, effect.number, Surveyed(**found)))


def fails(world: World, tests: int, cause: str = BROKEN) -> World:
    return comes_to(world, red=tests, cause=cause, sample=cause)


def resume(world: World, batch: str = "b") -> World:
    return world.happens(*decide(world.state, rq.Resume(batch), world.now))


# --- which files, and when


def test_agents_are_launched_before_anything_is_surveyed() -> None:
    world = World(local=2).submit(tests=2, profile=FULL)
    assert [type(effect) for effect in world.asked] == [Launch, Launch, RunAtBase]


def test_the_first_group_is_one_file() -> None:
    assert groups(surveyed()) == [("tests/test_1.py",)]


def test_all_files_are_run_once_in_the_order_of_the_jobs() -> None:
    world = surveyed(tests=40, files=40)
    for _ in range(40):
        world.do(RunAtBase)
    ran = [file for event in world.told(ev.SurveyStarted) for file in event.files]
    assert ran == [f"tests/test_{n}.py" for n in range(1, 41)]
    assert len(world.told(ev.SurveyStarted)) == 6, "in larger groups, once it is known how long a file takes"
    assert world.batch().survey.found.green == 40


def test_slow_files_go_alone() -> None:
    world = comes_to(surveyed(tests=40, files=40), green=1, seconds=50.0)
    assert groups(world) == [("tests/test_2.py",)]


def test_the_groups_share_the_slots() -> None:
    world = surveyed(tests=40, files=40, verify_slots=3)
    assert [len(files) for files in groups(world)] == [1, 1, 1], "nothing is known yet"
    assert [len(files) for files in groups(world.do(RunAtBase))] == [4, 4, 4]


def test_a_claim_that_waits_has_the_next_slot() -> None:
    world = surveyed().publish(1).do(Collect).gather()
    assert not world.pending(Verify), "the one slot is taken"
    world.do(RunAtBase)
    assert world.pending(Verify)
    assert not groups(world)
    assert groups(world.do(Verify))


@pytest.mark.parametrize("profile", [Profile(), Profile(survey="none"), Profile(survey="full", verify_runs=0)])
def test_no_survey_if_the_profile_says_so_or_verifies_nothing(profile: Profile) -> None:
    assert not groups(World(local=1).submit(profile=profile))


def test_writers_have_no_survey() -> None:
    world = World(local=1)
    world.happens(
        ev.BatchSubmitted(world.now, "b", "/repo", "base", ("block-1",), FULL, role="writer", tasks=("{}",))
    )
    assert not groups(world)


def test_before_a_window_opens_the_base_is_surveyed() -> None:
    world = World(local=1).submit(profile=replace(FULL, window="22:00-06:00"))
    assert not world.pending(Launch)
    assert groups(world) == [("tests/test_it.py",)]


def test_batches_of_higher_priority_go_first() -> None:
    world = World(local=1, verify_slots=1).happens(ev.QueuePaused(0)).submit("a", profile=FULL, tests=2, files=2)
    world.submit("z", profile=FULL, priority=1).do(RunAtBase)
    assert [effect.batch for effect in world.pending(RunAtBase)] == ["z"]


# --- what ends it


def test_after_a_restart_what_was_under_way_is_due_again() -> None:
    world = surveyed().do(RunAtBase)
    [before] = groups(world)
    assert groups(world.restart()) == [before]


def test_a_cancelled_batch_gives_its_slot_back_at_once() -> None:
    world = surveyed()
    world.happens(ev.BatchCancelled(world.now, "b"))
    assert not groups(world)
    assert not world.batch().survey.under_way


def test_the_last_job_of_a_batch_ends_its_survey() -> None:
    world = surveyed(tests=2, files=2, verify_slots=2).publish(1).publish(2)
    for kind in (Collect, Verify, Release):
        world.do(kind)
    assert world.batch().state is BatchState.INTEGRATING
    assert not groups(world)
    assert world.told(ev.SurveyAbandoned)
    assert LeaveBase not in {type(effect) for effect in world.asked}


def test_what_an_abandoned_group_says_late_changes_nothing() -> None:
    world = surveyed()
    [effect] = world.pending(RunAtBase)
    world.happens(ev.BatchCancelled(world.now, "b"))
    assert world.refuses(ev.SurveyEnded(world.now, "b", effect.number))


def test_the_state_does_not_grow_with_what_is_red() -> None:
    some = Surveyed(red=90, red_tests=tuple(map(str, range(45))))
    assert len((some + some).red_tests) == MOST_NAMED
    assert (some + some).red == 180


def test_a_journal_of_an_older_version_has_no_survey() -> None:
    assert World(local=1).submit().batch().survey == Survey()


# --- a base that is broken


def test_a_setup_that_fails_stops_the_batch_before_more_agents_are_paid() -> None:
    world = surveyed()
    comes_to(world, unrun=2, problem="its setup failed: no room", cause="its setup failed", sample="no room")
    [stopped] = world.told(ev.BatchStopped)
    assert (stopped.reason, stopped.detail) == ("survey", "nothing can be run at the base: no room")
    world.publish(1).do(Collect, Verify)
    assert not world.pending(Launch), "and agents at work go on"
    assert not groups(world)


def test_a_base_where_everything_fails_for_one_reason_stops_the_batch() -> None:
    world = fails(surveyed(tests=20, files=10), 2)
    assert not world.told(ev.BatchStopped), "two tests are not enough"
    [stopped] = fails(world, 2).told(ev.BatchStopped)
    assert stopped.detail == f"all 4 tests that were run at the base fail for one reason: {BROKEN}"


def test_a_first_file_that_is_broken_says_nothing_of_the_others() -> None:
    assert not fails(surveyed(tests=20, files=4), 5).told(ev.BatchStopped)


def test_one_test_that_passes_or_fails_otherwise_is_reason_to_go_on() -> None:
    for other in ({"green": 1}, {"red": 1, "cause": "another"}, {"skipped": 1}):
        world = comes_to(surveyed(tests=20, files=10), **other)
        for _ in range(3):
            fails(world, 5)
        assert not world.told(ev.BatchStopped)


def test_assertions_in_the_same_words_have_to_be_many() -> None:
    """Each says what its own test expects, which is what agents are for."""
    world = fails(fails(surveyed(tests=40, files=10), 4, "assert False"), 4, "assert False")
    assert not world.told(ev.BatchStopped)
    assert fails(world, 4, "assert False").told(ev.BatchStopped)


def test_a_base_is_found_broken_before_the_first_launch() -> None:
    world = World(local=0, verify_slots=1).submit(tests=4, files=4, profile=FULL)
    fails(fails(world, 2), 2)
    assert world.batch().stop.reason == "survey"
    assert world.batch().state is BatchState.QUEUED


def test_when_a_person_resumes_it_the_survey_begins_anew_and_stops_it_no_more() -> None:
    world = fails(fails(surveyed(tests=20, files=10), 2), 2).publish(1).do(Collect, Verify)
    resume(world)
    assert world.pending(Launch)
    assert groups(world) == [("tests/test_1.py",)]
    assert world.batch().survey.round == 1
    for _ in range(3):
        fails(world, 2)
    assert len(world.told(ev.BatchStopped)) == 1


def test_what_was_found_while_it_was_stopped_for_another_reason_is_told_when_it_is_resumed() -> None:
    world = surveyed(tests=20, files=10)
    world.happens(ev.AgentHindered(world.now, *world.last_attempt(1).key, problem="login"))
    world.vanish(1).do(Collect, Release)
    fails(fails(world, 2), 2)
    assert [event.reason for event in world.told(ev.BatchStopped)] == ["login"]
    resume(world)
    assert [event.reason for event in world.told(ev.BatchStopped)] == ["login", "survey"]


def test_when_no_job_waits_nothing_is_stopped() -> None:
    world = fails(surveyed(tests=4, files=1, local=4), 4)
    assert not world.told(ev.BatchStopped)


def test_a_batch_whose_last_jobs_end_meanwhile_is_integrated() -> None:
    world = surveyed(tests=4, files=2, local=2, verify_slots=9).do(RunAtBase)
    assert world.run() is world
    assert world.told(ev.IntegrationEnded)
