"""What every request passes before a page sees it, and what every answer says to the browser.

Cases that are refused: a name of this server that is not ours (a site that points its own name at this machine); no
session, or no token of a program where that may read; a change that another site asks for. An answer may be shown by
nobody else, runs no script but ours, and fetches nothing from elsewhere.
"""

import hmac
import re
import secrets
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from supervisor.dashboard.entering import Entrance, Session

#: names of this machine on its loopback; `ssh -L` may give any port
_OURS = re.compile(r"(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?", re.IGNORECASE)
#: what may be had without a session: how to get one, and files that are the same for everybody
_OPEN = re.compile(r"/login|/assets/[\w.-]+")
#: what a program may read by a token of its own
_FOR_READERS = frozenset({"/metrics", "/feed.atom"})
FORM = "form_key"
HEADERS = {
    # Scripts are ours, by file; of them only htmx writes HTML.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types htmx"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
NEEDS_LOGIN = (
    "There is no session here. Run `supervisorctl dashboard` on the daemon's machine: it prints an address.\n"
)


class Door:
    def __init__(self, app: ASGIApp, entrance: Entrance, cookie: str) -> None:
        self._app, self._entrance, self._cookie = app, entrance, cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        # htmx obeys only elements that have it, so markup of anybody else's would be dead.
        scope.setdefault("state", {})["nonce"] = secrets.token_urlsafe(16)

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        refused, receive = await self._refusal(scope, receive)
        await (refused or self._app)(scope, receive, sent)

    async def _refusal(self, scope: Scope, receive: Receive) -> tuple[Response | None, Receive]:
        headers = Headers(scope=scope)
        if len(headers.getlist("host")) != 1 or not _OURS.fullmatch(headers["host"]):
            return _no(421, "This server is known as localhost only."), receive
        reads = scope["method"] in ("GET", "HEAD")
        if not _is_ours(headers) and not (reads and headers.get("sec-fetch-dest") == "document"):
            return _no(403, "Another site asked for this."), receive
        if _OPEN.fullmatch(scope["path"]):
            return None, receive
        if reads and scope["path"] in _FOR_READERS and self._entrance.is_reader(headers.get("authorization", "")):
            return None, receive
        session = self._session(headers)
        if session is None:
            return _no(401, NEEDS_LOGIN), receive
        scope["state"]["session"] = session
        if reads:
            return None, receive
        return await _without_key(session, headers, receive)

    def _session(self, headers: Headers) -> Session | None:
        kept = [cookie_parser(each).get(self._cookie, "") for each in headers.getlist("cookie")]
        return self._entrance.session(kept[0]) if len(kept) == 1 else None


async def _without_key(session: Session, headers: Headers, receive: Receive) -> tuple[Response | None, Receive]:
    """A change says the key of its session: `Gate` has read the whole body, so it can be read twice."""
    message = await receive()
    body: bytes = message.get("body", b"")
    said = parse_qs(body.decode(errors="replace"), max_num_fields=20).get(FORM, [""])
    given = [message]

    async def again() -> Message:
        return given.pop() if given else await receive()

    if headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
        return _no(415, "Forms only."), again
    if len(said) != 1 or not hmac.compare_digest(said[0].encode(), session.form_key.encode()):
        return _no(403, "The form is not of this session: load the page again."), again
    return None, again


def _is_ours(headers: Headers) -> bool:
    """Whether the request comes from a page of ours, or from no page: browsers say where it comes from."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = headers.get("origin")
    return origin is None or origin.lower() == f"http://{headers['host'].lower()}"


def _no(status: int, text: str) -> Response:
    return PlainTextResponse(text, status)
