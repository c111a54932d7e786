"""A batch whose budget is spent comes to its end; one whose model's provider wants a person waits for that."""

from typing import Any

import pytest

from supervisor.errors import Refused
from supervisor.flow.attention import TOLD
from supervisor.flow.requests import decide
from supervisor.flow.stopping import WRAP_UP_SECONDS
from supervisor.model import event as ev
from supervisor.model import request as rq
from supervisor.model.batch import BatchState
from supervisor.model.effect import Collect, Integrate, Launch, Nudge, Release, Verify
from supervisor.model.job import JobState
from supervisor.model.profile import Profile
from tests.flow.world import World


def working(tests: int = 5, slots: int = 2, **profile: object) -> World:
    settings = Profile(**{"budget_tokens": 1000, "retries": 0, **profile})  # type: ignore[arg-type]
    return World(local=slots).submit(tests=tests, profile=settings).do(Launch)


def hears(world: World, kind: type[ev.AttemptEvent], job: int = 1, **what: Any) -> World:
    return world.happens(kind(world.now, *world.last_attempt(job).key, **what))


def uses(world: World, tokens: int, job: int = 1) -> World:
    return hears(world, ev.UsageCounted, job, input=tokens)


def outcomes(world: World) -> list[tuple[int, str]]:
    return sorted((event.job, event.outcome) for event in world.told(ev.JobEnded))


# --- a budget


def test_below_its_budget_a_batch_goes_on() -> None:
    world = uses(working(), 999)
    assert not world.told(ev.BatchStopped)
    assert len(world.publish(1).do(Collect).pending(Launch)) == 1


def test_every_token_counts_towards_it() -> None:
    world = hears(working(), ev.UsageCounted, input=400, output=100, cached=499)
    assert hears(world, ev.UsageCounted, 2, output=1).batch().stop.reason == "budget"


def test_once_it_is_spent_nothing_is_begun_and_what_is_done_is_integrated() -> None:
    world = working().publish(1).do(Collect, Release)
    uses(world, 1200, job=2)
    assert "1,000 tokens" in world.told(ev.BatchStopped)[0].detail
    world.publish(2).run()
    assert {event.job for event in world.told(ev.LaunchStarted)} == {1, 2, 3}, "the third was under way already"
    ledger = world.told(ev.IntegrationEnded)[0].ledger
    assert {number: row.fate for number, row in ledger.items() if number > 2} == dict.fromkeys((3, 4, 5), "cancelled")


def test_agents_at_work_are_told_once_and_what_they_publish_counts() -> None:
    world = uses(working(), 1000)
    assert [(nudge.attempt.key.job, nudge.text) for nudge in world.pending(Nudge)] == [
        (1, TOLD["budget"]),
        (2, TOLD["budget"]),
    ]
    uses(world.do(Nudge), 2000)
    assert not world.pending(Nudge)
    assert outcomes(world.publish(1).publish(2).do(Collect).run()) == [(1, "fixed"), (2, "fixed")]


def test_a_message_that_did_not_reach_one_is_repeated_and_gives_no_more_time() -> None:
    world = uses(working(tests=1), 1000).fail(Nudge).wait(10)
    assert [nudge.text for nudge in world.pending(Nudge)] == [TOLD["budget"]]
    world.do(Nudge)
    assert not world.wait(WRAP_UP_SECONDS - 11).pending(Collect)
    assert world.wait(1).pending(Collect)


def test_one_that_does_not_wrap_up_is_put_away_and_its_work_kept() -> None:
    world = uses(working(tests=2), 1000).do(Nudge).wait(WRAP_UP_SECONDS - 1)
    assert not world.pending(Collect)
    world.wait(1)
    assert [collect.rescue for collect in world.pending(Collect)] == [True, True]
    world.run()
    assert [(event.outcome, event.detail) for event in world.told(ev.JobEnded)] == [
        ("cancelled", world.told(ev.BatchStopped)[0].detail)
    ] * 2


def test_programs_at_work_are_told_nothing_and_have_the_same_time() -> None:
    world = World(local=2).submit(tests=2, profile=Profile(agent="command", budget_tokens=10)).do(Launch, Launch)
    uses(world, 10).wait(WRAP_UP_SECONDS - 1)
    assert not world.told(ev.NudgeStarted) + world.pending(Collect)
    world.publish(1).wait(1)
    assert [(collect.attempt.key.job, collect.rescue) for collect in world.pending(Collect)] == [
        (1, False),
        (2, True),
    ]
    assert outcomes(world.run()) == [(1, "fixed"), (2, "cancelled")]


def test_what_waits_to_go_again_parks_or_is_just_launched_is_cancelled_at_once() -> None:
    world = World(local=4).submit(tests=4, profile=Profile(budget_tokens=10, retries=1)).do(Launch)
    world.vanish(1).do(Collect, Release)
    hears(world, ev.JobParked, 2, question="may I?")
    uses(world, 10, job=3)
    assert [event.job for event in world.told(ev.JobCancelled)] == [1, 2]
    world.answer(world.pending(Launch)[0], world.success(world.pending(Launch)[0]))
    assert world.job(1).state is JobState.COLLECTING


def test_a_crash_after_it_is_the_job_s_own_and_goes_not_again() -> None:
    world = uses(working(tests=1, retries=5), 1000).do(Nudge).vanish(1).do(Collect, Release)
    assert outcomes(world.run()) == [(1, "lost")]


