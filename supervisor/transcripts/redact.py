"""Masks secrets in agents' text before it is written anywhere.

Secrets that the daemon knows are masked by value; well-known kinds of tokens by their pattern. A secret may span two
entries. So the end of each entry is remembered and searched together with the next entry of its source; and whatever
may be the beginning of a secret at the end of an entry is masked at once, because a written entry can't be changed.
"""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from supervisor.e2e.secrets import (
    BLOCK,
    BLOCK_ENDS,
    BLOCK_NAMED,
    KINDS,
    MASK,
    PASSWORD,
    PASSWORD_BEGUN,
    lines_of,
    secret_values,
)

#: The shortest prefix of a known secret that is masked at the end of an entry.
SHORTEST_START = 4
LONGEST_CREDENTIAL = 64 * 1024
#: The limit of entries that one private key may span.
LONGEST_BLOCK = 200
#: How much of the end of an entry is remembered, unless a known secret is longer.
REMEMBERED = 256

type Span = tuple[int, int]


@dataclass(slots=True)
class Open:
    """The state of one source: the end of its last entry, and in how many more entries a private key may continue."""

    tail: str = ""
    block: int = 0


class Redactor:
    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values: tuple[str, ...] = ()
        self._kinds = tuple((kind.start, kind.whole, kind.begun) for kind in KINDS)
        #: how much of the end of an entry is searched with the next
        self.longest = REMEMBERED
        self.learn(values)

    def learn(self, values: Iterable[str]) -> None:
        """Each line of a value is a secret in itself."""
        known = lines_of(values) | set(self._values)
        if len(known) != len(self._values):
            self._values = tuple(sorted(known, key=len, reverse=True))
            self.longest = max(REMEMBERED, len(self._values[0]))

    def learn_environment(self, *environments: Mapping[str, str]) -> None:
        self.learn(secret_values(*environments))

    def masked(self, text: str, left: Open) -> str:
        """The text without secrets. `left` is the state of its source and is updated."""
        if left.block:
            found = BLOCK_ENDS.search(text)
            left.block, left.tail = 0 if found else left.block - 1, ""
            return MASK + self.masked(text[found.end() :], Open()) if found else MASK
        before = len(left.tail)
        both = left.tail + text
        left.tail = both[-self.longest :]
        spans = sorted(self._secrets(both))
        if BLOCK_NAMED in both and BLOCK.search(both) and not BLOCK_ENDS.search(both):
            left.block = LONGEST_BLOCK
        return _without(both, before, spans) if spans else text

    def _secrets(self, text: str) -> Iterator[Span]:
        for value in self._values:
            at = text.find(value)
            while at >= 0:
                yield at, at + len(value)
                at = text.find(value, at + 1)
            if (begun := _begun(text, value)) is not None:
                yield begun, len(text)
        for start, whole, begins in self._kinds:
            if start in text:
                yield from (found.span() for found in whole.finditer(text))
                if found := begins.search(text):
                    yield found.span()
        if "://" in text:
            yield from (found.span() for found in PASSWORD.finditer(text))
            if found := PASSWORD_BEGUN.search(text):
                yield found.span()
        if BLOCK_NAMED in text:
            yield from (found.span() for found in BLOCK.finditer(text))


def _begun(text: str, value: str) -> int | None:
    """The position of the beginning of `value` at the end of the text."""
    at = text.find(value[:SHORTEST_START], max(0, len(text) - len(value) + 1))
    while at >= 0:
        if value.startswith(text[at:]):
            return at
        at = text.find(value[:SHORTEST_START], at + 1)
    return None


def _without(text: str, begin: int, spans: list[Span]) -> str:
    """The text from `begin`, with each run of secrets masked."""
    parts: list[str] = []
    for start, end in spans:
        if end <= begin:
            continue
        if start >= begin or not parts:
            parts += [text[begin:start] if start > begin else "", MASK]
        begin = end
    return "".join([*parts, text[begin:]])


def credential_values(directory: Path | None) -> Iterator[str]:
    """The contents of the service's credential files."""
    for path in sorted(directory.iterdir()) if directory is not None and directory.is_dir() else ():
        try:
            if stat.S_ISREG(path.stat().st_mode):
                yield path.read_bytes()[:LONGEST_CREDENTIAL].decode(errors="replace")
        except OSError:
            continue


def of_this_process(credentials: Path | None) -> Redactor:
    return Redactor([*secret_values(os.environ), *credential_values(credentials)])
