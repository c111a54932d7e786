"""Agents that wait, fall silent or ask: who is told what, and when it is over."""

from typing import Any

import pytest

from supervisor.flow.attention import REPEATED_SECONDS
from supervisor.model import event as ev
from supervisor.model.effect import Launch, Nudge
from supervisor.model.job import JobState
from supervisor.model.profile import Profile
from supervisor.model.usage import Usage
from tests.flow.world import World, replayed

PROFILE = Profile(stall_timeout_seconds=600, job_timeout_seconds=36000, retries=1)


def live(profile: Profile = PROFILE) -> World:
    return World(local=1).submit(profile=profile).do(Launch)


def quiet(world: World, *, waits: bool, unheard: bool = False) -> World:
    since, key = world.now - (10 if waits else 600), world.last_attempt().key
    return world.happens(ev.AgentFellQuiet(world.now, *key, since=since, waits=waits, unheard=unheard))


def hears(world: World, kind: type[ev.AttemptEvent], **more: Any) -> World:
    return world.happens(kind(world.now, *world.last_attempt().key, **more))


def reasons(world: World) -> list[str]:
    return [event.reason for event in world.told(ev.NudgeStarted)]


def test_an_agent_that_waits_is_told_once_what_is_missing() -> None:
    world = quiet(live(), waits=True)
    [nudge] = world.pending(Nudge)
    assert "$SUPERVISOR_PUBLISH" in nudge.text and "\n" not in nudge.text  # noqa: PT018
    quiet(hears(world.do(Nudge).wait(60), ev.AgentStirred), waits=True).wait(300)
    assert reasons(world) == ["waiting"]


def test_one_that_waits_and_publishes_after_that_ends_as_any_other() -> None:
    world = quiet(live(), waits=True).do(Nudge).wait(20)
    hears(world, ev.AgentStirred).publish()
    assert world.run().told(ev.JobEnded)[0].outcome == "fixed"


def test_one_that_does_not_stir_stalls_after_the_whole_stall_time() -> None:
    world = quiet(live(), waits=True).do(Nudge)
    assert not world.wait(580).told(ev.AgentStalled)
    [stalled] = world.wait(20).told(ev.AgentStalled)
    assert "no activity for 600 s" in stalled.detail
    assert world.job().state is JobState.COLLECTING


def test_a_silent_agent_is_told_and_stalls_half_a_stall_time_later() -> None:
    world = quiet(live(), waits=False)
    assert reasons(world) == ["silent"]
    assert not world.do(Nudge).wait(290).told(ev.AgentStalled)
    assert world.wait(20).told(ev.AgentStalled)


def test_an_agent_that_stirs_is_left_alone_until_its_time_is_out() -> None:
    world = hears(quiet(live(), waits=False), ev.AgentStirred).wait(35_000)
    assert not world.told(ev.AgentStalled)
    assert world.wait(2_000).told(ev.TimeRanOut)


def test_one_that_waited_twice_is_given_up_after_it_was_told_for_each_reason() -> None:
    world = quiet(live(), waits=True).do(Nudge).wait(30)
    quiet(hears(world, ev.AgentStirred), waits=True).wait(1000)
    assert reasons(world) == ["waiting", "silent"]
    assert world.told(ev.AgentStalled)


def test_one_that_has_not_begun_is_told_to_begin_and_keeps_its_reminders() -> None:
    """Its first words were lost, or its first turn was broken off."""
    world = quiet(live(), waits=True, unheard=True)
    [nudge] = world.pending(Nudge)
    assert ("$SUPERVISOR_PROMPT" in nudge.text, "\n" in nudge.text) == (True, False)
    world = quiet(hears(world.do(Nudge).wait(30), ev.AgentStirred), waits=True)
    assert reasons(world) == ["unheard", "waiting"], "it is reminded at once, as any other"
    world = quiet(hears(world.do(Nudge).wait(30), ev.AgentStirred), waits=True).wait(1000)
    assert reasons(world) == ["unheard", "waiting", "silent"]
    assert world.told(ev.AgentStalled)
    assert replayed(world.events) == world.state


