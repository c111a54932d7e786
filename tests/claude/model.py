"""A model that says what it is told to: the part of the Messages API that claude speaks, on loopback.

A play is what it does about one test, turn by turn. It finds out which test from the prompt, as a model would: its
first turn is always to read the page. How many turns it has had is counted from the conversation that it is sent, so
it has no memory of its own; only what it has refused is remembered, because nobody sends that back.
"""

import itertools
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

type Json = dict[str, Any]

#: each of them is another number for each message, so that no sum is right by chance
STEPS = {
    "input_tokens": (900, 1),
    "output_tokens": (20, 3),
    "cache_read_input_tokens": (30_000, 7),
    "cache_creation_input_tokens": (200, 11),
}
ERRORS = {401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error"}
_TASK = re.compile(r"Your task is the test `([^`]+)`")


@dataclass(frozen=True, slots=True)
class Turn:
    say: str
    #: a command for its shell; without one, its turn is over
    run: str = ""
    #: what it refuses with first, so many times
    refuses: tuple[int, int] = (0, 0)


READS = Turn("I will read what I am to do.", 'cat "$SUPERVISOR_PROMPT"')
LOST = Turn("Nobody has told me what to do.")
OVER = Turn("There is nothing left to do.")


@dataclass(frozen=True, slots=True)
class Answer:
    """One message, and what it was said to take."""

    test: str
    usage: Mapping[str, int]
    at: float


@dataclass(slots=True)
class Model:
    """What is asked of it, and what it has answered."""

    plays: Mapping[str, Sequence[Turn]]
    url: str = ""
    answers: list[Answer] = field(default_factory=list)
    refused: Counter[tuple[str, int]] = field(default_factory=Counter)
    accepts_everybody: bool = False
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def total(self, *names: str) -> int:
        return sum(answer.usage[name] for answer in self.answers for name in names)

    def turn(self, body: Json) -> tuple[str, int, Turn]:
        """Whose turn it is, and the how manieth."""
        messages = body.get("messages", [])
        turns = sum(message.get("role") == "assistant" for message in messages)
        if not turns:
            return "", turns, READS
        found = _TASK.search(json.dumps(messages))
        test = found[1] if found else ""
        play = self.plays.get(test, [LOST])
        return test, turns, play[turns - 1] if turns <= len(play) else OVER

    def refusal(self, test: str, number: int, turn: Turn) -> int:
        status, times = turn.refuses
        with self._lock:
            self.refused[test, number] += 1
            return status if self.refused[test, number] <= times and not self.accepts_everybody else 0

    def answer(self, test: str) -> tuple[int, Mapping[str, int]]:
        with self._lock:
            number = next(self._numbers)
            usage = {name: start + step * number for name, (start, step) in STEPS.items()}
            self.answers.append(Answer(test, usage, time.time()))
            return number, usage


@contextmanager
def serving(plays: Mapping[str, Sequence[Turn]]) -> Iterator[Model]:
    model = Model(plays)

    class Exchange(_Exchange):
        served = model

    server = ThreadingHTTPServer(("127.0.0.1", 0), Exchange)
    server.daemon_threads = False
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="model")
    thread.start()
    model.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield model
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Exchange(BaseHTTPRequestHandler):
    served: Model

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""

    def do_HEAD(self) -> None:
        self._send({})

    def do_GET(self) -> None:
        self._send({"data": []})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        if "count_tokens" in self.path:
            return self._send({"input_tokens": 1})
        test, number, turn = self.served.turn(body)
        if status := self.served.refusal(test, number, turn):
            error = {"type": ERRORS[status], "message": "not now"}
            return self._send({"type": "error", "error": error}, status)
        return self._stream(body, turn, *self.served.answer(test))

    def _send(self, value: Json, status: int = 200) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        if status != 200:
            self.send_header("retry-after", "1")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _stream(self, body: Json, turn: Turn, number: int, usage: Mapping[str, int]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for told in _told(body, turn, number, usage):
            self.wfile.write(f"event: {told['type']}\ndata: {json.dumps(told)}\n\n".encode())
            self.wfile.flush()


def _told(body: Json, turn: Turn, number: int, usage: Mapping[str, int]) -> Iterator[Json]:
    """As the real one: what was said so far is counted at the start, all of it at the end."""
    head: Json = {
        "id": f"msg_{number:04}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": [],
    }
    head |= {"stop_reason": None, "stop_sequence": None, "usage": {**usage, "output_tokens": 1}}
    yield {"type": "message_start", "message": head}
    yield from _block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": turn.say})
    if turn.run:
        tool = {"type": "tool_use", "id": f"toolu_{number:04}", "name": "Bash", "input": {}}
        given = json.dumps({"command": turn.run, "description": turn.say})
        yield from _block(1, tool, {"type": "input_json_delta", "partial_json": given})
    ended = {"stop_reason": "tool_use" if turn.run else "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": usage["output_tokens"]}}
    yield {"type": "message_stop"}


def _block(index: int, block: Json, delta: Json) -> Iterator[Json]:
    yield {"type": "content_block_start", "index": index, "content_block": block}
    yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}
