"""No secret passes, however it is cut; and what is none is left alone."""

from hypothesis import given
from hypothesis import strategies as st

from supervisor.e2e.secrets import MASK
from supervisor.transcripts.redact import SHORTEST_START, Open, Redactor

SECRET = "hunter2-correct-horse"
TOKEN = "sk-ant-api03-" + "a1B2" * 10


def all_masked(redactor: Redactor, *pieces: str) -> str:
    left = Open()
    return "".join(redactor.masked(piece, left) for piece in pieces)


def longest_shown(secret: str, text: str) -> int:
    """The length of the longest part of a secret that can be read."""
    parts = (secret[i:j] for i in range(len(secret)) for j in range(i + 1, len(secret) + 1))
    return max((len(part) for part in parts if part in text), default=0)


@given(st.data())
def test_a_known_secret_cut_anywhere_is_masked(data: st.DataObject) -> None:
    """Whatever stands before and after it, and into however many entries it is cut: three characters show at most."""
    secret = data.draw(st.lists(st.sampled_from("abcdefghijklmnopq01/=-."), min_size=8, max_size=20, unique=True))
    around = st.text("xyz XYZ\n", max_size=10)
    text = data.draw(around) + "".join(secret) + data.draw(around)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4)))
    pieces = [text[i:j] for i, j in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    said = all_masked(Redactor(["".join(secret)]), *pieces)
    assert longest_shown("".join(secret), said) < SHORTEST_START


def test_the_three_characters_that_show_are_no_reason_to_mask_the_rest_of_a_text() -> None:
    assert all_masked(Redactor([SECRET]), "a hun", "ting party") == "a hunting party"
    assert all_masked(Redactor([SECRET]), "the hunt", "ing party") == f"the {MASK}ing party"


@given(st.integers(4, len(TOKEN) - 1), st.integers(0, 10))
def test_a_token_by_its_looks_is_masked_over_a_cut(cut: int, width: int) -> None:
    pieces = "use " + TOKEN[:cut], TOKEN[cut : cut + width], TOKEN[cut + width :] + " now"
    assert longest_shown(TOKEN, all_masked(Redactor(), *pieces)) <= len("sk-ant-")


def test_a_private_key_is_masked_line_by_line() -> None:
    key = ["-----BEGIN OPENSSH PRIVATE KEY-----", *("b3BlbnNzaC1rZXktdjEAAAAABG5v" for _ in range(30))]
    said = all_masked(Redactor(), "here:", *key, "-----END OPENSSH PRIVATE KEY-----", "and on")
    assert "b3Bl" not in said
    assert said.endswith("and on")


def test_tokens_keys_and_passwords_are_known_by_their_looks() -> None:
    secrets = [
        TOKEN,
        "ghp_" + "a" * 36,
        "github_pat_" + "1A" * 20,
        "glpat-" + "x" * 20,
        "xoxb-1234567890-abcdef",
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc-def",
        "Bearer abcdefghijklmnop0123",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----",
    ]
    for secret in secrets:
        assert all_masked(Redactor(), f"it is {secret}, no?").count(MASK) == 1, secret
        assert longest_shown(secret, all_masked(Redactor(), f"it is {secret}, no?")) < 8, secret
    assert all_masked(Redactor(), "https://me:pa55word@host/x") == f"https://{MASK}@host/x"


@given(st.text("abc sk-gh_p\n", max_size=20))
def test_what_is_no_secret_is_left_alone(text: str) -> None:
    """Too short for a token, and with an end, so that it is not the beginning of one either."""
    assert all_masked(Redactor([SECRET]), f"{text}.") == f"{text}."


def test_each_line_of_a_value_is_a_secret_and_short_ones_are_none() -> None:
    redactor = Redactor(["first line of it\nshort\nlast line of it"])
    assert all_masked(redactor, "x first line of it y") == f"x {MASK} y"
    assert all_masked(redactor, "short") == "short"
