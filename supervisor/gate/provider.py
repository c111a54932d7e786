"""Sends one request to an account's provider, with the account's key; it judges nothing.

If the provider can't be reached, it has not got the request: this counts as an overload. A connection that breaks
later may have cost something, so this is a failure, and the agent decides whether to try again.
"""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import httpx
import msgspec
import structlog
from anyio import CancelScope

from supervisor.errors import Misconfigured
from supervisor.gate.accounts import APIS, Account, sent_headers, told_headers, without
from supervisor.gate.api import Api, dict_of
from supervisor.gate.connections import Connections
from supervisor.gate.refusals import Refused

log = structlog.get_logger()

#: maximum size of an error's body, and of the response to a request that costs nothing
LONGEST_ERROR, LONGEST_FREE = 256 * 1024, 16 * 2**20
UNREACHABLE = 503


@dataclass(frozen=True, slots=True)
class Answer:
    """A provider's response. `error`: the whole body, if the provider does not serve the request."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    told: tuple[tuple[bytes, bytes], ...] = ()
    error: bytes | None = None
    response: httpx.Response | None = None

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "")

    @property
    def message(self) -> str:
        with suppress(msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            found = dict_of(dict_of(msgspec.json.decode(self.error or b"")).get("error")).get("message")
            return found[:1000] if isinstance(found, str) else ""
        return ""

    def chunks(self) -> AsyncIterator[bytes]:
        assert self.response is not None
        return _pieces(self.response)

    async def close(self) -> None:
        if self.response is not None:
            await self.response.aclose()


@dataclass(frozen=True, slots=True)
class Provider:
    """The provider, for one request of an agent."""

    connections: Connections
    account: Account
    headers: Iterable[tuple[bytes, bytes]]
    query: str = ""

    @property
    def api(self) -> Api:
        return APIS[self.account.api]

    async def answer(self, path: str, body: bytes, method: str = "POST") -> Answer:
        """Raises Refused if it is not known whether the provider got the request."""
        secret = self._secret()
        url = f"{self.account.url.rstrip('/')}{path}" + (f"?{self.query}" if self.query else "")
        headers = sent_headers(self.headers, self.api, secret)
        try:
            response = await self.connections.send(self.account.url, method, url, headers, body)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            log.warning("can't reach a provider", account=self.account.name, why=type(error).__name__)
            message = f"the provider of account {self.account.name} can't be reached"
            return Answer(UNREACHABLE, error=self.api.error(UNREACHABLE, message))
        except httpx.TimeoutException:
            raise Refused(504, "the provider did not answer in time") from None
        except httpx.HTTPError as error:
            raise Refused(502, f"the connection to the provider broke: {type(error).__name__}") from None
        return await self._read(response, secret)

    def _secret(self) -> str:
        try:
            return self.account.secret()
        except Misconfigured as error:
            log.error("a key can't be used", account=self.account.name, why=error.message)
            raise Refused(401, error.message) from None

    async def _read(self, response: httpx.Response, secret: str) -> Answer:
        headers = {name.lower(): value for name, value in response.headers.items()}
        told = tuple(told_headers(response.headers))
        if response.status_code == 200:
            return Answer(200, headers, told, response=response)
        try:
            error = await _bounded(response, LONGEST_ERROR)
        finally:
            with CancelScope(shield=True):
                await response.aclose()
        if response.status_code < 400:
            message = f"the provider answers with status {response.status_code}, which is not followed"
            raise Refused(502, message)
        return Answer(response.status_code, headers, told, error=without(secret, error))


def _pieces(response: httpx.Response) -> AsyncIterator[bytes]:
    """Chunks as they arrive. httpx's `aiter_raw` would only add overhead."""
    assert isinstance(response.stream, httpx.AsyncByteStream)
    return aiter(response.stream)


async def _bounded(response: httpx.Response, most: int) -> bytes:
    parts, size = list[bytes](), 0
    with suppress(httpx.HTTPError):
        async for chunk in _pieces(response):
            parts.append(chunk)
            size += len(chunk)
            if size >= most:
                break
    return b"".join(parts)[:most]


async def whole(answer: Answer) -> bytes:
    """The whole body of the response to a request that costs nothing."""
    if answer.error is not None or answer.response is None:
        return answer.error or b""
    try:
        return await _bounded(answer.response, LONGEST_FREE)
    finally:
        with CancelScope(shield=True):
            await answer.close()
