"""The share of a subscription's windows: what is left for people, what is spread over its time, what is believed."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.flow.governor import shares
from supervisor.flow.history import apply
from supervisor.flow.requests import decide
from supervisor.model import event as ev
from supervisor.model import request as rq
from supervisor.model.account import CAP, PACE, AccountSpec, Budget, Caps
from supervisor.model.effect import Collect, Launch, Nudge, Release
from supervisor.model.share import WindowShare
from supervisor.model.state import State
from tests.flow.account_laws import check_launch
from tests.flow.test_governor import HOUR, account, configured, live
from tests.flow.world import INSTALLATION, NOON, World, replayed

FIVE_HOURS, WEEK = 300, 10_080


def subscribed(jobs: int = 10, slots: int = 1, day_tokens: int = 0, **spec: object) -> World:
    claude = AccountSpec("claude", first=100, caps=Caps(day_tokens), **spec)  # type: ignore[arg-type]
    return configured(World(local=slots), claude, budget=Budget(guess_tokens=1)).submit(tests=jobs).do(Launch)


def says(world: World, used: float, minutes: int = FIVE_HOURS, left: float = 2 * HOUR) -> World:
    """Its provider tells, and what is news happens."""
    told = WindowShare(minutes, used, world.now + left, world.now)
    event = shares.heard(world.state, "claude", told, world.now)
    return world if event is None else world.happens(event)


def next_job(world: World) -> World:
    return world.publish().do(Collect, Release)


def test_a_share_of_the_window_is_left_for_people() -> None:
    world = says(subscribed(leave=0.2), 0.79)
    assert not account(world).pauses
    says(world.wait(10), 0.8)
    [paused] = world.told(ev.AccountPaused)
    assert paused.reason == CAP
    assert paused.detail == "80 % of its 5-hour window are used, and 20 % are left for people"
    assert 0 <= paused.until - (NOON + 10 + 2 * HOUR) <= shares.JITTER_SECONDS
    assert not next_job(world).pending(Launch)
    assert not world.wait(2 * HOUR - 1).pending(Launch)
    assert world.wait(62).pending(Launch), "a new window"


def test_agents_at_work_are_told_to_publish_as_at_any_cap() -> None:
    world = says(subscribed(slots=3, leave=0.2), 0.9).do(Nudge)
    assert [event.reason for event in world.told(ev.NudgeStarted)] == ["cap"] * 3
    world.wait(300)
    assert len(world.told(ev.AgentHalted)) == 3
    world.do(Collect, Release)
    assert {event.counts for event in world.told(ev.JobRequeued)} == {False}


def test_without_leave_and_pace_nothing_changes() -> None:
    world = next_job(says(subscribed(), 1.0))
    assert world.pending(Launch)
    assert not world.told(ev.AccountPaused)


def test_with_pace_it_waits_until_its_time_has_come() -> None:
    """Three of five hours are over, and four fifths are used: an hour too early."""
    world = next_job(says(subscribed(pace=True), 0.8))
    assert not world.pending(Launch)
    [paused] = world.told(ev.AccountPaused)
    assert (paused.reason, round(paused.until - NOON)) == (PACE, HOUR)
    assert paused.detail == "80 % of its 5-hour window are used, and 60 % of its time are over"
    assert not world.wait(HOUR - 1).pending(Launch)
    assert world.wait(1).pending(Launch)


def test_the_pace_is_that_of_what_is_not_left_for_people() -> None:
    """40 % are used of the 80 % that agents may use: half of its time has to be over."""
    world = next_job(says(subscribed(pace=True, leave=0.2), 0.4, left=3 * HOUR))
    assert [(each.reason, round(each.until - NOON)) for each in world.told(ev.AccountPaused)] == [(PACE, HOUR / 2)]


def test_within_its_pace_it_goes_on() -> None:
    assert next_job(says(subscribed(pace=True), 0.6)).pending(Launch)


def test_of_several_windows_the_last_reset_counts() -> None:
    world = says(says(subscribed(leave=0.2), 0.9), 0.85, minutes=WEEK, left=90 * HOUR)
    assert account(world).pauses[CAP].until >= NOON + 90 * HOUR
    assert "7-day window" in account(world).pauses[CAP].detail


def test_a_pause_that_is_made_longer_gives_nobody_more_time_to_publish() -> None:
    world = says(subscribed(leave=0.2), 0.9).do(Nudge).wait(200)
    says(world, 0.9, minutes=WEEK, left=90 * HOUR).wait(101)
    assert len(world.told(ev.AgentHalted)) == 1


def test_a_cap_that_is_reached_meanwhile_holds_on_after_the_window() -> None:
    world = says(subscribed(leave=0.2, day_tokens=100), 0.9)
    world.happens(ev.UsageCounted(world.now, "b", 1, 1, output=100))
    assert account(world).pauses[CAP].until == NOON + 12 * HOUR


def test_when_less_is_used_than_was_said_the_pause_is_over() -> None:
    """People bought more, or the provider began a new window early."""
    world = says(subscribed(leave=0.2), 0.9)
    says(world.wait(30), 0.1)
    assert not account(world).pauses
    assert not world.wait(1000).told(ev.AgentHalted)


def test_a_smaller_share_for_people_lets_them_go_on() -> None:
    world = says(subscribed(leave=0.2), 0.85)
    spec = replace(account(world).spec, leave=0.1)
    world.happens(*decide(world.state, rq.ConfigureAccounts((spec,), world.state.budget), world.now))
    assert not account(world).pauses
    spec = replace(spec, leave=0.15)
    world.happens(*decide(world.state, rq.ConfigureAccounts((spec,), world.state.budget), world.now))
    assert set(account(world).pauses) == {CAP}


def test_a_restart_in_the_middle_knows_it() -> None:
    world = says(subscribed(leave=0.2), 0.9)
    assert replayed(world.events) == world.state
    assert not next_job(world.restart()).wait(HOUR).pending(Launch)


def test_its_last_launches_are_not_limited_by_it() -> None:
    assert live(says(subscribed(slots=4, leave=0.2), 0.5)) == 4


# --- what is believed, and what is news

WRONG = {
    "less than nothing": WindowShare(FIVE_HOURS, -0.5, NOON + HOUR, NOON),
    "nothing, as programs write before they know": WindowShare(FIVE_HOURS, 0.0, NOON + HOUR, NOON),
    "over already": WindowShare(FIVE_HOURS, 0.5, NOON, NOON),
    "further away than it is long": WindowShare(FIVE_HOURS, 0.5, NOON + 7 * HOUR, NOON),
    "further away than a week": WindowShare(WEEK, 0.5, NOON + 9 * 24 * HOUR, NOON),
    "a month long": WindowShare(43_200, 0.5, NOON + HOUR, NOON),
    "no length": WindowShare(0, 0.5, NOON + HOUR, NOON),
}


@pytest.mark.parametrize("told", WRONG.values(), ids=list(WRONG))
def test_it_is_not_believed(told: WindowShare) -> None:
    assert shares.heard(subscribed().state, "claude", told, NOON) is None


def test_more_than_all_is_all_and_a_later_time_is_now() -> None:
    told = WindowShare(FIVE_HOURS, 1.07, NOON + HOUR, NOON + 1e6)
    seen = shares.heard(subscribed().state, "claude", told, NOON)
    assert seen == ev.AccountWindowSeen(NOON, "claude", FIVE_HOURS, 1.0, NOON + HOUR, NOON)


def test_an_account_that_nobody_knows_has_no_windows() -> None:
    told = WindowShare(FIVE_HOURS, 0.5, NOON + HOUR, NOON)
    assert shares.heard(subscribed().state, "nobody", told, NOON) is None


def test_only_a_change_is_news() -> None:
    world = says(subscribed(leave=0.2), 0.5)
    told = WindowShare(FIVE_HOURS, 0.505, NOON + 2 * HOUR, NOON + 30)

    def is_news(**other: float) -> bool:
        return shares.heard(world.state, "claude", replace(told, **other), NOON + 40) is not None  # type: ignore[arg-type]

    assert not is_news()
    assert not is_news(resets_at=NOON + 2 * HOUR + 5)
    assert is_news(used=0.51)
    assert is_news(resets_at=NOON + 3 * HOUR)
    assert not is_news(used=0.6, told_at=NOON - 1), "somebody else has heard later"


def test_that_the_share_for_agents_is_used_is_always_news() -> None:
    world = says(subscribed(leave=0.2), 0.795)
    assert len(says(world.wait(5), 0.8).told(ev.AccountPaused)) == 1


def test_nobody_makes_an_account_remember_more_than_a_few() -> None:
    world = subscribed()
    for minutes in range(60, 70):
        says(world, 0.5, minutes=minutes, left=60)
    assert len(account(world).windows) == shares.MOST_WINDOWS
    assert len(account(says(world.wait(61), 0.5)).windows) == 1, "those that are over are forgotten"


words = st.tuples(st.floats(0, 1.2), st.sampled_from([FIVE_HOURS, WEEK]), st.floats(0, 8 * 24 * HOUR))


@given(st.floats(0, 0.9), st.booleans(), st.lists(st.tuples(words, st.floats(0, 40 * HOUR)), max_size=8))
def test_nothing_is_launched_on_what_may_not_be_used(
    leave: float, pace: bool, told: list[tuple[tuple[float, int, float], float]]
) -> None:
    """Once nobody says anything more, all jobs come to their end."""
    world = subscribed(leave=leave, pace=pace, jobs=4, slots=2)
    for (used, minutes, left), seconds in told:
        says(world, used, minutes, left)
        world.do(Nudge, Collect, Release).wait(seconds).do(Launch)
    world.run("b")
    assert not world.state.batches
    state = State(INSTALLATION)
    for event in world.events:
        if isinstance(event, ev.LaunchStarted):
            check_launch(state, event.account, "", event.at)
        state = apply(state, event)
