"""A command's output: decoded without ever failing, and kept in memory up to a limit."""

import codecs
import threading
from collections import deque
from typing import Literal

Stream = Literal["stdout", "stderr"]

HEAD_CHARACTERS = 512 * 1024
TAIL_CHARACTERS = 512 * 1024


def decoder() -> codecs.IncrementalDecoder:
    """Decodes UTF-8 incrementally; an invalid byte becomes U+FFFD."""
    return codecs.getincrementaldecoder("utf-8")(errors="replace")


class Capped:
    """Growing text: keeps its beginning and end, and only counts the characters between."""

    def __init__(self, head: int = HEAD_CHARACTERS, tail: int = TAIL_CHARACTERS) -> None:
        self._room = head
        self._head: list[str] = []
        self._tail: deque[str] = deque()
        self._tail_limit = tail
        self._tail_length = 0
        self.left_out = 0
        self._lock = threading.Lock()

    def add(self, text: str) -> None:
        with self._lock:
            self._add(text)

    def _add(self, text: str) -> None:
        if self._room:
            self._head.append(text[: self._room])
            self._room, text = max(0, self._room - len(text)), text[self._room :]
        if text:
            self._tail.append(text)
            self._tail_length += len(text)
            self._trim()

    def _trim(self) -> None:
        while self._tail_length > self._tail_limit:
            oldest = self._tail.popleft()
            spare = min(len(oldest), self._tail_length - self._tail_limit)
            self._tail_length -= spare
            self.left_out += spare
            if spare < len(oldest):
                self._tail.appendleft(oldest[spare:])

    @property
    def text(self) -> str:
        with self._lock:
            head, tail = "".join(self._head), "".join(self._tail)
        return f"{head}\n[… {self.left_out} characters left out …]\n{tail}" if self.left_out else head + tail
