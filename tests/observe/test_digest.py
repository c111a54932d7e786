"""Hours lost to pauses are those between their beginning and end, within the time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.model import event as ev
from supervisor.model.event import Event
from supervisor.model.state import State
from supervisor.observe.digest import QUEUE, Pauses

SINCE, NOW = 1000.0, 5000.0


def lost(*events: Event, state: State | None = None) -> dict[tuple[str, str], float]:
    pauses = Pauses(SINCE)
    for event in events:
        pauses.heard(event)
    pauses.ended(state or State("installation"), NOW)
    return pauses.seconds


PERSON = (QUEUE, "paused by a person")


@given(times=st.lists(st.floats(SINCE, NOW), min_size=2, max_size=10, unique=True))
def test_each_pause_of_the_queue_counts_once(times: list[float]) -> None:
    times.sort()
    pairs = list(zip(times[::2], times[1::2], strict=False))
    events = [event for begins, ends in pairs for event in (ev.QueuePaused(begins), ev.QueueResumed(ends))]
    assert lost(*events) == {PERSON: pytest.approx(sum(ends - begins for begins, ends in pairs))}


def test_a_pause_that_holds_counts_until_now() -> None:
    assert lost(ev.QueuePaused(4000.0)) == {PERSON: 1000.0}


def test_a_pause_from_before_counts_from_the_beginning_of_the_time() -> None:
    assert lost(ev.AccountOpened(1500.0, "claude", "window")) == {("account claude", "window"): 500.0}


def test_a_longer_pause_of_the_same_reason_is_one_pause() -> None:
    events = [
        ev.AccountPaused(2000.0, "claude", "window", until=2500.0),
        ev.AccountPaused(2400.0, "claude", "window", until=3500.0),
        ev.AccountOpened(3500.0, "claude", "window"),
    ]
    assert lost(*events) == {("account claude", "window"): 1500.0}


def test_a_batch_is_stopped_until_it_is_resumed_or_over_and_a_spent_budget_loses_nothing() -> None:
    login = ("batch k3f9x", "login")
    assert lost(ev.BatchStopped(2000.0, "k3f9x", "login"), ev.BatchResumed(2600.0, "k3f9x")) == {login: 600.0}
    assert lost(ev.BatchStopped(2000.0, "k3f9x", "login"), ev.BatchFinished(2100.0, "k3f9x")) == {login: 100.0}
    assert lost(ev.BatchStopped(2000.0, "k3f9x", "budget"), ev.BatchFinished(2100.0, "k3f9x")) == {}
    assert lost(ev.BatchFinished(2100.0, "k3f9x")) == {}
