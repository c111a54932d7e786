"""What providers say when they refuse is told apart: by what is structured, and else by their text."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from supervisor.transcripts.refusals import PHRASES, Refusal, phrase, refusal

NEW_YORK = ZoneInfo("America/New_York")
NOW = datetime(2025, 11, 18, 19, 0, tzinfo=NEW_YORK)


def at(day: int, hour: int, minute: int = 0, zone: str = "America/New_York") -> float:
    return datetime(2025, 11, day, hour, minute, tzinfo=ZoneInfo(zone)).timestamp()


def told(text: str, **structured: object) -> Refusal | None:
    return refusal(text, NOW.timestamp(), **structured)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "until", "model"),
    [
        ("Request rejected (429) · You've hit your session limit · resets 8pm (America/New_York)", at(18, 20), ""),
        ("You've hit your limit · resets Nov 21, 3am (Europe/Berlin)", at(21, 3, zone="Europe/Berlin"), ""),
        ("You've reached your Opus 4 limit · resets 3:30pm (America/New_York)", at(19, 15, 30), "opus"),
        ("Opus weekly limit reached ∙ resets Nov 24, 12am (America/New_York)", at(24, 0), "opus"),
        ("Claude AI usage limit reached|1763520000", 1763520000.0, ""),
        ("You’ve hit your usage limit. Upgrade or try again in 3 days 4 hours.", NOW.timestamp() + 76 * 3600, ""),
        ("5-hour limit reached ∙ resets 6:58pm (America/New_York)", NOW.timestamp() + 60, ""),
        ("You’ve hit your usage limit.", 0.0, ""),
        ("limit reached ∙ resets 25pm (Nowhere/Land)", 0.0, ""),
    ],
)
def test_a_window_has_its_reset_and_its_model(text: str, until: float, model: str) -> None:
    assert told(text, status=429) == Refusal("window", until, model)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "structured", "problem", "seconds"),
    [
        ("exceeded retry limit, last status: 429 Too Many Requests", {"status": 429}, "rate", 0),
        ("Too many requests", {"status": 429, "retry_after": 17.0}, "rate", 17),
        ("Rate limit reached: tokens per min. Please try again in 1m30s.", {"status": 429}, "rate", 90),
        ("number of requests has exceeded your limit", {"name": "rate_limit_error"}, "rate", 0),
        ("this would exceed the rate limit of 218,402 tokens", {"status": 429}, "rate", 0),
        ("Overloaded", {"status": 529, "name": "server_error"}, "overload", 0),
        ("overloaded, url: http://127.0.0.1/v1", {"status": 503}, "overload", 0),
        ("Request timed out.", {}, "overload", 0),
        ("Invalid API key · Fix external API key", {"status": 401}, "login", 0),
        ("OAuth token revoked", {"name": "authentication_failed"}, "login", 0),
        ("Payment required", {"status": 402}, "credit", 0),
        ("You exceeded your current quota, check your plan and billing details", {"status": 429}, "credit", 0),
    ],
)
def test_the_others_are_told_apart(text: str, structured: dict[str, object], problem: str, seconds: float) -> None:
    found = told(text, **structured)
    assert found is not None
    assert (found.problem, found.until and found.until - NOW.timestamp()) == (problem, seconds)


def test_what_is_structured_has_the_first_word() -> None:
    found = told("we wish you no login and no credit balance", status=529, name="overloaded_error")
    assert found is not None
    assert found.problem == "overload"


def test_the_table_can_be_extended() -> None:
    assert told("the hamster is tired") is None
    tired = told("the hamster is tired", phrases=(phrase("overload", "hamster"), *PHRASES))
    assert tired == Refusal("overload")  # type: ignore[arg-type]
