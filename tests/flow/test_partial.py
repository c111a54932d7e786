"""What is done so far is integrated while stragglers are at work, and everything at the end all the same."""

from dataclasses import replace

import pytest

from supervisor.errors import NoSuchThing, Refused
from supervisor.flow.batches import unmerged
from supervisor.flow.partial import so_far
from supervisor.flow.requests import decide
from supervisor.model import event as ev
from supervisor.model import request as rq
from supervisor.model.batch import BatchState
from supervisor.model.effect import Collect, Integrate, IntegrateSoFar, Launch, Release, Verify
from supervisor.model.ledger import Fate
from supervisor.model.partial import SoFar
from supervisor.model.profile import Profile
from tests.flow.world import RETRY_SECONDS, World, replayed

WANTED = rq.IntegrateSoFar("b", author="ann")


def done(world: World, *jobs: int) -> World:
    for job in jobs:
        world.publish(job)
    return world.do(Collect, Verify)


def at_work(*over: int, tests: int = 4, profile: Profile | None = None) -> World:
    """All jobs have an agent, and these are over."""
    return done(World(local=tests).submit(tests=tests, profile=profile).do(Launch), *over)


def asked(world: World) -> World:
    return world.happens(*decide(world.state, WANTED, world.now))


def test_the_jobs_that_are_over_are_integrated_and_the_rest_goes_on() -> None:
    world = asked(at_work(1, 3))
    [effect] = world.pending(IntegrateSoFar)
    assert (effect.number, effect.jobs) == (1, (1, 3))
    assert world.batch().state is BatchState.RUNNING
    world.do(IntegrateSoFar)
    assert world.batch().integrations.so_far == SoFar(1, jobs=2, merged=2, branch="supervisor/b")
    assert (world.batch().integrations.partial, world.batch().result.branch) == (None, "")
    done(world, 2, 4)
    [last] = world.pending(Integrate)
    assert last.number == 2
    ended = world.do(Integrate).told(ev.IntegrationEnded)[0]
    assert set(ended.ledger) == {1, 2, 3, 4}
    assert world.batch().state is BatchState.FINISHED


def test_the_last_integration_waits_for_a_partial_one() -> None:
    world = done(asked(at_work(1)), 2, 3, 4)
    assert not world.pending(Integrate)
    assert world.do(IntegrateSoFar).pending(Integrate)


def test_it_is_made_of_what_was_over_when_it_began_also_after_a_restart() -> None:
    world = done(asked(at_work(1)), 2)
    world.restart()
    [effect] = world.pending(IntegrateSoFar)
    assert (effect.number, effect.jobs) == (1, (1,))
    assert len(world.told(ev.PartialStarted)) == len(world.told(ev.PartialResumed)) == 1
    world.do(IntegrateSoFar).run()
    assert [event.number for event in world.told(ev.IntegrationStarted)] == [2]
    assert replayed(world.events) == world.state


def test_one_that_is_drained_and_killed_in_the_middle_still_ends_first() -> None:
    world = done(asked(at_work(1)), 2, 3, 4).restart()
    assert (len(world.pending(IntegrateSoFar)), len(world.pending(Integrate))) == (1, 0)
    world.run()


def test_one_that_fails_is_tried_again_and_a_person_need_not_wait() -> None:
    world = asked(at_work(1)).fail(IntegrateSoFar)
    assert world.batch().integrations.partial is not None
    world.wait(RETRY_SECONDS)
    assert [effect.number for effect in world.pending(IntegrateSoFar)] == [1]
    asked(world.fail(IntegrateSoFar))
    assert len(world.pending(IntegrateSoFar)) == 1


def test_one_that_fails_does_not_hold_up_a_batch_that_is_drained() -> None:
    world = done(asked(at_work(1)).fail(IntegrateSoFar), 2, 3, 4)
    assert len(world.pending(Integrate)) == 1
    other = done(asked(at_work(1)), 2, 3, 4).fail(IntegrateSoFar)
    assert len(other.pending(Integrate)) == 1


def test_a_late_answer_of_one_that_was_given_up_changes_nothing() -> None:
    world = done(asked(at_work(1)).fail(IntegrateSoFar), 2, 3, 4)
    assert world.refuses(ev.PartialEnded(world.now, "b", 1))
    assert world.refuses(ev.PartialStarted(world.now, "b", 3))


def test_a_batch_that_is_cancelled_waits_until_it_has_ended() -> None:
    world = asked(at_work(1, tests=2))
    world.happens(*decide(world.state, rq.Cancel("b"), world.now)).do(Collect, Release)
    assert not world.told(ev.BatchFinished)
    world.do(IntegrateSoFar)
    assert world.told(ev.PartialEnded)
    assert len(world.told(ev.BatchFinished)) == 1


