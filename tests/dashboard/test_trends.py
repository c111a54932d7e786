"""Batches beside each other: bars that can be compared, and the hours that each limit took."""

from typing import Any

from supervisor.dashboard.rendering import short
from supervisor.dashboard.trends import HEIGHT, trends


def a_batch(name: str, **more: Any) -> dict[str, Any]:
    outcomes = {"fixed": 2, "improved": 1, "failed": 1}
    times = {"created_at": "2025-01-15T12:00:00.000Z", "finished_at": "2025-01-15T13:00:00.000Z"}
    return {"id": name, "outcomes": outcomes, "tokens": {"input": 300}, **times, **more}


def test_one_batch_has_nothing_to_be_compared_with() -> None:
    assert trends([a_batch("b")]) == []


def test_the_hours_that_each_limit_took_are_told_apart() -> None:
    newest = a_batch("new", held_up={"window": 5400.0, "rate": 60.0})
    found = {trend.title: trend for trend in trends([newest, a_batch("mid", held_up={}), a_batch("old")])}
    window = found["Hours lost to the usage window"]
    assert [(bar.batch, bar.value) for bar in window.bars] == [("old", None), ("mid", 0.0), ("new", 1.5)]
    assert [bar.height for bar in window.bars] == [0, 0, HEIGHT]
    assert "Hours lost to the rate limit" in found
    assert not any("login" in title for title in found)


def test_where_nothing_was_lost_there_is_no_such_trend() -> None:
    assert not any("lost" in trend.title for trend in trends([a_batch("new", held_up={}), a_batch("old")]))


def test_numbers_are_short_and_small_ones_are_not_rounded_away() -> None:
    assert [short(each) for each in (0, 0.02, 1.5, 3, 950, 12_345, None)] == [
        "0",
        "0.02",
        "1.5",
        "3",
        "950",
        "12.3k",
        "–",
    ]
