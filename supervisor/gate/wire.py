"""HTTP to agents: uvicorn's protocol, with a deadline for a request's head and an error message for a bad request."""

import asyncio
import sys
from http import HTTPStatus

import h11
import msgspec
from uvicorn.protocols.http.h11_impl import H11Protocol

from supervisor.gate.refusals import HEAD_BYTES

HEAD_SECONDS = 20.0
SENTENCES = {
    400: "this is not HTTP that the gate understands",
    431: f"the head of the request is larger than {HEAD_BYTES} bytes",
    501: "the gate does not know this transfer coding",
}


class Wire(H11Protocol):
    _head: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_head()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        if self.conn.their_state is not h11.IDLE:
            self._forget_head()
        elif self._head is None and self.conn.trailing_data[0]:
            self._expect_head()

    def _expect_head(self) -> None:
        self._head = self.loop.call_later(HEAD_SECONDS, self._is_late)

    def _forget_head(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _is_late(self) -> None:
        self._head = None
        if not self.transport.is_closing() and self.conn.our_state is h11.IDLE:
            self._say(408, f"the head of the request did not arrive within {HEAD_SECONDS:g} seconds")

    def send_400_response(self, msg: str) -> None:
        error = sys.exception()
        status = error.error_status_hint if isinstance(error, h11.RemoteProtocolError) else 400
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self._say(status, SENTENCES.get(status, SENTENCES[400]))
        else:
            self.transport.close()

    def _say(self, status: int, sentence: str) -> None:
        error = {"type": "invalid_request_error", "message": sentence}
        body = msgspec.json.encode({"type": "error", "error": error})
        headers = [("content-type", "application/json"), ("content-length", str(len(body))), ("connection", "close")]
        reason = HTTPStatus(status).phrase.encode()
        for event in (
            h11.Response(status_code=status, headers=headers, reason=reason),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
