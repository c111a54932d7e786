"""What a webhook is sent, how it is signed, and what its answers mean."""

import base64
import hmac
import logging
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from supervisor.adapters.alerts import webhook
from supervisor.adapters.alerts.delivery import Undelivered
from supervisor.adapters.alerts.receivers import said
from supervisor.adapters.alerts.webhook import LONGEST_PAUSE_SECONDS, Webhook, signature
from supervisor.errors import Misconfigured
from supervisor.model.event import AlertRaised
from supervisor.observe.alerts import notice
from tests.alerts.listening import listening

CONTENT: dict[str, Any] = notice(AlertRaised(0, "stopped.b", "stopped", "b", "log in <!channel> & go on"))


async def test_slack_and_programs_understand_it() -> None:
    with listening() as listener:
        await Webhook("team", lambda: listener.url).deliver("n1", CONTENT)
    [heard] = listener.heard
    assert heard.headers["content-type"] == "application/json"
    assert heard.json["text"] == "log in &lt;!channel&gt; &amp; go on", "no words of an agent call anybody"
    assert heard.json["alert"]["message"] == "log in <!channel> & go on"
    assert heard.headers["webhook-id"] == "n1"
    assert "webhook-signature" not in heard.headers


@pytest.mark.parametrize("secret", ["a secret", "whsec_" + base64.b64encode(b"bytes").decode()])
async def test_it_is_signed_as_standard_webhooks_says(secret: str) -> None:
    with listening() as listener:
        await Webhook("team", lambda: listener.url, lambda: secret, clock=lambda: 1700000000.7).deliver("n1", CONTENT)
    [heard] = listener.heard
    assert heard.headers["webhook-timestamp"] == "1700000000"
    key = b"bytes" if secret.startswith("whsec_") else secret.encode()
    expected = hmac.new(key, b"n1.1700000000." + heard.body, sha256).digest()
    assert heard.headers["webhook-signature"] == "v1," + base64.b64encode(expected).decode()
    assert secret.encode() not in heard.body


def test_the_signature_of_the_specifications_own_example() -> None:
    """From the test vectors of Standard Webhooks."""
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    found = signature(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", b'{"test": 2432232314}')
    assert found == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize(
    ("status", "headers", "again"),
    [
        (500, {}, 0.0),
        (503, {"Retry_After": "7"}, 7.0),
        (429, {"Retry_After": "9999999"}, LONGEST_PAUSE_SECONDS),
        (429, {"Retry_After": "soon"}, 0.0),
        (429, {"Retry_After": "nan"}, 0.0),
        (404, {}, 300.0),
        (400, {}, None),
        (302, {"Location": "http://127.0.0.1:1/"}, None),
    ],
)
async def test_what_an_answer_means(status: int, headers: dict[str, str], again: float | None) -> None:
    with listening() as listener:
        listener.answer(status, **headers)
        with pytest.raises(Undelivered, match=f"it answered {status}") as failed:
            await Webhook("team", lambda: listener.url).deliver("n1", CONTENT)
    assert failed.value.again == again


async def test_no_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "TIMEOUT_SECONDS", 0.2)
    with listening() as listener:
        listener.answer(0)
        with pytest.raises(Undelivered, match=r"Timeout|no answer"):
            await Webhook("team", lambda: listener.url).deliver("n1", CONTENT)


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/s3cret-path", "http://[s3cret-path/", "nothing-s3cret-path"])
async def test_a_url_that_can_not_be_reached_is_in_no_message_and_in_no_log(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(Undelivered) as failed:
        await Webhook("team", lambda: url, lambda: "s3cret-key").deliver("n1", CONTENT)
    assert "s3cret" not in failed.value.message + caplog.text


async def test_neither_is_one_that_can(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with listening() as listener:
        await Webhook("team", lambda: f"{listener.url}/s3cret-path").deliver("n1", CONTENT)
    assert "s3cret" not in caplog.text


def test_a_secret_comes_from_a_file_or_a_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hook").write_text("from a file\n")
    monkeypatch.setenv("HOOK", "from a variable")
    assert said("credential:hook", tmp_path) == "from a file"
    assert said("env:HOOK", None) == "from a variable"
    assert said("https://chat.example/x", None) == "https://chat.example/x"
    for missing in ("credential:nothing", "env:NOTHING_AT_ALL", "credential:../hook"):
        with pytest.raises(Misconfigured):
            said(missing, tmp_path)