def test_what_one_has_already_makes_no_second() -> None:
    world = asked(at_work(1))
    assert decide(world.state, WANTED, world.now) == []
    world.do(IntegrateSoFar)
    assert decide(world.state, WANTED, world.now) == []
    asked(done(world, 2))
    assert [effect.jobs for effect in world.pending(IntegrateSoFar)] == [(1, 2)]


def test_a_job_that_went_again_brings_news() -> None:
    world = asked(at_work(1)).do(IntegrateSoFar).retry(1)
    assert refusal(world).startswith("batch b has no finished work yet")
    world.run()


def refusal(world: World) -> str:
    with pytest.raises(Refused) as refused:
        decide(world.state, WANTED, world.now)
    assert refused.value.hint
    return refused.value.message


def test_a_request_is_refused_where_there_is_nothing_to_do() -> None:
    assert "batch b has no finished work yet" in refusal(at_work())
    assert "is being integrated" in refusal(at_work(1, 2, 3, 4))
    assert "is already finished" in refusal(at_work(1, 2, 3, 4).do(Integrate))
    cancelled = at_work(1)
    cancelled.happens(*decide(cancelled.state, rq.Cancel("b"), cancelled.now))
    assert "is cancelled" in refusal(cancelled)
    with pytest.raises(NoSuchThing):
        decide(cancelled.state, rq.IntegrateSoFar("other"), cancelled.now)


def test_of_writers_nothing_is_integrated() -> None:
    world = at_work(1, profile=Profile(integrate_share=0.1))
    world.state = world.state.with_batch(replace(world.batch(), role="writer"))
    assert "has writers: their work is not merged" in refusal(world)


def test_a_profile_wants_one_at_a_share_of_the_jobs_once() -> None:
    world = at_work(1, profile=Profile(integrate_share=0.5))
    assert not world.pending(IntegrateSoFar)
    done(world, 2)
    assert [effect.jobs for effect in world.pending(IntegrateSoFar)] == [(1, 2)]
    done(world.do(IntegrateSoFar), 3)
    assert not world.pending(IntegrateSoFar)
    [wanted] = world.told(ev.PartialWanted)
    assert wanted.automatic
    asked(world)
    assert [effect.jobs for effect in world.pending(IntegrateSoFar)] == [(1, 2, 3)]


def test_a_profile_wants_one_some_time_after_the_first_launch() -> None:
    profile = Profile(integrate_after_seconds=7200, job_timeout_seconds=90_000)
    world = World(local=0).submit(tests=2, profile=profile).wait(3600)
    world.happens(ev.SlotsChanged(world.now, "local", 2)).do(Launch)
    done(world.wait(7000), 1)
    assert not world.wait(100).pending(IntegrateSoFar)
    assert world.wait(100).pending(IntegrateSoFar)


def test_one_that_is_due_when_the_last_job_ends_gives_way_to_the_whole() -> None:
    """Its time and the last verdict come in the same turn."""
    world = at_work(1, tests=2, profile=Profile(integrate_after_seconds=60))
    world.publish(2).do(Collect)
    [verify] = world.pending(Verify)
    world.now += 60
    world.asked.remove(verify)
    world.record(world.success(verify))
    world.catch_up()
    assert world.pending(Integrate)
    assert not world.pending(IntegrateSoFar)


def test_whichever_comes_first_is_all_that_comes() -> None:
    profile = Profile(integrate_share=0.5, integrate_after_seconds=60)
    world = at_work(1, profile=profile).wait(60).do(IntegrateSoFar)
    done(world, 2, 3)
    assert len(world.told(ev.PartialStarted)) == 1


def test_a_time_that_runs_out_before_there_is_work_is_over() -> None:
    world = at_work(profile=Profile(integrate_after_seconds=60)).wait(100)
    done(world, 1).wait(100)
    assert not world.told(ev.PartialWanted)


def test_a_share_without_any_work_wants_nothing() -> None:
    world = at_work(profile=Profile(integrate_share=0.25)).cancel(1).do(Collect)
    assert not world.told(ev.PartialWanted)
    assert done(world, 2).told(ev.PartialWanted)


def test_a_view_of_what_is_done_calls_nobody_at_work_cancelled() -> None:
    world = at_work(1, 3).retry(3).do(Launch)
    view = so_far(world.batch(), (1, 3))
    assert {number: row.fate for number, row in unmerged(view).items()} == {1: Fate.RESCUED}
    assert not view.profile.integrator
    assert view.count(world.job(1).state) == 1