def test_a_provider_s_fault_after_it_is_a_cancellation() -> None:
    world = World(local=2).submit(tests=2, profile=Profile(budget_tokens=10))
    world.answer(world.pending(Launch)[0], world.success(world.pending(Launch)[0]))
    uses(world, 10)
    world.fail(Launch, "provider")
    assert world.job(2).state is JobState.CANCELLED


def test_the_integrator_s_agent_counts_too() -> None:
    world = working(tests=1).publish(1).do(Collect, Verify, Release)
    asked = world.pending(Integrate)[0]
    world.answer(asked, ev.JudgementWanted(world.now, "b", asked.number, why="a conflict")).do(Launch)
    hears(world, ev.UsageCounted, 0, input=1000)
    assert [nudge.attempt.key.job for nudge in world.pending(Nudge)] == [0]
    world.do(Nudge).wait(WRAP_UP_SECONDS)
    assert world.job(0).state is JobState.COLLECTING
    assert world.run().told(ev.BatchFinished)


def test_an_integrator_that_is_asked_for_too_late_is_not_called() -> None:
    world = working(tests=1)
    uses(world, 1000)
    world.do(Nudge).publish(1).do(Collect, Verify, Release)
    asked = world.pending(Integrate)[0]
    world.answer(asked, ev.JudgementWanted(world.now, "b", asked.number, why="a conflict"))
    assert not world.pending(Launch)
    assert world.job(0).state is JobState.CANCELLED
    assert world.do(Integrate, Release).told(ev.BatchFinished)


def test_a_branch_of_what_is_done_so_far_takes_what_will_not_be_begun_for_over() -> None:
    world = working(tests=5, slots=2, integrate_share=0.5)
    uses(world, 1000)
    world.do(Nudge).publish(1).do(Collect, Verify)
    assert [event.jobs for event in world.told(ev.PartialStarted)] == [(1, 3, 4, 5)]
    assert world.run().told(ev.BatchFinished)


def test_it_stays_spent_after_a_restart() -> None:
    world = uses(working(), 1000).do(Nudge).restart()
    assert world.batch().is_spent
    assert world.job(5).state is JobState.CANCELLED
    assert world.wait(WRAP_UP_SECONDS).pending(Collect)


@pytest.mark.parametrize("request_", [rq.Resume("b"), rq.Retry("b", 3), rq.Retry("b")])
def test_nobody_can_make_it_go_on(request_: rq.Request) -> None:
    world = uses(working(), 1000)
    with pytest.raises(Refused, match="the budget of 1,000 tokens is spent") as refused:
        decide(world.state, request_, world.now)
    assert "budget_tokens" in (refused.value.hint or "")
    assert world.refuses(ev.JobRetried(world.now, "b", 3))


# --- a login


def refused(world: World, job: int = 1, problem: str = "login") -> World:
    """Its provider says no, it is told to go on, and its provider says no again."""
    hears(world, ev.AgentHindered, job, problem=problem, detail="Invalid API key")
    hears(world, ev.AgentFellQuiet, job, since=world.now, waits=True).do(Nudge).wait(5)
    hears(world, ev.AgentStirred, job)
    return hears(world, ev.AgentFellQuiet, job, since=world.now, waits=True)


@pytest.mark.parametrize("problem", ["login", "credit"])
def test_a_refused_login_stops_the_batch_and_costs_no_job_anything(problem: str) -> None:
    world = refused(working(), problem=problem).do(Collect, Release)
    assert [(event.reason, "Invalid API key" in event.detail) for event in world.told(ev.BatchStopped)] == [
        (problem, True)
    ]
    assert not world.pending(Launch), "its slot stays free"
    assert world.job(2).state is JobState.RUNNING, "who works is left alone"
    assert not world.wait(100_000).told(ev.JobEnded)


def test_it_goes_on_when_a_person_says_so() -> None:
    world = refused(working(tests=2)).do(Collect, Release)
    resumed = ev.BatchResumed(world.now, "b"), ev.AccountOpened(world.now, "claude", "login")
    assert decide(world.state, rq.Resume("b"), world.now) == list(resumed)
    world.happens(*resumed)
    assert [launch.attempt.key for launch in world.pending(Launch)] == [("b", 1, 2)]
    assert outcomes(world.run()) == [(1, "fixed"), (2, "fixed")]


def test_several_agents_that_are_refused_stop_it_once_and_again_after_it_went_on() -> None:
    world = refused(refused(working()), job=2).do(Collect, Release)
    assert len(world.told(ev.BatchStopped)) == 1
    world.happens(*decide(world.state, rq.Resume("b"), world.now)).do(Launch)
    refused(world)
    assert len(world.told(ev.BatchStopped)) == 2


def test_a_limit_is_waited_for() -> None:
    world = refused(working(), problem="limit").do(Collect, Release)
    assert not world.told(ev.BatchStopped)
    assert world.told(ev.JobRequeued)[0].ready_at > world.now


def test_a_stopped_batch_can_be_cancelled() -> None:
    world = refused(working()).do(Collect, Release)
    world.happens(*decide(world.state, rq.Cancel("b"), world.now)).run()
    assert world.told(ev.BatchFinished)
    assert "b" not in world.state.batches


def test_a_budget_that_is_spent_has_the_last_word() -> None:
    world = refused(working()).do(Collect, Release)
    uses(world, 1000, job=2)
    assert [event.reason for event in world.told(ev.BatchStopped)] == ["login", "budget"]
    assert world.publish(2).do(Collect, Release).batch().state in (BatchState.RUNNING, BatchState.INTEGRATING)
