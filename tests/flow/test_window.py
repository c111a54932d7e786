"""A window opens and closes by the clock on the wall, also across midnight and when that clock is changed."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.flow.window import look, parse
from supervisor.model import event as ev
from supervisor.model.batch import BatchState
from supervisor.model.effect import Collect, Launch, Verify
from supervisor.model.profile import Profile
from tests.flow.world import World

BERLIN = "Europe/Berlin"
#: in 2025 the clocks there were put forward on 30 March at 2:00, and back on 26 October at 3:00
SPRING, AUTUMN = "2025-03-30", "2025-10-26"
HOUR = 3600.0


def instant(text: str, zone: str = BERLIN, *, fold: int = 0) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold).timestamp()


def open_hours(window: str, start: float, end: float) -> float:
    """For how long the window is open between two instants, as one learns it by waiting."""
    now, total = start, 0.0
    while now < end:
        is_open, until = look(window, BERLIN, now)
        total += (min(until, end) - now) * is_open
        now = until
    return total / HOUR


@pytest.mark.parametrize("text", ["", "22:00", "22:00-24:00", "22-6", "22:00-22:00", "a:00-b:00", "22:00-06:60"])
def test_what_is_no_window_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="window"):
        parse(text)


def test_a_window_in_the_day() -> None:
    at = instant("2025-06-04T08:59:59")
    assert look("9:00-17:30", BERLIN, at) == (False, at + 1)
    assert look("9:00-17:30", BERLIN, at + 1) == (True, instant("2025-06-04T17:30"))
    assert look("9:00-17:30", BERLIN, instant("2025-06-04T17:30")) == (False, instant("2025-06-05T09:00"))


def test_a_window_across_midnight() -> None:
    closes = instant("2025-06-05T06:00")
    assert look("22:00-06:00", BERLIN, instant("2025-06-04T23:00")) == (True, closes)
    assert look("22:00-06:00", BERLIN, instant("2025-06-05T05:59:59")) == (True, closes)
    assert look("22:00-06:00", BERLIN, closes) == (False, instant("2025-06-05T22:00"))


def test_the_night_the_clocks_go_forward_is_an_hour_shorter() -> None:
    evening = instant("2025-03-29T22:00")
    assert look("22:00-06:00", BERLIN, evening) == (True, evening + 7 * HOUR)


def test_the_night_the_clocks_go_back_is_an_hour_longer() -> None:
    evening = instant("2025-10-25T22:00")
    assert look("22:00-06:00", BERLIN, evening) == (True, evening + 9 * HOUR)


@pytest.mark.parametrize("window", ["02:00-03:00", "02:30-03:00", "02:15-03:10"])
def test_a_window_in_the_hour_that_is_missing_never_opens_that_day(window: str) -> None:
    assert open_hours(window, instant(f"{SPRING}T00:00"), instant(f"{SPRING}T23:59")) == 0


def test_a_window_that_spans_the_missing_hour_opens_for_what_is_left() -> None:
    assert open_hours("01:30-03:30", instant(f"{SPRING}T00:00"), instant(f"{SPRING}T23:59")) == 1


def test_the_missing_hour_closes_no_window_that_has_opened_again() -> None:
    """Closes at 2:50, which is 3:50 that day, and opens at 3:10."""
    assert look("03:10-02:50", BERLIN, instant(f"{SPRING}T12:00"))[0]


def test_a_window_in_the_hour_that_comes_twice_opens_once() -> None:
    assert open_hours("02:15-02:45", instant(f"{AUTUMN}T00:00"), instant(f"{AUTUMN}T23:59")) == 0.5
    assert not look("02:15-02:45", BERLIN, instant(f"{AUTUMN}T02:30", fold=1))[0]


@given(
    opens=st.times(),
    closes=st.times(),
    day=st.dates(min_value=datetime(2025, 1, 1).date(), max_value=datetime(2026, 12, 31).date()),
    second=st.integers(0, 86399),
    zone=st.sampled_from([BERLIN, "UTC", "America/New_York", "Australia/Lord_Howe"]),
)
def test_it_changes_when_it_said_and_not_before(opens, closes, day, second, zone) -> None:  # type: ignore[no-untyped-def]
    window = f"{opens:%H:%M}-{closes:%H:%M}"
    if f"{opens:%H:%M}" == f"{closes:%H:%M}":
        return
    now = datetime.combine(day, datetime.min.time(), ZoneInfo(zone)).timestamp() + second
    is_open, until = look(window, zone, now)
    assert now < until <= now + timedelta(days=2, hours=2).total_seconds()
    assert look(window, zone, (now + until) / 2)[0] is is_open
    assert look(window, zone, until)[0] is not is_open


def test_jobs_start_only_inside_the_window() -> None:
    """What runs when it closes may finish."""
    world = World(local=1).submit(tests=2, profile=Profile(window="22:00-06:00"))  # at noon
    assert not world.told(ev.LaunchStarted)
    world.wait(10 * HOUR)
    assert len(world.told(ev.LaunchStarted)) == 1
    world.wait(7.5 * HOUR).do(Launch).wait(0.5 * HOUR).publish(1).do(Collect, Verify)
    assert len(world.told(ev.LaunchStarted)) == 1
    world.wait(16 * HOUR)
    assert len(world.told(ev.LaunchStarted)) == 2


def test_a_window_is_forgotten_with_the_integration_of_its_batch() -> None:
    """Also when it would have changed in the same turn: a sealed batch leaves nothing on the agenda."""
    world = World(local=1).submit(profile=Profile(window="22:00-06:00"))
    world.now += 10 * HOUR
    world.record(ev.JobCancelled(world.now - 1, "b", 1))
    world.catch_up()
    assert world.batch().state is BatchState.INTEGRATING
    assert world.run().state.agenda.next_at is None