def test_one_that_is_told_to_begin_and_does_not_is_given_up() -> None:
    world = quiet(live(), waits=True, unheard=True).do(Nudge)
    assert not world.wait(580).told(ev.AgentStalled)
    assert world.wait(20).told(ev.AgentStalled)


def test_it_is_told_to_begin_once_and_then_reminded() -> None:
    world = quiet(live(), waits=True, unheard=True).do(Nudge).wait(30)
    quiet(hears(world, ev.AgentStirred), waits=True, unheard=True)
    assert reasons(world) == ["unheard", "waiting"]


def test_one_that_was_told_to_begin_and_is_refused_then_is_reminded_before_it_is_given_up() -> None:
    world = quiet(live(), waits=True, unheard=True).do(Nudge).wait(30)
    hears(world, ev.AgentStirred)
    hears(world, ev.AgentHindered, problem="limit", detail="API Error")
    quiet(world, waits=True)
    assert reasons(world) == ["unheard", "waiting"]
    assert not world.told(ev.AgentStalled)


PROGRAM = Profile(agent="command", command=("work",), stall_timeout_seconds=600, on_parked="deny", retries=0)


def test_a_program_is_told_nothing_and_stalls_after_the_stall_time() -> None:
    """It has no turns: what is typed into its terminal, it takes for input."""
    world = quiet(live(PROGRAM), waits=True, unheard=True).wait(580)
    assert not world.told(ev.AgentStalled)
    [stalled] = world.wait(20).told(ev.AgentStalled)
    assert stalled.detail == "no activity for 600 s"
    assert not world.pending(Nudge)


def test_a_program_that_asks_is_not_answered_but_given_up() -> None:
    world = hears(live(PROGRAM), ev.JobParked, question="may I?")
    [stalled] = world.told(ev.AgentStalled)
    assert stalled.detail == "it asked for permission and nobody granted it: may I?"
    assert not world.pending(Nudge)


@pytest.mark.parametrize(("agent", "is_talked_to"), [("claude", True), ("codex", True), ("command", False)])
def test_who_is_talked_to_is_a_fact_of_the_kind_of_agent(agent: str, is_talked_to: bool) -> None:
    assert Profile(agent=agent).is_talked_to is is_talked_to


@pytest.mark.parametrize("unheard", [True, False])
def test_a_message_that_did_not_reach_it_is_repeated_and_was_no_reminder(unheard: bool) -> None:
    world = quiet(live(), waits=True, unheard=unheard).fail(Nudge)
    first = reasons(world)
    assert not world.wait(9).pending(Nudge)
    world.wait(1).do(Nudge)
    assert reasons(world) == first * 2
    world = quiet(hears(world.wait(30), ev.AgentStirred), waits=True, unheard=unheard)
    assert reasons(world)[2:] == (["waiting"] if unheard else []), "what it was told, it was told once"
    assert replayed(world.events) == world.state


def test_it_is_not_repeated_to_one_that_is_active_again() -> None:
    world = hears(quiet(live(), waits=True).fail(Nudge), ev.AgentStirred).wait(100)
    assert reasons(world) == ["waiting"]
    assert reasons(quiet(world, waits=True)) == ["waiting"] * 2, "nobody has told it so far"


def test_one_that_no_message_reaches_is_given_up_as_late_as_one_that_does_not_answer() -> None:
    world = quiet(live(), waits=True)
    for seconds in REPEATED_SECONDS:
        world.fail(Nudge).wait(seconds)
    world.fail(Nudge)
    assert reasons(world) == ["waiting"] * (1 + len(REPEATED_SECONDS))
    assert not world.wait(300).told(ev.AgentStalled)
    assert world.wait(300).told(ev.AgentStalled)
    assert replayed(world.events) == world.state


def test_messages_in_journals_of_versions_that_did_not_repeat_them_are_not_repeated() -> None:
    world = quiet(live(), waits=True)
    [nudge] = world.pending(Nudge)
    world.happens(ev.AgentNudged(world.now, *nudge.attempt.key, delivered=False))
    assert reasons(world.wait(100)) == ["waiting"]


