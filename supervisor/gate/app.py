"""The gate's HTTP application: which requests it passes on, and how it refuses the others.

Everything about a request is hostile. Its path must equal one of a few, byte for byte; only its key identifies its
owner; its body must be complete, within bounds, before the provider gets anything.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec
import structlog
from anyio import fail_after
from starlette.types import Receive, Scope, Send

from supervisor.errors import Misconfigured
from supervisor.gate.accounts import APIS, Account
from supervisor.gate.api import Api
from supervisor.gate.connections import Connections
from supervisor.gate.exchange import Desk, Exchange
from supervisor.gate.keys import PREFIX, Keys, Pass
from supervisor.gate.provider import Provider, whole
from supervisor.gate.refusals import HEAD_BYTES, Refused

log = structlog.get_logger()

BODY_BYTES, BODY_SECONDS = 32 * 2**20, 60.0
_QUERY = re.compile(r"[A-Za-z0-9_.,=&-]{0,200}")
#: headers that may occur only once, because a second one could be read differently
_SINGLE = (b"host", b"content-length", b"transfer-encoding", b"content-type", b"authorization", b"x-api-key")
#: only browsers send these, on behalf of other people's pages
_OF_BROWSERS = (b"origin", b"sec-fetch-site", b"referer")
#: for health probes
_ROOT = "/"


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    query: str
    headers: list[tuple[bytes, bytes]]

    def header(self, name: bytes) -> bytes:
        return next((value for key, value in self.headers if key == name), b"")


class Gate:
    """An ASGI application."""

    def __init__(
        self, desk: Desk, keys: Keys, accounts: Iterable[Account], hosts: frozenset[str], connections: Connections
    ) -> None:
        self._desk, self._keys, self._hosts, self._connections = desk, keys, hosts, connections
        self._accounts = {(account.name, account.api): account for account in accounts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        api: Api = APIS["anthropic"]
        body = Body(receive)
        try:
            request = self._request(scope)
            if request.path == _ROOT:
                await _answer(send, 200, msgspec.json.encode({"problems": self._problems()}))
                return
            api = _api_of(request)
            provider = self._provider(request, owner := self._owner(request), api)
            if request.path in api.asks:
                await self._free(provider, request, b"", send)
                return
            data = await body.read(request)
            if request.path in api.free:
                await self._free(provider, request, data, send)
                return
            asked = api.asked(request.path, data)
            await Exchange(self._desk, owner, provider, request.path, asked, receive, send).run()
        except Refused as refused:
            await body.thrown_away()
            await _refuse(send, api, refused)

    def _problems(self) -> list[str]:
        """Does not tell where a key should be, because anybody on this machine may ask."""
        found = []
        for account in self._accounts.values():
            try:
                account.secret()
            except Misconfigured:
                found.append(f"the key of account {account.name} can't be used")
        return found

    def _request(self, scope: Scope) -> Request:
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        target = scope["raw_path"].decode("latin-1")
        request = Request(scope["method"], target, scope["query_string"].decode("latin-1"), headers)
        if scope["http_version"] not in ("1.0", "1.1"):
            raise Refused(505, "the gate speaks HTTP/1.1")
        _check_head(headers)
        host = request.header(b"host").decode("latin-1").lower()
        if host not in self._hosts:
            raise Refused(421, "this is not the host that the request is for")
        if any(request.header(name) for name in _OF_BROWSERS):
            raise Refused(403, "the gate serves agents, not web pages")
        if not target.startswith("/"):
            raise Refused(400, "the target of a request must be a path: the gate is no proxy")
        if not _QUERY.fullmatch(request.query):
            raise Refused(400, "the query has characters that no API of the gate's uses")
        _check_method(request)
        return request

    def _owner(self, request: Request) -> Pass:
        key = _key_of(request)
        owner = self._keys.pass_of(key) if key.startswith(PREFIX) else None
        if owner is None:
            raise Refused(401, "the gate does not know this key: agents get theirs from the supervisor")
        if owner.is_over:
            raise Refused(401, "the attempt that this key belongs to is over")
        return owner

    def _provider(self, request: Request, owner: Pass, api: Api) -> Provider:
        account = self._accounts.get((owner.accounts.get(api.name, ""), api.name))
        if account is None:
            raise Refused(403, f"there is no account of the API {api.name} for this attempt")
        return Provider(self._connections, account, request.headers, request.query)

    async def _free(self, provider: Provider, request: Request, data: bytes, send: Send) -> None:
        answer = await provider.answer(request.path, data, request.method)
        await _answer(send, answer.status, await whole(answer), answer.told)


class Body:
    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self.is_over = False

    async def read(self, request: Request) -> bytes:
        if request.header(b"content-type").split(b";")[0].strip().lower() != b"application/json":
            raise Refused(415, "the body of a request must be application/json")
        if request.header(b"content-encoding") not in (b"", b"identity"):
            raise Refused(415, "the body of a request must not be compressed: what it can cost is read from it")
        announced = request.header(b"content-length")
        if announced.isdigit() and int(announced) > BODY_BYTES:
            raise Refused(413, f"the request is larger than {BODY_BYTES} bytes")
        parts, size = list[bytes](), 0
        try:
            with fail_after(BODY_SECONDS):
                while not self.is_over:
                    parts.append(await self._next())
                    size += len(parts[-1])
                    if size > BODY_BYTES:
                        raise Refused(413, f"the request is larger than {BODY_BYTES} bytes")
        except TimeoutError:
            message = f"the request did not arrive within {BODY_SECONDS:g} seconds"
            raise Refused(408, message) from None
        return b"".join(parts)

    async def _next(self) -> bytes:
        message = await self._receive()
        if message["type"] != "http.request":
            raise Refused(400, "the request ended before its body did")
        self.is_over = not message.get("more_body", False)
        found: bytes = message.get("body", b"")
        return found

    async def thrown_away(self) -> None:
        """Read the rest of the body, within bounds: a client that is still sending does not read the response."""
        size = 0
        try:
            with fail_after(1.0):
                while not self.is_over and size < BODY_BYTES:
                    size += len(await self._next())
        except (TimeoutError, Refused):
            return


def _check_head(headers: list[tuple[bytes, bytes]]) -> None:
    """Refuse ambiguous framing: if two headers say where a request ends, the provider may pick the other one."""
    if sum(len(name) + len(value) + 4 for name, value in headers) > HEAD_BYTES:
        raise Refused(431, f"the head of the request is larger than {HEAD_BYTES} bytes")
    times = Counter(name for name, _ in headers)
    if doubled := [name.decode() for name in _SINGLE if times[name] > 1]:
        raise Refused(400, f"the header {doubled[0]} is there twice")
    if times[b"content-length"] and times[b"transfer-encoding"]:
        raise Refused(400, "the request says in two ways where it ends")


def _check_method(request: Request) -> None:
    if request.path == _ROOT:
        allowed: tuple[str, ...] = ("GET", "HEAD")
    elif any(request.path in api.costs | api.free for api in APIS.values()):
        allowed = ("POST",)
    elif any(request.path in api.asks for api in APIS.values()):
        allowed = ("GET",)
    else:
        raise Refused(404, "the gate does not pass this path on")
    if request.method not in allowed:
        headers = ((b"allow", ", ".join(allowed).encode()),)
        raise Refused(405, f"this path is for {allowed[0]} only", headers=headers)


def _api_of(request: Request) -> Api:
    """The API, by the path; if two have the same path, by a header that only one of them uses."""
    found = [api for api in APIS.values() if request.path in api.costs | api.free | api.asks]
    if len(found) > 1:
        return APIS["anthropic" if request.header(b"anthropic-version") else "openai"]
    return found[0]


def _key_of(request: Request) -> str:
    """The key; some agents send the same key in both headers."""
    scheme, _, token = request.header(b"authorization").partition(b" ")
    said = {request.header(b"x-api-key"), token.strip() if scheme.lower() == b"bearer" else b""} - {b""}
    if len(said) != 1:
        raise Refused(401, "the request has no key" if not said else "the request has two keys")
    return said.pop().decode("latin-1")


async def _refuse(send: Send, api: Api, refused: Refused) -> None:
    """Refuse, and close the connection: the fault may be in where the request ends."""
    log.debug("refused", status=refused.status, why=refused.message)
    headers = (*refused.headers, (b"connection", b"close"))
    await _answer(send, refused.status, api.error(refused.status, refused.message), headers)


async def _answer(send: Send, status: int, body: bytes, headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
    kept = dict(headers) | {b"content-length": str(len(body)).encode()}
    kept.setdefault(b"content-type", b"application/json")
    await send({"type": "http.response.start", "status": status, "headers": list(kept.items())})
    await send({"type": "http.response.body", "body": body})
