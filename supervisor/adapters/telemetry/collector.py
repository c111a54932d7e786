"""A collector of OpenTelemetry: one HTTP request with spans, and what its answer means."""

import gzip
from collections.abc import Callable, Mapping

import httpx
from anyio import fail_after

from supervisor import __version__
from supervisor.adapters.alerts.delivery import Undelivered
from supervisor.adapters.alerts.webhook import asked_pause
from supervisor.errors import Misconfigured

TIMEOUT_SECONDS = 10.0
PATH = "/v1/traces"
#: answers after which the protocol lets the same spans be told again
_AGAIN = {408, 429, 502, 503, 504}
#: those that only a person can mend, so that what waits is worth keeping until then
_MENDED_BY_A_PERSON = {401, 403, 404}
_MENDING_SECONDS = 300.0
_LONGEST_ANSWER = 64 * 1024


class Collector:
    def __init__(self, endpoint: Callable[[], str], headers: Mapping[str, Callable[[], str]]) -> None:
        """Both are read for each request, so that a changed one counts; the headers may be secrets."""
        self._endpoint, self._headers = endpoint, headers

    async def take(self, request: bytes) -> bytes:
        """Its answer. Raises Undelivered."""
        try:
            url, headers = _url(self._endpoint()), {name: value() for name, value in self._headers.items()}
        except Misconfigured as unknown:
            raise Undelivered(unknown.message, again=_MENDING_SECONDS) from None
        headers |= {
            "content-type": "application/x-protobuf",
            "content-encoding": "gzip",
            "user-agent": f"agent-supervisor/{__version__}",
        }
        try:
            with fail_after(TIMEOUT_SECONDS):
                async with (
                    httpx.AsyncClient(timeout=TIMEOUT_SECONDS) as client,
                    client.stream("POST", url, content=gzip.compress(request, 1), headers=headers) as answer,
                ):
                    _judge(answer)
                    return await _bounded(answer)
        except TimeoutError:
            raise Undelivered(f"no answer within {TIMEOUT_SECONDS:g} s") from None
        except (httpx.InvalidURL, ValueError):
            # Of a URL, or of a header that has what no header can have. The message would have it.
            raise Undelivered("its URL or a header is not valid", again=_MENDING_SECONDS) from None
        except httpx.HTTPError as error:
            raise Undelivered(f"it can't be reached: {type(error).__name__}") from None


def _url(endpoint: str) -> str:
    """People name the collector, or the place in it, as OpenTelemetry's own variables do."""
    bare = endpoint.rstrip("/")
    return bare if bare.endswith(PATH) else bare + PATH


async def _bounded(answer: httpx.Response) -> bytes:
    said = b""
    async for piece in answer.aiter_bytes():
        said += piece
        if len(said) > _LONGEST_ANSWER:
            return b""
    return said


def _judge(answer: httpx.Response) -> None:
    status = answer.status_code
    if 200 <= status < 300:
        return
    said = f"it answered {status}"
    if status in _MENDED_BY_A_PERSON:
        raise Undelivered(said, again=_MENDING_SECONDS)
    raise Undelivered(said, again=asked_pause(answer) if status in _AGAIN else None)
