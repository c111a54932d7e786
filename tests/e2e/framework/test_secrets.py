"""One table of secrets: what the tests' framework writes and what the daemon writes hide the same."""

from collections.abc import Callable

import pytest

from supervisor.e2e import redact as e2e
from supervisor.e2e.secrets import KINDS, MASK, secret_values
from supervisor.transcripts import redact as logs

KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\nb3BlbnNzaC1rZXk\n-----END RSA PRIVATE KEY-----"
#: each with what of it must not be read
LOOKS = {
    **{f"{kind.start}{'A1' * 30}": "A1" * 30 for kind in KINDS},
    "xoxp-1234567890-1234567890-abcdef": "1234567890-abcdef",
    "ghu_" + "a1B2" * 9: "a1B2",
    "AIza" + "Sy_-" * 9: "Sy_-Sy_-",
    "https://deploy:hunter2-horse@example.org/x": "hunter2",
    KEY: "b3Bl",
}


def whole(pieces: list[str]) -> str:
    return e2e.Redactor().text("".join(pieces))


def streamed(pieces: list[str]) -> str:
    stream = e2e.Redactor().stream()
    return "".join(stream.feed(piece) for piece in pieces) + stream.close()


def in_entries(pieces: list[str]) -> str:
    redactor, left = logs.Redactor(), logs.Open()
    return "".join(redactor.masked(piece, left) for piece in pieces)


@pytest.mark.parametrize("shown", [whole, streamed, in_entries])
@pytest.mark.parametrize("secret", LOOKS)
def test_what_looks_like_a_secret_is_hidden_wherever_it_is_cut(
    secret: str, shown: Callable[[list[str]], str]
) -> None:
    assert "it is " in shown([f"it is {secret} now"])
    assert " now" in shown([f"it is {secret} now"])
    for cut in range(len(secret)):
        said = shown([f"it is {secret[:cut]}", f"{secret[cut:]} now"])
        assert LOOKS[secret] not in said
        assert MASK in said


def test_a_private_key_is_held_back_until_it_ends_and_no_longer_than_a_key_is() -> None:
    stream = e2e.Redactor().stream()
    assert stream.feed("here: -----BEGIN PRIVATE KEY-----\n") == "here: "
    assert stream.feed("b3BlbnNzaC1rZXk\n" * 10) == ""
    assert stream.feed("-----END PRIVATE KEY-----\nand on.") == f"{MASK}\nand on."
    assert stream.feed("-----BEGIN PRIVATE KEY-----\n" + "x" * 20_000).startswith(MASK)


def test_variables_hold_secrets_when_their_name_says_so() -> None:
    hidden = ("API_KEY", "GITHUB_TOKEN", "DB_PASSWD", "PROXY_AUTH", "SESSION_COOKIE", "AUTHORIZATION", "Db_Password")
    shown = ("HOME", "GIT_AUTHOR_NAME", "AUTHORS", "TERM")
    env = {name: name.lower() for name in (*hidden, *shown)} | {"KEY_FILE": "/etc/key", "A_KEY": "credential:a"}
    assert sorted(secret_values(env)) == sorted(name.lower() for name in hidden)
