"""Whether a job goes again, and what its outcome is when it does not."""

import pytest

from supervisor.flow.settle import MOST_LAUNCHES
from supervisor.model import event as ev
from supervisor.model.effect import Collect, Launch, Release, Verify
from supervisor.model.outcome import Outcome
from supervisor.model.profile import Profile
from tests.flow.world import World


def submitted(retries: int = 1) -> World:
    return World(local=1).submit(profile=Profile(retries=retries))


def crashed(world: World) -> World:
    return world.do(Launch).vanish().do(Collect, Release)


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_a_crash_uses_up_a_retry_and_after_the_last_the_job_is_lost(retries: int) -> None:
    world = submitted(retries)
    for _ in range(retries):
        assert crashed(world).job().outcome is None
    assert crashed(world).job().outcome is Outcome.LOST
    assert world.job().attempts == retries + 1


def test_a_provider_that_is_down_for_ever_fails_no_job() -> None:
    world = submitted(retries=0)
    for _ in range(50):
        world.fail(Launch, "provider").do(Release).wait(300)
    assert world.job().outcome is None
    assert world.do(Launch).publish().do(Collect, Verify).job().outcome is Outcome.FIXED


def test_a_provider_that_was_down_leaves_a_job_all_its_launches() -> None:
    world = submitted()
    for _ in range(MOST_LAUNCHES):
        world.fail(Launch, "provider").do(Release).wait(300)
    world.fail(Launch, "timeout").do(Release)
    assert world.job().outcome is None


def test_restarts_in_the_middle_of_a_launch_use_up_nothing() -> None:
    world = submitted(retries=0)
    for attempt in range(1, 20):
        world.restart().happens(ev.LaunchFailed(world.now, "b", 1, attempt, "interrupted")).do(Release)
    assert (world.job().attempts, world.job().setbacks.retries, world.job().setbacks.launches) == (20, 0, 0)


def test_a_launch_that_keeps_failing_is_given_up_after_a_few_tries_ever_further_apart() -> None:
    world = submitted()
    waits = []
    for _ in range(MOST_LAUNCHES - 1):
        world.fail(Launch, "garbage").do(Release)
        waits.append(world.state.agenda.times["ready", "b", 1] - world.now)
        world.wait(waits[-1])
    assert waits == [2, 4, 8, 16]
    assert world.fail(Launch, "garbage").do(Release).job().outcome is Outcome.FAILED
    assert world.job().setbacks.retries == 0


def test_a_launch_that_succeeds_forgets_those_that_failed() -> None:
    world = submitted().fail(Launch, "garbage").do(Release).wait(2).do(Launch)
    assert world.job().setbacks.launches == 0


def test_asking_again_does_not_help_when_mngr_says_no() -> None:
    world = submitted().fail(Launch, "refused")
    assert (world.job().outcome, world.job().attempts) == (Outcome.FAILED, 1)


def test_an_agent_that_did_not_start_is_put_away_and_its_job_goes_again() -> None:
    world = submitted().fail(Launch, "not-started").wait(60)
    assert len(world.told(ev.LaunchStarted)) == 1, "it may be there yet"
    world.do(Release).wait(2).do(Launch)
    assert (world.job().attempts, world.job().setbacks.retries, world.job().outcome) == (2, 0, None)


def test_time_that_ran_out_does_not_come_back() -> None:
    world = submitted(retries=3).do(Launch).wait(3600).do(Collect, Release)
    assert (world.job().outcome, world.job().attempts) == (Outcome.TIMED_OUT, 1)


def test_a_cancelled_job_does_not_go_again() -> None:
    world = submitted(retries=3).do(Launch).vanish().cancel(1).do(Collect, Release)
    assert (world.job().outcome, world.job().attempts) == (Outcome.CANCELLED, 1)


def test_in_a_cancelled_batch_nothing_goes_again() -> None:
    world = submitted(retries=3).do(Launch).vanish()
    world.happens(ev.BatchCancelled(world.now, "b")).do(Collect)
    assert world.job().outcome is None
    world.do(Release)
    assert not world.state.batches  # ended, finished and sealed


def test_a_person_gives_a_job_its_retries_back() -> None:
    world = World(local=1).submit(tests=2)
    crashed(crashed(world))
    assert world.job(1).outcome is Outcome.LOST
    world.cancel(2).do(Launch).happens(ev.JobRetried(world.now, "b", 1)).do(Collect, Release, Launch)
    assert crashed(crashed(world)).told(ev.JobEnded)[-1].outcome == Outcome.LOST
    assert len(world.told(ev.LaunchStarted)) == 5
