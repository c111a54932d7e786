"""What is left of a message when all that differs from job to job is taken out."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.flow.fingerprints import LONGEST_MESSAGE, normalised


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("not done within 3600 s", "not done within 1,200.5 s"),
        ("no module named 'a'", "no module named 'b.c'"),
        ("can't read /srv/app/x.py", "can't read ./tests/y.py"),
        ("tests/test_a.py::test_x[1] hangs", "tests/test_b.py::TestB::test_y hangs"),
        ("agent sv-k3f9x-12-1 is gone", "agent sv-b7c2d-3-2 is gone"),
        ("ref 0f3c2a9be1 is missing", "ref deadbeef99 is missing"),
        ("id 123e4567-e89b-12d3-a456-426614174000", "id 00000000-0000-0000-0000-000000000000"),
        ("at 0x7f1a: pid 12", "at 0xdeadbeef: pid 99"),
        ("GET https://a.example/x?y=1 refused", "GET http://b.example refused"),
        ("line 3,\n  column 4", "line 12, column 1"),
        ("\x1b[31mfailed\x1b[0m after 3 s", "failed after 4 s"),
        ("worker3 died", "worker12 died"),
    ],
)
def test_what_differs_from_job_to_job_is_taken_out(first: str, second: str) -> None:
    assert normalised(first) == normalised(second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("disk full", "disk quota exceeded"),
        ("ModuleNotFoundError: x", "ImportError: x"),
        ("it can't start and won't stop", "it can't stop and won't start"),
    ],
)
def test_what_says_something_else_stays_apart(first: str, second: str) -> None:
    assert normalised(first) != normalised(second)


@given(st.text())
def test_any_text_is_short_and_normal_after_it(said: str) -> None:
    found = normalised(said)
    assert len(found) <= LONGEST_MESSAGE
    assert found == " ".join(found.split())


@pytest.mark.parametrize("piece", ["a-", "/", "'", "::", "a/", "0x", "1.", "a1", " a-1", "\\", "http://"])
def test_hostile_text_takes_no_time(piece: str) -> None:
    began = time.process_time()
    normalised(piece * 100_000)
    assert time.process_time() - began < 1
