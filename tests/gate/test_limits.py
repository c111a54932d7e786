"""Why a provider refuses, and until when, as real ones say it."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from supervisor.gate.limits import Obstacle, obstacle

NOW = datetime(2026, 11, 19, 12, 0, tzinfo=UTC).timestamp()
HOUR = 3600.0
UNIFIED = "anthropic-ratelimit-unified-"


def told(status: int, message: str = "", headers: dict[str, str] | None = None, **error: Any) -> Obstacle | None:
    body = msgspec.json.encode({"error": {"message": message, **error}})
    return obstacle(status, headers or {}, body, NOW)


def test_a_window_by_its_headers() -> None:
    headers = {f"{UNIFIED}status": "rejected", f"{UNIFIED}reset": str(int(NOW + 2 * HOUR)), "retry-after": "7"}
    assert told(429, "used up", headers) == Obstacle("window", NOW + 2 * HOUR, "used up")


def test_of_several_windows_those_that_were_rejected_count() -> None:
    """The representative one may be another."""
    headers = {
        f"{UNIFIED}status": "rejected",
        f"{UNIFIED}reset": str(int(NOW + 90 * HOUR)),
        f"{UNIFIED}5h-status": "rejected",
        f"{UNIFIED}5h-reset": str(int(NOW + 3 * HOUR)),
        f"{UNIFIED}7d-status": "allowed",
        f"{UNIFIED}7d-reset": str(int(NOW + 90 * HOUR)),
    }
    assert told(429, "", headers) == Obstacle("window", NOW + 3 * HOUR)


def test_a_window_by_the_fields_of_its_error() -> None:
    said = "The usage limit has been reached"
    assert told(429, said, type="usage_limit_reached", resets_at=int(NOW + HOUR)) == Obstacle(
        "window", NOW + HOUR, said
    )
    assert told(429, said, type="usage_limit_reached", resets_in_seconds=60) == Obstacle("window", NOW + 60, said)


@pytest.mark.parametrize(
    ("words", "hours"),
    [
        ("You've hit your session limit · resets 8pm (America/New_York)", 13),
        ("You've hit your session limit · resets 6:30am (America/New_York)", 23.5),
        ("You've hit your weekly limit · resets Nov 21, 9am (Europe/Berlin)", 44),
        ("You've hit your limit · resets at 12pm (UTC)", 24),
        ("You've hit your limit · resets 12am (UTC)", 12),
        ("Claude AI usage limit reached|1795098600", (1795098600 - NOW) / HOUR),
    ],
)
def test_a_window_by_its_words(words: str, hours: float) -> None:
    assert told(429, words) == Obstacle("window", NOW + hours * HOUR, words)


@pytest.mark.parametrize("words", ["resets 8pm (Mars/Olympus)", "resets 31pm (UTC)", "resets Nov 41, 9am (UTC)"])
def test_words_that_make_no_sense_are_a_limit_without_a_time(words: str) -> None:
    assert told(429, words) == Obstacle("rate", None, words)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "30"}, 30),
        ({"retry-after-ms": "1500", "retry-after": "30"}, 1.5),
        ({"retry-after": "Thu, 19 Nov 2026 12:01:00 GMT"}, 60),
        ({"retry-after": "Thu, 19 Nov 2026 11:00:00 GMT"}, 0),
    ],
)
def test_a_limit_per_minute_and_an_overload_say_when_to_try_again(headers: dict[str, str], seconds: float) -> None:
    assert told(429, "slow down", headers) == Obstacle("rate", NOW + seconds, "slow down")
    assert told(529, "", headers) == Obstacle("overload", NOW + seconds)


@pytest.mark.parametrize("value", ["soon", "-5", "1e9", "99999999999", "nan", ""])
def test_a_time_that_is_none_or_too_far_is_not_believed(value: str) -> None:
    assert told(429, "", {"retry-after": value}) == Obstacle("rate", None)


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 413, 500])
def test_what_waiting_does_not_resolve(status: int) -> None:
    assert told(status, "resets 8pm (UTC)") is None


def test_neither_does_it_resolve_a_bill_or_what_the_provider_says_not_to_repeat() -> None:
    assert told(429, "Your credit balance is too low") is None
    assert told(429, "", code="insufficient_quota") is None
    assert told(429, "", {"x-should-retry": "false"}) is None


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"error": 7}', b"\xff", b'{"error": {"message": 7}}'])
def test_a_body_that_is_no_error_is_no_problem(body: bytes) -> None:
    found = obstacle(429, {}, body, NOW)
    assert found is not None
    assert (found.why, found.until) == ("rate", None)