def test_stalls_use_up_the_retries_and_then_the_job_is_stalled() -> None:
    world = live()
    for _ in range(2):
        quiet(world, waits=False).wait(301)
        for _ in range(3):
            world.do(*(type(effect) for effect in list(world.asked)))
    assert [event.counts for event in world.told(ev.JobRequeued)] == [True]
    assert [event.outcome for event in world.told(ev.JobEnded)] == ["stalled"]


def test_a_hindered_agent_costs_no_retry_and_goes_again_later() -> None:
    """As older journals tell it: nobody knows how long."""
    problem = "limit"
    world = live(Profile(stall_timeout_seconds=600, retries=0))
    for attempt in (1, 2, 3):
        hears(world, ev.AgentHindered, problem=problem, detail="API Error")
        quiet(world, waits=True).do(Nudge).wait(5)
        quiet(hears(world, ev.AgentStirred), waits=True)
        assert len(world.told(ev.AgentStalled)) == attempt, "it is given up at once, and not told again"
        for _ in range(3):
            world.do(*(type(effect) for effect in list(world.asked)))
        requeued = world.told(ev.JobRequeued)[-1]
        assert (requeued.counts, requeued.ready_at - world.now) == (False, 60.0 * 2 ** (attempt - 1))
        assert world.job().setbacks.hindrance == problem, "it can be seen why the job waits"
        world.wait(4000).do(Launch)
    assert world.job().setbacks.hindrance == ""
    assert world.job().setbacks.retries == 0


def test_an_error_that_passes_leaves_no_trace() -> None:
    world = hears(live(), ev.AgentHindered, problem="overload", detail="529")
    hears(world, ev.AgentHindered, problem="").publish()
    assert world.run().told(ev.JobEnded)[0].outcome == "fixed"
    assert not world.told(ev.JobRequeued)


def test_a_parked_job_waits_for_a_person() -> None:
    world = hears(live(), ev.JobParked, question="run rm?").wait(20_000)
    assert world.job().state is JobState.PARKED
    assert world.job().detail == "run rm?"
    assert not world.asked
    assert hears(world, ev.JobUnparked).job().state is JobState.RUNNING


def test_a_parked_job_may_publish_vanish_and_time_out() -> None:
    assert hears(live(), ev.JobParked).publish().job().state is JobState.COLLECTING
    assert hears(live(), ev.JobParked).vanish().job().state is JobState.COLLECTING
    assert hears(live(), ev.JobParked).wait(36_001).told(ev.TimeRanOut)


def test_by_policy_a_parked_agent_is_answered_with_no() -> None:
    world = hears(live(Profile(on_parked="deny")), ev.JobParked)
    [nudge] = world.pending(Nudge)
    assert nudge.asks
    world.do(Nudge).wait(601)
    assert reasons(world) == ["parked"]
    assert "asked for permission" in world.told(ev.AgentStalled)[0].detail


def test_by_policy_a_parked_agent_is_given_up_after_a_while() -> None:
    world = hears(live(Profile(on_parked="time-out", parked_timeout_seconds=900)), ev.JobParked)
    assert not world.wait(890).told(ev.AgentStalled)
    assert world.wait(20).told(ev.AgentStalled)
    assert not reasons(world)


def test_usage_is_a_total_and_counts_once_over_all_attempts() -> None:
    world = live()
    hears(world, ev.UsageCounted, input=10, output=1, cached=90, tool_calls=1, model="a")
    key = world.last_attempt().key
    assert world.refuses(ev.UsageCounted(world.now, *key, 10, 1, 90, 1, 0, "a")), "said twice"
    hears(world, ev.UsageCounted, input=30, output=3, cached=90, tool_calls=2, errors=1, model="a")
    world.vanish().do(*(type(effect) for effect in list(world.asked)))
    hears(world, ev.UsageCounted, input=40, output=3, cached=90, tool_calls=2, errors=1, model="a")
    for _ in range(3):
        world.do(*(type(effect) for effect in list(world.asked)))
    hears(world, ev.UsageCounted, input=5, output=5, cached=0, model="a")
    hears(world, ev.UsageCounted, input=6, output=5, cached=0, model="b")
    assert world.job().usage == world.batch().usage == Usage(46, 8, 90, 2, 1, "b")
    assert world.refuses(ev.UsageCounted(world.now, *key, 99)), "its agent is put away"
    assert replayed(world.events) == world.state
