"""The past of a batch in a bounded number of points: what it counts is what the state counts."""

import time

from hypothesis import given
from hypothesis import strategies as st

from supervisor.dashboard import cells
from supervisor.dashboard.series import MOST_POINTS, Series, ends_at
from supervisor.model import event as ev
from supervisor.model.event import BatchEvent
from supervisor.model.job import JobState
from tests.dashboard.generated import BATCH, generated


def test_its_last_point_agrees_with_the_state() -> None:
    world = generated(time.time(), jobs=300, agents=40, minutes=60)
    series = Series()
    series.heard(event for event in world.events if isinstance(event, BatchEvent))
    batch, last = world.state.batches[BATCH], series.points[-1]
    assert last.agents == sum(pool.busy for pool in world.state.pools.values())
    assert last.checks == len(world.state.verifying.groups)
    assert last.ended == batch.count(JobState.DONE) + batch.count(JobState.CANCELLED)
    assert last.tokens == batch.usage.tokens
    drawn = cells.letters(batch)
    assert len(drawn) == len(batch.tests)
    assert drawn == "".join(cells.letter(batch.job(number)) for number in range(1, len(batch.tests) + 1))
    assert sum(cells.counted(drawn).values()) == len(batch.tests)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=3 * MOST_POINTS))
def test_it_stays_small_and_in_order(times: list[float]) -> None:
    series = Series()
    for number, at in enumerate(sorted(times), 1):
        series.heard([ev.JobEnded(at, "b", number, "fixed")])
    assert len(series.points) <= MOST_POINTS + 1
    assert [point.at for point in series.points] == sorted(point.at for point in series.points)
    assert series.points[-1].ended == len(times)


def test_the_end_is_told_only_when_enough_has_ended() -> None:
    series = Series()
    series.heard([ev.JobEnded(at * 60.0, "b", at, "fixed") for at in range(1, 4)])
    assert series.per_hour(240.0) is None
    series.heard([ev.JobEnded(at * 60.0, "b", at, "fixed") for at in range(4, 61)])
    speed = series.per_hour(3600.0)
    assert speed is not None
    assert 55 < speed < 65
    assert ends_at(60, 60.0, 0.0) == 3600.0
    assert ends_at(0, 60.0, 0.0) is None
