"""Secrets, taken out of everything that is written, even when one arrives in two pieces.

A rule is a literal beginning and what may follow it, so the end of a piece of text can be asked "could this
become a secret?"; that much is held back until the next piece decides. Values never span lines here: a secret
of several lines (a private key) is several rules.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

MASK = "[secret]"
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)
_SHORTEST_VALUE = 6  # a shorter value occurs by chance everywhere: masking it would only hide the output
_LONGEST_HELD = 64 * 1024
_WORD = "[A-Za-z0-9_-]"


@dataclass(frozen=True, slots=True)
class Rule:
    """A secret starts with `start`, then has at least `least` characters of `tail`; the start stays readable."""

    start: str
    tail: str
    least: int


PATTERNS = (
    Rule("sk-", _WORD, 20),
    Rule("ghp_", "[A-Za-z0-9]", 30),
    Rule("gho_", "[A-Za-z0-9]", 30),
    Rule("ghs_", "[A-Za-z0-9]", 30),
    Rule("github_pat_", "[A-Za-z0-9_]", 30),
    Rule("glpat-", _WORD, 16),
    Rule("xoxb-", "[A-Za-z0-9-]", 16),
    Rule("AKIA", "[A-Z0-9]", 16),
    Rule("eyJ", "[A-Za-z0-9_.-]", 40),
    Rule("Bearer ", "[A-Za-z0-9_.~+/=-]", 16),
)


class Redactor:
    """Masks the values it knows and whatever looks like a well-known kind of token."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values: tuple[str, ...] = ()
        self._patterns = tuple(
            (rule.start, re.compile(f"({re.escape(rule.start)}){rule.tail}{{{rule.least},}}")) for rule in PATTERNS
        )
        self._open = tuple(re.compile(f"{re.escape(rule.start)}{rule.tail}*\\Z") for rule in PATTERNS)
        self.learn(values)

    @classmethod
    def of_environment(cls, *environments: Mapping[str, str]) -> "Redactor":
        return cls(
            value
            for environment in environments
            for name, value in environment.items()
            if _SECRET_NAME.search(name) and not value.startswith("/")
        )

    def learn(self, values: Iterable[str]) -> None:
        lines = {line.strip() for value in values for line in value.splitlines()}
        known = {line for line in lines if len(line) >= _SHORTEST_VALUE} | set(self._values)
        self._values = tuple(sorted(known, key=len, reverse=True))

    def learn_environment(self, environment: Mapping[str, str]) -> None:
        self.learn(Redactor.of_environment(environment)._values)

    def text(self, text: str) -> str:
        for value in self._values:
            if value in text:
                text = text.replace(value, MASK)
        for start, pattern in self._patterns:
            if start in text:
                text = pattern.sub(rf"\1{MASK}", text)
        return text

    def stream(self) -> "RedactedStream":
        return RedactedStream(self)

    def decided(self, text: str) -> int:
        """How much of `text` can be written now: the rest could still become a secret, or is part of one."""
        held = max((_overlap(text, value) for value in self._values), default=0)
        for (start, _), still_open in zip(self._patterns, self._open, strict=True):
            found = still_open.search(text) if start in text else None
            held = max(held, len(text) - found.start() if found else _overlap(text, start))
        return self._before_secrets(text, len(text) - min(held, _LONGEST_HELD))

    def _before_secrets(self, text: str, cut: int) -> int:
        """The nearest place at or before `cut` that is not inside a secret."""
        while inside := [start for start, end in self._secrets(text) if start < cut < end]:
            cut = min(inside)
        return cut

    def _secrets(self, text: str) -> Iterator[tuple[int, int]]:
        for value in self._values:
            at = text.find(value)
            while at >= 0:
                yield at, at + len(value)
                at = text.find(value, at + 1)
        for start, pattern in self._patterns:
            if start in text:
                yield from (found.span() for found in pattern.finditer(text))


class RedactedStream:
    """One stream of text in pieces; what comes out never holds a secret."""

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
    """The length of the longest proper beginning of `secret` that ends `text`."""
    for length in range(min(len(secret) - 1, len(text)), 0, -1):
        if text.endswith(secret[:length]):
            return length
    return 0


def of_this_process() -> Redactor:
    return Redactor.of_environment(os.environ)
