"""Stands for whoever is told of alerts: an HTTP server on loopback that answers as it is told to."""

import json
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.loopback import Answering, serving


@dataclass(frozen=True)
class Heard:
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Listener:
    url: str = ""
    heard: list[Heard] = field(default_factory=list)
    #: the next answers; then 200. 0: none at all, until it is over
    answers: deque[tuple[int, dict[str, str]]] = field(default_factory=deque)
    over: threading.Event = field(default_factory=threading.Event)

    def answer(self, *statuses: int, **headers: str) -> None:
        self.answers.extend(
            (status, {key.replace("_", "-"): text for key, text in headers.items()}) for status in statuses
        )

    @property
    def texts(self) -> list[str]:
        return [each.json["text"] for each in self.heard]


class _Hook(Answering[Listener]):
    def do_POST(self) -> None:
        known = self.known
        body = self.rfile.read(int(self.headers["Content-Length"]))
        known.heard.append(Heard({key.lower(): value for key, value in self.headers.items()}, body))
        status, headers = known.answers.popleft() if known.answers else (200, {})
        self.close_connection = True
        if not status:
            known.over.wait(60)
            return
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()


@contextmanager
def listening() -> Iterator[Listener]:
    known = Listener()
    with serving(_Hook, known) as url:
        known.url = f"{url}/hook"
        try:
            yield known
        finally:
            known.over.set()
