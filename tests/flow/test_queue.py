"""Jobs go in order, those that go again go first, and an empty queue makes its batch's integration due."""

from supervisor.model import event as ev
from supervisor.model.batch import BatchState
from supervisor.model.effect import Collect, Integrate, Launch, Release, Verify
from supervisor.model.job import JobState
from supervisor.model.profile import Profile
from tests.flow.world import World


def launched(world: World) -> list[int]:
    return [event.job for event in world.told(ev.LaunchStarted)]


def test_jobs_are_launched_in_the_order_they_were_submitted_in() -> None:
    world = World(local=2).submit(tests=4)
    assert launched(world) == [1, 2]
    world.do(Launch).publish(2).do(Collect)
    assert launched(world) == [1, 2, 3]


def test_a_job_nothing_has_happened_to_has_no_record() -> None:
    world = World(local=1).submit(tests=10_000)
    assert len(world.batch().touched) == 1
    assert world.batch().count(JobState.QUEUED) == 9_999


def test_a_job_that_goes_again_goes_before_those_that_never_went() -> None:
    world = World(local=1).submit(tests=3).do(Launch).vanish(1).do(Collect, Release)
    assert launched(world) == [1, 1]


def test_a_job_cancelled_while_it_waits_is_passed_over() -> None:
    world = World(local=1).submit(tests=4).cancel(2).cancel(3)
    world.do(Launch).publish(1).do(Collect)
    assert launched(world) == [1, 4]


def test_the_drained_queue_triggers_one_integration() -> None:
    world = World(local=2).submit(tests=2).do(Launch).publish(1).publish(2)
    world.do(Collect)
    assert not world.pending(Integrate)  # what is not judged is not drained
    world.do(Verify)
    assert len(world.pending(Integrate)) == 1
    world.do(Release, Integrate)
    assert len(world.told(ev.IntegrationStarted)) == 1


def test_a_batch_whose_jobs_were_all_cancelled_is_integrated_too() -> None:
    world = World(local=0).submit(tests=2).cancel(1).cancel(2)
    assert world.batch().state is BatchState.INTEGRATING


def test_a_job_retried_before_the_integration_puts_it_off() -> None:
    world = World(local=0).submit(tests=2).cancel(1)
    for event in (ev.JobCancelled(world.now, "b", 2), ev.JobRetried(world.now, "b", 1)):
        world.record(event)  # in one turn, before anything is planned
    world.catch_up()
    assert world.batch().state is BatchState.QUEUED
    assert world.job(1).state is JobState.QUEUED


def test_a_job_waits_out_its_back_off_and_lets_others_pass() -> None:
    world = World(local=1).submit(tests=2).fail(Launch, "timeout").do(Release)
    assert launched(world) == [1, 2]
    world.do(Launch).publish(2).do(Collect).wait(2)
    assert launched(world) == [1, 2, 1]


def test_a_batch_of_many_runs_to_its_end() -> None:
    world = World(local=7).submit(tests=100, profile=Profile(slots=5)).run()
    assert len(world.told(ev.JobEnded)) == 100
    assert world.told(ev.BatchSealed)
