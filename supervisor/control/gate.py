"""Limits the size of every request's body, and the time until it has arrived."""

from anyio import fail_after
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from supervisor.control.refusing import refusal

BODY_BYTES = 64 * 2**20
BODY_SECONDS = 30.0


class _Stopped(Exception):
    def __init__(self, answer: Response) -> None:
        self.answer = answer


class Gate:
    def __init__(self, app: ASGIApp, *, body_bytes: int = BODY_BYTES, body_seconds: float = BODY_SECONDS) -> None:
        self._app, self._bytes, self._seconds = app, body_bytes, body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            body = await self._body(scope, receive)
        except _Stopped as stopped:
            await stopped.answer(scope, receive, send)
            return
        pending = [body]

        async def given() -> Message:
            return pending.pop() if pending else await receive()

        await self._app(scope, given, send)

    async def _body(self, scope: Scope, receive: Receive) -> Message:
        """Read the whole body before the request is handled."""
        announced = dict(scope["headers"]).get(b"content-length", b"0")
        if announced.isdigit() and int(announced) > self._bytes:
            raise _Stopped(self._too_large())
        parts: list[bytes] = []
        size = 0
        try:
            with fail_after(self._seconds):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        return message
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > self._bytes:
                        raise _Stopped(self._too_large())
                    if not message.get("more_body", False):
                        return {"type": "http.request", "body": b"".join(parts), "more_body": False}
        except TimeoutError:
            late = refusal(
                408, "timeout", f"the request did not arrive within {self._seconds:g} seconds", exit_code=3
            )
            raise _Stopped(late) from None

    def _too_large(self) -> Response:
        hint = "submit fewer tests at a time"
        return refusal(413, "too-large", f"the request is larger than {self._bytes} bytes", hint=hint, exit_code=4)
