"""The integrator's agent is an attempt like any other, as job 0 of its batch: crash-safe, and never in the way."""

from hypothesis import settings

from supervisor.flow.requests import decide
from supervisor.model import event as ev
from supervisor.model import request as rq
from supervisor.model.attempt import AttemptKey
from supervisor.model.batch import BatchState
from supervisor.model.effect import Collect, Effect, Integrate, Launch, Release, Verify
from supervisor.model.job import INTEGRATOR
from supervisor.model.outcome import Outcome
from supervisor.model.profile import Profile
from tests.flow.laws import check_books, check_nothing_is_forgotten
from tests.flow.test_promises import POOLS, Promises, tried
from tests.flow.world import World
from tests.properties import examples


class JudgedWorld(World):
    """Where every integration wants judgement, once."""

    def success(self, effect: Effect) -> ev.Event:
        match effect:
            case Integrate(batch=batch, number=number) if batch in self.state.batches:
                if self.state.batches[batch].integrator is None:
                    return ev.JudgementWanted(self.now, batch, number, "2 conflicts")
        return super().success(effect)


def judged(profile: Profile | None = None) -> World:
    """Its only job is done, and its integrator is being launched."""
    world = JudgedWorld(local=1).submit(tests=1, profile=profile)
    return world.do(Launch).publish().do(Collect, Verify, Release, Integrate)


def test_an_integrator_is_launched_collected_and_the_integration_goes_on() -> None:
    world = judged()
    assert world.batch().state is BatchState.INTEGRATING
    assert world.state.attempts[AttemptKey("b", INTEGRATOR, 1)].agent_name == "sv-b-0-1"
    world.do(Launch).publish(INTEGRATOR).do(Collect)
    assert not world.pending(Verify)
    assert world.job(INTEGRATOR).outcome is Outcome.FIXED
    world.do(Integrate)
    assert world.batch().state is BatchState.FINISHED
    assert not world.do(Release).state.batches
    assert len(world.told(ev.IntegrationStarted)) == len(world.told(ev.IntegrationEnded)) == 1


def test_it_is_in_no_count_and_in_no_list_of_jobs() -> None:
    world = judged()
    assert [job.number for job in world.batch().jobs()] == [1]
    assert sum(world.batch().counts.values()) == 1


def test_one_that_crashes_goes_again_and_is_then_done_without() -> None:
    world = judged().do(Launch).vanish(INTEGRATOR).do(Collect, Release, Launch)
    assert world.job(INTEGRATOR).attempts == 2
    world.vanish(INTEGRATOR).do(Collect, Release)
    assert world.job(INTEGRATOR).outcome is Outcome.LOST
    world.do(Integrate)
    assert world.told(ev.BatchFinished)
    assert not world.state.batches


def test_one_that_never_ends_is_given_up_when_its_time_is_over() -> None:
    world = judged(Profile(job_timeout_seconds=60)).do(Launch).wait(61).do(Collect, Release, Integrate)
    assert world.told(ev.BatchFinished)
    assert not world.state.batches


def test_who_cancels_the_batch_ends_it_and_the_machines_branch_stands() -> None:
    world = judged().do(Launch)
    world.happens(*decide(world.state, rq.Cancel("b"), world.now)).do(Collect, Release)
    assert world.job(INTEGRATOR).outcome is Outcome.CANCELLED
    world.do(Integrate)
    assert world.told(ev.IntegrationEnded)
    assert not world.state.batches


def test_it_waits_for_a_slot_but_for_no_window() -> None:
    """At noon a window at night is closed: a branch is made all the same, before people come."""
    world: World = JudgedWorld(local=1).submit(tests=1, profile=Profile(window="11:59-12:01"))
    world.do(Launch).publish().do(Collect, Verify, Release).wait(600).do(Integrate)
    assert [effect.attempt.key.job for effect in world.pending(Launch)] == [INTEGRATOR]
    world = judged()
    world.happens(ev.SlotsChanged(world.now, "local", 0))
    world.fail(Launch, "timeout").do(Release)
    assert not world.pending(Launch)
    check_nothing_is_forgotten(world.state, world.asked)


def test_a_restart_does_not_integrate_beside_a_live_integrator() -> None:
    world = judged().do(Launch).restart()
    assert not world.pending(Integrate)
    world.publish(INTEGRATOR).restart().do(Collect).restart()
    assert len(world.pending(Integrate)) == 1
    check_books(world.state)


def test_an_answer_of_the_first_pass_comes_too_late_once_judgement_is_wanted() -> None:
    world = judged()
    assert world.refuses(ev.JudgementWanted(world.now, "b", 1))
    assert world.refuses(World.success(world, Integrate(world.events[-1], "b", 1)))


class JudgedPromises(Promises):
    """All promises hold where integrators are launched, too."""

    def __init__(self) -> None:
        super().__init__()
        self.world = JudgedWorld(*POOLS)
        self.world.watchers.append(self.historian)


TestJudgedPromises = JudgedPromises.TestCase
TestJudgedPromises.settings = settings(tried, max_examples=examples(1))
