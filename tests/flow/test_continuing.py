"""The job of an agent that was put away asleep starts again from what it left, and no other job does."""

import pytest

from supervisor.model import event as ev
from supervisor.model.effect import Launch, Release
from supervisor.model.job import Job
from tests.flow.test_sleeping import HEAD, LATE, USED, at_work, counted, key, left, refused
from tests.flow.world import World, replayed


def declined(head: str = HEAD, unsaved: str = "") -> World:
    """The job is queued again, and its account is paused."""
    return left(refused(counted(at_work(2), 4, 2 * USED, USED), 4, 500), head, unsaved)


def again(world: World) -> ev.LaunchStarted:
    world.wait(500 + LATE)
    return world.told(ev.LaunchStarted)[-1]


def job_of(world: World) -> Job:
    return world.job(4)


def test_the_next_attempt_begins_with_what_was_rescued() -> None:
    world = declined()
    began = again(world)
    assert (began.job, began.attempt, began.continues) == (4, 2, 1)
    assert world.last_attempt(4).continues == 1
    assert replayed(world.events) == world.state


@pytest.mark.parametrize(("head", "unsaved"), [("", ""), (HEAD, "the nested repository in lib"), ("", "all of it")])
def test_but_not_with_half_of_it_or_nothing(head: str, unsaved: str) -> None:
    assert again(declined(head, unsaved)).continues == 0


def test_a_launch_that_fails_or_is_cut_short_does_not_forget_it() -> None:
    world = declined()
    again(world)
    world.fail(Launch, "not-started").do(Release).wait(10)
    assert world.told(ev.LaunchStarted)[-1].continues == 1
    world.restart().happens(ev.LaunchInterrupted(world.now, *key(world, 4), host_id="host"))
    left(world, head="beef")
    assert world.told(ev.LaunchStarted)[-1].continues == 1


def test_what_a_crash_leaves_is_only_kept() -> None:
    world = declined()
    again(world)
    world.do(Launch).happens(ev.JobCancelled(world.now, "b", 4, author="ann"))
    left(world).retry(4)
    assert world.told(ev.LaunchStarted)[-1].continues == 0


def test_who_retries_a_job_starts_it_at_the_base() -> None:
    world = declined().cancel(4).retry(4)
    assert job_of(world).continues == 0


def test_another_sleeper_hands_on_its_own() -> None:
    world = declined()
    again(world)
    counted(world.do(Launch), 4, 2 * USED, USED)
    left(refused(world, 4, 500), "beef")
    assert again(world).continues == 2
