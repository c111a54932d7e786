"""A webhook: an HTTP request with JSON that Slack and programs understand, signed as Standard Webhooks says.

Whoever checks the signature takes the HMAC-SHA256, with the shared secret, of `ID.TIMESTAMP.BODY` (the headers
`webhook-id`, `webhook-timestamp` and the body as it came), in base64, and compares it with `webhook-signature` after
its `v1,`. A repeated id is a repeated delivery.
"""

import base64
import hmac
import json
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from typing import Any

import httpx
from anyio import fail_after

from supervisor import __version__
from supervisor.adapters.alerts.delivery import Undelivered
from supervisor.errors import Misconfigured

TIMEOUT_SECONDS = 15.0
#: a receiver may ask for so long a pause, and no longer
LONGEST_PAUSE_SECONDS = 3600.0
#: answers after which it is worth while to try again, beside those of the server's own failures
_AGAIN = {401, 403, 404, 408, 409, 423, 425, 429}
#: of them, those that only a person can mend: they are tried a few times an hour, not faster
_MENDED_BY_A_PERSON = {401, 403, 404}
_MENDING_SECONDS = 300.0

#: They log the URL of each request, which may be a secret.
for _name in ("httpx", "httpcore"):
    logging.getLogger(_name).setLevel(logging.WARNING)


class Webhook:
    def __init__(
        self,
        name: str,
        url: Callable[[], str],
        secret: Callable[[], str] | None = None,
        only: tuple[str, ...] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`url` and `secret` are read for each request, so that a changed one counts; both may be secrets."""
        self.name, self.only = name, only
        self._url, self._secret, self._clock = url, secret, clock

    async def deliver(self, notice_id: str, content: dict[str, Any]) -> None:
        body = json.dumps(content | {"text": _escaped(content["text"])}).encode()
        try:
            url, headers = self._url(), self._headers(notice_id, body)
        except Misconfigured as unknown:
            raise Undelivered(unknown.message, again=_MENDING_SECONDS) from None
        try:
            with fail_after(TIMEOUT_SECONDS):
                async with (
                    httpx.AsyncClient(timeout=TIMEOUT_SECONDS) as client,
                    client.stream("POST", url, content=body, headers=headers) as answer,
                ):
                    _judge(answer)
        except TimeoutError:
            raise Undelivered(f"no answer within {TIMEOUT_SECONDS:g} s") from None
        except httpx.InvalidURL:
            raise Undelivered("its URL is not valid", again=_MENDING_SECONDS) from None
        except httpx.HTTPError as error:
            # The message of an error may have the URL, which may be a secret.
            raise Undelivered(f"it can't be reached: {type(error).__name__}") from None

    def _headers(self, notice_id: str, body: bytes) -> dict[str, str]:
        at = str(int(self._clock()))
        headers = {
            "content-type": "application/json",
            "user-agent": f"agent-supervisor/{__version__}",
            "webhook-id": notice_id,
            "webhook-timestamp": at,
        }
        if self._secret is not None:
            headers["webhook-signature"] = signature(self._secret(), notice_id, at, body)
        return headers


def signature(secret: str, notice_id: str, timestamp: str, body: bytes) -> str:
    """A secret that begins with `whsec_` is the base64 of its bytes, as Standard Webhooks has it."""
    key = secret.encode()
    if secret.startswith("whsec_"):
        with suppress(ValueError):
            key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    digest = hmac.new(key, f"{notice_id}.{timestamp}.".encode() + body, sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"


def _escaped(text: str) -> str:
    """In Slack these begin links and calls for people, and the text has words of agents."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _judge(answer: httpx.Response) -> None:
    status = answer.status_code
    if 200 <= status < 300:
        return
    said = f"it answered {status}"
    if status >= 500 or status in _AGAIN:
        pause = _MENDING_SECONDS if status in _MENDED_BY_A_PERSON else asked_pause(answer)
        raise Undelivered(said, again=pause)
    raise Undelivered(said, again=None)


def asked_pause(answer: httpx.Response) -> float:
    try:
        asked = float(answer.headers.get("retry-after", "0"))
    except ValueError:
        return 0.0
    return min(max(asked, 0.0), LONGEST_PAUSE_SECONDS) if asked == asked else 0.0
