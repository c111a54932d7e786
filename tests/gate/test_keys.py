"""A key is good for its attempt, while that lives, and for nothing else."""

import logging
from contextlib import closing
from pathlib import Path

import pytest

from supervisor.errors import Misconfigured
from supervisor.gate.accounts import Account
from supervisor.gate.keys import Attempt, Keys
from supervisor.gate.sharing import KEYS, folder_of
from tests.gate.gates import ASKS, ATTEMPT, BOTH, PURSE, REAL_KEY, gate

OTHER: Attempt = ("batch", 2, 1)


@pytest.mark.parametrize("key", ["sk-gate-guessed", REAL_KEY, "sk-gate-" + "a" * 43, "é"])
async def test_a_key_that_the_gate_did_not_issue_is_refused(tmp_path: Path, key: str) -> None:
    """The provider's own, too: who has that needs no gate."""
    async with gate(tmp_path) as here:
        answer = await here.client.post("/v1/messages", json=ASKS, headers={b"x-api-key": key.encode()})
        assert (answer.status_code, here.provider.asked) == (401, [])
        assert "does not know this key" in answer.json()["error"]["message"]


async def test_a_request_without_a_key_or_with_two_is_refused(tmp_path: Path) -> None:
    async with gate(tmp_path) as here:
        other = here.keys.issue(OTHER, BOTH, [])
        none = await here.client.post("/v1/messages", json=ASKS)
        two = await here.client.post(
            "/v1/messages", json=ASKS, headers={"x-api-key": here.key, "authorization": f"Bearer {other}"}
        )
        assert [none.status_code, two.status_code, here.provider.asked] == [401, 401, []]


async def test_a_key_ends_with_its_attempt(tmp_path: Path) -> None:
    async with gate(tmp_path) as here:
        assert (await here.ask()).status_code == 200
        here.keys.end(ATTEMPT)
        answer = await here.ask()
        assert (answer.status_code, len(here.provider.asked)) == (401, 1)
        assert answer.json()["error"] == {
            "type": "authentication_error",
            "message": "the attempt that this key belongs to is over",
        }


async def test_a_new_key_of_an_attempt_ends_its_last(tmp_path: Path) -> None:
    async with gate(tmp_path) as here:
        new = here.keys.issue(ATTEMPT, BOTH, [PURSE])
        assert [(await here.ask()).status_code, (await here.ask(key=new)).status_code] == [401, 200]


async def test_each_attempt_is_counted_by_itself(tmp_path: Path) -> None:
    async with gate(tmp_path) as here:
        key = here.keys.issue(OTHER, BOTH, [PURSE])
        for each in (here.key, key, key):
            await here.ask(key=each)
        assert [here.taken().total, here.taken(OTHER).total] == [110, 220]


async def test_an_attempt_reaches_no_account_but_its_own(tmp_path: Path) -> None:
    async with gate(tmp_path) as here:
        key = here.keys.issue(OTHER, {"anthropic": "work"}, [])
        answer = await here.client.post("/v1/responses", json=ASKS, headers={"authorization": f"Bearer {key}"})
        assert (answer.status_code, here.provider.asked) == (403, [])


async def test_no_key_is_in_what_the_gate_writes_or_says(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.DEBUG):
        async with gate(tmp_path) as here:
            await here.ask()
            await here.ask(key="sk-gate-other")
            written = b"".join(path.read_bytes() for path in folder_of(tmp_path / "state").iterdir())
            said = caplog.text + "".join(capsys.readouterr())
            for secret in (REAL_KEY, here.key, "sk-gate-other"):
                assert (secret in said, secret.encode() in written) == (False, False)
            assert b"hello" not in written, "nor what was asked"


def test_the_files_are_their_owners(tmp_path: Path) -> None:
    with closing(Keys(tmp_path / "gate")):
        assert (tmp_path / "gate").stat().st_mode & 0o077 == 0
        assert (tmp_path / "gate" / KEYS).stat().st_mode & 0o077 == 0


def test_keys_that_ended_long_ago_are_forgotten(tmp_path: Path) -> None:
    with closing(Keys(tmp_path)) as keys:
        keys.issue(ATTEMPT, BOTH, [PURSE])
        keys.issue(OTHER, BOTH, [])
        keys.end(ATTEMPT)
        keys.forget(1e11)
        assert keys.attempts() == {OTHER}


# --- where an account's key is


def account(key: str) -> Account:
    return Account("work", "anthropic", "https://provider.example", key)


def test_an_accounts_key_is_in_a_file_a_credential_or_a_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "key").write_text(f"{REAL_KEY}\n")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    monkeypatch.setenv("THE_KEY", REAL_KEY)
    for where in (f"file:{tmp_path / 'key'}", "credential:key", "env:THE_KEY"):
        assert account(where).secret() == REAL_KEY


@pytest.mark.parametrize(
    ("content", "why"),
    [("", "is empty"), ("two words of it\n", "holds no key"), ("a\x00bcdefghijk", "holds no key")],
)
def test_what_is_no_key_is_refused_by_where_it_is(tmp_path: Path, content: str, why: str) -> None:
    (tmp_path / "key").write_text(content)
    with pytest.raises(Misconfigured, match=f"account work can't be used: file:.*key {why}"):
        account(f"file:{tmp_path / 'key'}").secret()


def test_a_key_that_is_not_there_is_told_by_where_it_should_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)
    with pytest.raises(Misconfigured, match="No such file"):
        account(f"file:{tmp_path / 'none'}").secret()
    with pytest.raises(Misconfigured, match="there are no credentials"):
        account("credential:none").secret()


async def test_a_key_that_is_replaced_is_used_at_once_and_one_that_is_gone_is_told(tmp_path: Path) -> None:
    async with gate(tmp_path) as here:
        (tmp_path / "key").write_text("sk-new-0123456789")
        await here.ask()
        (tmp_path / "key").unlink()
        answer = await here.ask()
        assert here.provider.asked[0].headers["x-api-key"] == "sk-new-0123456789"
        assert (answer.status_code, len(here.provider.asked)) == (401, 1)
        assert "the key of account work can't be read" in answer.text
