"""Secrets: none is ever written, however the text that holds it is cut up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.e2e.redact import Redactor
from supervisor.e2e.secrets import MASK

SECRETS = ("hunter2hunter2", "hunter3", "two words of it", "aabaab")
pieces = st.lists(st.one_of(st.sampled_from(SECRETS), st.text(alphabet="hunter23 aab\nword", max_size=8)), max_size=8)


@given(pieces, st.lists(st.integers(1, 9), min_size=1, max_size=20))
def test_no_secret_comes_out_of_a_stream(parts: list[str], sizes: list[int]) -> None:
    whole = "".join(parts)
    stream = Redactor(SECRETS).stream()
    out, rest = "", whole
    while rest:
        for size in sizes:
            out += stream.feed(rest[:size])
            rest = rest[size:]
    out += stream.close()
    assert not [secret for secret in SECRETS if secret in out]
    if not any(secret in whole for secret in SECRETS):
        assert out == whole


@pytest.mark.parametrize(
    "token",
    [
        "sk-" + "a1B2" * 8,
        "ghp_" + "a1B2" * 9,
        "github_pat_" + "a1_B2" * 8,
        "AKIA" + "ABCDEFGH12345678",
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc_def",
        "Bearer abcdefghijklmnopqrst",
    ],
)
def test_well_known_tokens_are_masked_in_one_piece_and_in_two(token: str) -> None:
    redactor = Redactor()
    assert token not in redactor.text(f"x {token} y")
    for cut in range(len(token)):
        stream = redactor.stream()
        out = stream.feed(f"x {token[:cut]}") + stream.feed(f"{token[cut:]} y") + stream.close()
        assert token not in out
        assert MASK in out
        assert out.endswith(" y")


def test_ordinary_text_is_not_held_back() -> None:
    stream = Redactor(["hunter2"]).stream()
    assert stream.feed("Continue? [Y/n] ") == "Continue? [Y/n] "


def test_short_values_are_no_secrets() -> None:
    """A password of one letter would blank out every page."""
    assert Redactor(["a", "12345"]).text("a 12345") == "a 12345"


def test_every_line_of_a_private_key_is_one() -> None:
    redactor = Redactor(["-----BEGIN KEY-----\nMIIEpAIBAAKCAQEA\n-----END KEY-----\n"])
    assert redactor.text("it is MIIEpAIBAAKCAQEA") == f"it is {MASK}"
