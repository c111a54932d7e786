"""Masks secrets in everything that is written, even if one arrives in two pieces.

A secret pattern has a literal prefix, so the end of a piece can be tested for the beginning of a secret; that part is
held back until the next piece decides. A known value never spans lines: each of its lines is a value of its own.
"""

import os
from collections.abc import Iterable, Iterator, Mapping

from supervisor.e2e.secrets import (
    BLOCK,
    BLOCK_BEGINS,
    BLOCK_NAMED,
    BLOCK_OPEN,
    KINDS,
    MASK,
    PASSWORD,
    PASSWORD_OPEN,
    lines_of,
    secret_values,
)

_LONGEST_HELD = 64 * 1024


class Redactor:
    """Masks known values, and whatever matches a well-known kind of token."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values: tuple[str, ...] = ()
        self._kinds = tuple((kind.start, kind.whole) for kind in KINDS)
        opens = [(kind.start, kind.open) for kind in KINDS]
        self._open = (*opens, ("://", PASSWORD_OPEN), (BLOCK_BEGINS, BLOCK_OPEN))
        self.learn(values)

    @classmethod
    def of_environment(cls, *environments: Mapping[str, str]) -> "Redactor":
        return cls(secret_values(*environments))

    def learn(self, values: Iterable[str]) -> None:
        known = lines_of(values) | set(self._values)
        self._values = tuple(sorted(known, key=len, reverse=True))

    def learn_environment(self, environment: Mapping[str, str]) -> None:
        self.learn(secret_values(environment))

    def text(self, text: str) -> str:
        for value in self._values:
            if value in text:
                text = text.replace(value, MASK)
        for start, pattern in self._kinds:
            if start in text:
                text = pattern.sub(f"{start}{MASK}", text)
        if "://" in text:
            text = PASSWORD.sub(MASK, text)
        return BLOCK.sub(MASK, text) if BLOCK_NAMED in text else text

    def stream(self) -> "RedactedStream":
        return RedactedStream(self)

    def decided(self, text: str) -> int:
        """How much of `text` can be written now: the rest may be, or become, part of a secret."""
        held = max((_overlap(text, value) for value in self._values), default=0)
        for start, still_open in self._open:
            found = still_open.search(text) if start in text else None
            held = max(held, len(text) - found.start() if found else _overlap(text, start))
        return self._before_secrets(text, len(text) - min(held, _LONGEST_HELD))

    def _before_secrets(self, text: str, cut: int) -> int:
        """The last position up to `cut` that is not inside a secret."""
        while inside := [start for start, end in self._secrets(text) if start < cut < end]:
            cut = min(inside)
        return cut

    def _secrets(self, text: str) -> Iterator[tuple[int, int]]:
        for value in self._values:
            at = text.find(value)
            while at >= 0:
                yield at, at + len(value)
                at = text.find(value, at + 1)
        for start, pattern in self._kinds:
            if start in text:
                yield from (found.span() for found in pattern.finditer(text))
        if "://" in text:  # include the @: without it, a password would not be recognised
            yield from ((found.start(), found.end() + 1) for found in PASSWORD.finditer(text))
        if BLOCK_NAMED in text:
            yield from (found.span() for found in BLOCK.finditer(text))


class RedactedStream:
    """Redacts one stream of text in pieces."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = ""

    def feed(self, text: str) -> str:
        text = self._held + text
        cut = self._redactor.decided(text)
        self._held = text[cut:]
        return self._redactor.text(text[:cut])

    def close(self) -> str:
        held, self._held = self._held, ""
        return self._redactor.text(held)


def _overlap(text: str, secret: str) -> int:
    """The length of the longest proper prefix of `secret` that is a suffix of `text`."""
    for length in range(min(len(secret) - 1, len(text)), 0, -1):
        if text.endswith(secret[:length]):
            return length
    return 0


def of_this_process() -> Redactor:
    return Redactor.of_environment(os.environ)
