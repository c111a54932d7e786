"""A provider on loopback, which answers what it is told to and remembers what it was asked."""

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.loopback import Answering, serving

type Json = dict[str, Any]

USAGE = {
    "input_tokens": 11,
    "cache_creation_input_tokens": 22,
    "cache_read_input_tokens": 33,
    "output_tokens": 44,
}


@dataclass(frozen=True, slots=True)
class Asked:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    at: float
    #: of its end of the connection
    port: int


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer. Without events, a whole one."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: Json = field(default_factory=dict)
    events: Sequence[Json] = ()
    #: the connection is cut after the last event
    is_cut: bool = False
    #: seconds before each event
    pace: float = 0.0
    #: waits for this before the event of the same number
    waits: tuple[int, threading.Event] | None = None


def message(usage: Json = USAGE) -> tuple[Json, ...]:
    """A stream of Anthropic's: what was read is told first, what was written at the end."""
    first = {**usage, "output_tokens": 1}
    return (
        {"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "usage": first}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": 'the word "usage"'}},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": usage["output_tokens"]},
        },
        {"type": "message_stop"},
    )


def refusal(status: int, message: str = "not now", **headers: str) -> Reply:
    kinds = {401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error"}
    error = {"type": kinds.get(status, "api_error"), "message": message}
    return Reply(status, {name.replace("_", "-"): text for name, text in headers.items()}, {"error": error})


STREAM = Reply(events=message())


@dataclass(slots=True)
class Scripted:
    replies: list[Reply] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    url: str = ""
    #: of the last one that was asked to stream
    hung_up: threading.Event = field(default_factory=threading.Event)
    #: what comes after the last one
    always: Reply = STREAM

    def next(self) -> Reply:
        return self.replies.pop(0) if self.replies else self.always


class Exchange(Answering[Scripted]):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(Reply(body={"data": []}), b"")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self._answer(self.known.next(), body)

    def _answer(self, reply: Reply, body: bytes) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.known.asked.append(Asked(self.command, self.path, headers, body, time.time(), self.client_address[1]))
        try:
            self._stream(reply) if reply.events else self._whole(reply)
        except (BrokenPipeError, ConnectionResetError):
            self.known.hung_up.set()
            self.close_connection = True

    def _whole(self, reply: Reply) -> None:
        if reply.waits is not None:
            reply.waits[1].wait(20)
        data = json.dumps(reply.body).encode()
        self.send_response(reply.status)
        for name, value in {"content-type": "application/json", **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, reply: Reply) -> None:
        self.send_response(reply.status)
        for name, value in {"content-type": "text/event-stream", **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for number, event in enumerate(reply.events):
            time.sleep(reply.pace)
            if reply.waits is not None and number == reply.waits[0]:
                reply.waits[1].wait(20)
            data = f"event: {event.get('type', 'x')}\ndata: {json.dumps(event)}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()
        if reply.is_cut:
            self.close_connection = True
            self.connection.shutdown(2)
            return
        self.wfile.write(b"0\r\n\r\n")


@contextmanager
def scripted(*replies: Reply) -> Iterator[Scripted]:
    found = Scripted(list(replies))
    with serving(Exchange, found) as found.url:
        yield found
