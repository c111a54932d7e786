"""Batches are submitted at local times of the week: once for each, whatever the clocks do."""

from datetime import datetime, time
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.flow.schedules import at_work, due, last_at, next_at
from supervisor.model import event as ev
from supervisor.model.profile import Profile
from supervisor.model.schedule import Schedule
from tests.flow.world import NOON, World, replayed

BERLIN = "Europe/Berlin"
DAY = 86_400.0


def schedule(*at: str, days: str = "0123456", timezone: str = BERLIN) -> Schedule:
    times = tuple(time.fromisoformat(each) for each in at or ("22:00",))
    return Schedule("night", "/repo", "default", (), times, frozenset(map(int, days)), timezone)


def local(text: str, timezone: str = BERLIN) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(timezone)).timestamp()


def told(at: float, timezone: str = BERLIN) -> str:
    return datetime.fromtimestamp(at, ZoneInfo(timezone)).strftime("%Y-%m-%d %H:%M %z")


def times(found: Schedule, start: str, count: int) -> list[str]:
    at, all_of_them = local(start), []
    for _ in range(count):
        at = next_at(found, at)
        all_of_them.append(told(at))
    return all_of_them


def test_each_night_at_its_local_time() -> None:
    assert times(schedule(), "2026-01-05 21:59", 3) == [
        "2026-01-05 22:00 +0100",
        "2026-01-06 22:00 +0100",
        "2026-01-07 22:00 +0100",
    ]


def test_on_some_days_and_at_several_times() -> None:
    assert times(schedule("06:30", "22:00", days="04"), "2026-01-05 12:00", 4) == [
        "2026-01-05 22:00 +0100",
        "2026-01-09 06:30 +0100",
        "2026-01-09 22:00 +0100",
        "2026-01-12 06:30 +0100",
    ]


def test_when_the_clocks_go_forward_it_is_an_hour_sooner() -> None:
    assert times(schedule(), "2026-03-28 12:00", 2) == ["2026-03-28 22:00 +0100", "2026-03-29 22:00 +0200"]
    first = next_at(schedule(), local("2026-03-28 12:00"))
    assert next_at(schedule(), first) - first == 23 * 3600


def test_a_time_that_the_clocks_skip_comes_once_on_that_day() -> None:
    assert times(schedule("02:30"), "2026-03-28 12:00", 2) == ["2026-03-29 03:30 +0200", "2026-03-30 02:30 +0200"]


def test_a_time_that_there_is_twice_comes_once() -> None:
    assert times(schedule("02:30"), "2026-10-24 12:00", 2) == ["2026-10-25 02:30 +0200", "2026-10-26 02:30 +0100"]


@pytest.mark.parametrize(
    "timezone", ["America/New_York", "Asia/Kolkata", "Pacific/Apia", "UTC", "Australia/Lord_Howe"]
)
def test_in_every_time_zone(timezone: str) -> None:
    at = next_at(schedule(timezone=timezone), NOON)
    assert told(at, timezone)[11:16] == "22:00"
    assert 0 < at - NOON <= DAY


@given(
    st.floats(min_value=1.5e9, max_value=2.0e9),
    st.lists(st.times(), min_size=1, max_size=3),
    st.sets(st.integers(0, 6), min_size=1),
    st.sampled_from(["UTC", BERLIN, "America/New_York", "Australia/Lord_Howe", "Pacific/Apia"]),
)
def test_no_time_is_left_out_and_none_comes_twice(now: float, at: list[time], days: set[int], timezone: str) -> None:
    minutes = tuple(each.replace(second=0, microsecond=0) for each in at)
    found = Schedule("x", "/repo", "default", (), minutes, frozenset(days), timezone)
    coming = [now]
    for _ in range(10):
        coming.append(next_at(found, coming[-1]))
    for before, after in pairwise(coming):
        assert before < after <= before + 8 * DAY
        assert last_at(found, before, after) == after
        assert last_at(found, before, after - 1) is None


def known(at: float) -> World:
    world = World(local=1)
    world.now = at
    return world.happens(ev.SchedulesConfigured(at, ("night",)))


def test_a_new_schedule_begins_with_its_next_time() -> None:
    world = known(local("2026-01-05 23:00"))
    assert due(world.state, schedule(), local("2026-01-06 21:59")) is None
    assert due(world.state, schedule(), local("2026-01-06 22:00")) == local("2026-01-06 22:00")
    assert due(World(local=1).state, schedule(), NOON) is None


def test_times_that_were_missed_are_met_once() -> None:
    world = known(local("2026-01-05 12:00"))
    monday = local("2026-01-05 22:00")
    world.happens(ev.ScheduleStarted(monday, "night", monday), ev.ScheduleEnded(monday, "night", monday, "b1"))
    now = local("2026-01-09 14:00")
    planned = due(world.state, schedule(), now)
    assert planned == local("2026-01-08 22:00")
    world.happens(ev.ScheduleStarted(now, "night", planned), ev.ScheduleEnded(now, "night", planned, "b2"))
    assert due(world.state, schedule(), now) is None
    assert replayed(world.events) == world.state


def test_a_submission_that_a_restart_interrupted_is_due_again() -> None:
    world = known(local("2026-01-05 12:00"))
    at = local("2026-01-05 22:00")
    world.happens(ev.ScheduleStarted(at, "night", at)).restart()
    assert due(world.state, schedule(), at + 60) == at
    world.happens(ev.ScheduleEnded(at, "night", at, "b1"))
    assert due(world.state, schedule(), at + 60) is None


def test_one_that_was_left_out_says_why_until_the_next_one_succeeds() -> None:
    world = known(local("2026-01-05 12:00"))
    at = local("2026-01-05 22:00")
    world.happens(ev.ScheduleHeld(at, "night", at, "batch b is not over"))
    assert world.state.schedules["night"].held == "batch b is not over"
    assert due(world.state, schedule(), at + 60) == at
    world.happens(ev.ScheduleSkipped(at, "night", at, "batch b is not over"))
    assert due(world.state, schedule(), at + 60) is None
    assert (world.state.schedules["night"].held, world.state.schedules["night"].problem) == (
        "",
        "batch b is not over",
    )
    world.happens(ev.ScheduleStarted(at + DAY, "night", at + DAY), ev.ScheduleEnded(at + DAY, "night", at + DAY, "c"))
    assert world.state.schedules["night"].problem == ""


def test_no_second_batch_of_a_profile_in_a_repository() -> None:
    world = World(local=1).submit(profile=Profile())
    assert at_work(world.state, schedule()) == "batch b of profile default is not over"
    other = Schedule("x", "/other", "default", (), (time(22),), frozenset(range(7)), "UTC")
    assert at_work(world.state, other) == ""
    assert at_work(world.run().state, schedule()) == ""


def test_one_that_is_taken_out_of_the_configuration_is_forgotten() -> None:
    world = known(NOON).happens(ev.SchedulesConfigured(NOON, ("other",)))
    assert set(world.state.schedules) == {"other"}
    assert world.refuses(ev.ScheduleStarted(NOON, "night", NOON))
