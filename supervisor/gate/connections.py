"""Connections to providers, each kept for another request once its response is over.

For each request, httpx searches all connections of its pool, and for each idle one it counts all of them. So here
each client has one connection, and serves one request at a time. A provider's idle clients form a stack: the next
request takes the one used last, and those not used for long are at the bottom.
"""

import ssl
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import cache, partial

import httpx
from anyio import CancelScope

CONNECT_SECONDS, SEND_SECONDS = 15.0, 60.0
#: between two chunks of a response, and before the first: a model may think for minutes without output
SILENT_SECONDS = 900.0
#: how long an idle connection is kept
IDLE_SECONDS = 20.0


class Connections:
    """Connections without an upper bound: with one, an abandoned request would keep its place in line for ever."""

    def __init__(self, idle_seconds: float = IDLE_SECONDS) -> None:
        self._idle_seconds = idle_seconds
        #: by provider, each with the time since which it is idle
        self._idle: dict[str, deque[tuple[float, httpx.AsyncClient]]] = defaultdict(deque)
        self._is_closed = False

    async def send(
        self, provider: str, method: str, url: str, headers: list[tuple[str, str]], body: bytes
    ) -> httpx.Response:
        """The response, with its body still to be read; close it in any case. Raises httpx.HTTPError."""
        idle = self._idle[provider]
        client = idle.pop()[1] if idle else _client()
        try:
            request = client.build_request(method, url, headers=headers, content=body)
            response = await client.send(request, stream=True)
        except BaseException:
            with CancelScope(shield=True):
                await client.aclose()
            raise
        assert isinstance(response.stream, httpx.AsyncByteStream)
        response.stream = _Told(response.stream, partial(self._put_back, provider, client))
        return response

    async def _put_back(self, provider: str, client: httpx.AsyncClient) -> None:
        idle, now = self._idle[provider], time.monotonic()
        idle.append((now, client))
        while idle and (self._is_closed or idle[0][0] < now - self._idle_seconds):
            await idle.popleft()[1].aclose()

    async def close(self) -> None:
        """Close idle connections; one in use is closed when its response is closed."""
        self._is_closed = True
        for idle in self._idle.values():
            while idle:
                await idle.pop()[1].aclose()


@asynccontextmanager
async def connections(idle_seconds: float = IDLE_SECONDS) -> AsyncIterator[Connections]:
    found = Connections(idle_seconds)
    try:
        yield found
    finally:
        with CancelScope(shield=True):
            await found.close()


class _Told(httpx.AsyncByteStream):
    """Calls `over` when the response is closed, read to its end or not."""

    def __init__(self, stream: httpx.AsyncByteStream, over: Callable[[], Awaitable[None]]) -> None:
        self._stream, self._over = stream, over

    def __aiter__(self) -> AsyncIterator[bytes]:
        return aiter(self._stream)

    async def aclose(self) -> None:
        try:
            await self._stream.aclose()
        finally:
            await self._over()


@cache
def _authorities() -> ssl.SSLContext:
    """Cached, because loading the certificate authorities takes a tenth of a second."""
    return httpx.create_ssl_context()


def _client() -> httpx.AsyncClient:
    return httpx.AsyncClient(
        verify=_authorities(),
        timeout=httpx.Timeout(SILENT_SECONDS, connect=CONNECT_SECONDS, write=SEND_SECONDS, pool=CONNECT_SECONDS),
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=IDLE_SECONDS),
        follow_redirects=False,
    )
