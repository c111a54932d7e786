"""A model that says what it is told to, on loopback, whatever the API that it is asked by.

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
from typing import Any

from tests import loopback

type Json = dict[str, Any]

#: each of them is another number for each message, so that no sum is right by chance
STEPS = {
    "input_tokens": (900, 1),
    "output_tokens": (20, 3),
    "cache_read_input_tokens": (30_000, 7),
    "cache_creation_input_tokens": (200, 11),
}
#: as a batch calls them
KINDS = {
    "input": ("input_tokens", "cache_creation_input_tokens"),
    "output": ("output_tokens",),
    "cached": ("cache_read_input_tokens",),
}
_TASK = re.compile(r"Your task is only the test `([^`]+)`")


@dataclass(frozen=True, slots=True)
class Turn:
    say: str
    #: a command for its shell; without one, its turn is over
    run: str = ""
    #: what it refuses with first, so many times
    refuses: tuple[int, int] = (0, 0)
    #: and with these words
    words: str = "not now"


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

    def taken(self) -> dict[str, int]:
        """As the status of a batch tells it."""
        return {kind: self.total(*names) for kind, names in KINDS.items()}

    def turn(self, conversation: object, turns: int) -> tuple[str, int, Turn]:
        """Whose turn it is, after so many, and the how manieth."""
        if not turns:
            return "", turns, READS
        found = _TASK.search(json.dumps(conversation))
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


class Exchange(loopback.Answering[Model]):
    """One request and its answer; each API says how it reads and writes them."""

    def do_HEAD(self) -> None:
        self.send({})

    def do_GET(self) -> None:
        self.send({"data": []})

    def do_POST(self) -> None:
        self.asked(json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}"))

    def asked(self, body: Json) -> None:
        raise NotImplementedError

    def send(self, value: Json, status: int = 200) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        if status != 200:
            self.send_header("retry-after", "1")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def stream(self, events: Iterator[Json]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for told in events:
            self.wfile.write(f"event: {told['type']}\ndata: {json.dumps(told)}\n\n".encode())
            self.wfile.flush()


@contextmanager
def serving(plays: Mapping[str, Sequence[Turn]], api: type[Exchange]) -> Iterator[Model]:
    model = Model(plays)
    with loopback.serving(api, model, patient=True) as model.url:
        yield model
