"""Secrets, taken out of all that agents say before it is written anywhere.

The values that the daemon itself knows are masked exactly; well-known kinds of tokens by their looks. What an agent
says comes in entries, and a secret may be cut by their boundary: so the beginning of one at the end of an entry is
masked at once, and remembered, and its rest is masked when the next entry of that source goes on with it.
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

MASK = "[secret]"
#: A shorter value occurs by chance everywhere.
SHORTEST_VALUE = 8
#: So much of the beginning of a known secret is masked at the end of an entry.
SHORTEST_START = 4
LONGEST_CREDENTIAL = 64 * 1024
#: names of variables that hold secrets
SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|COOKIE|AUTH", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Kind:
    """A token starts with `start`, then has at least `least` characters of `tail`."""

    start: str
    tail: str
    least: int

    @property
    def whole(self) -> re.Pattern[str]:
        return re.compile(f"{re.escape(self.start)}{self.tail}{{{self.least},}}")

    @property
    def begun(self) -> re.Pattern[str]:
        return re.compile(f"{re.escape(self.start)}{self.tail}{{4,{self.least - 1}}}\\Z")

    @property
    def rest(self) -> re.Pattern[str]:
        return re.compile(f"{self.tail}+")


_WORD, _ALNUM = "[A-Za-z0-9_-]", "[A-Za-z0-9]"
KINDS = (
    Kind("sk-", _WORD, 20),
    *(Kind(f"gh{letter}_", _ALNUM, 30) for letter in "pousr"),
    Kind("github_pat_", "[A-Za-z0-9_]", 30),
    Kind("glpat-", _WORD, 16),
    *(Kind(f"xox{letter}-", "[A-Za-z0-9-]", 16) for letter in "abprs"),
    Kind("AKIA", "[A-Z0-9]", 16),
    Kind("AIza", _WORD, 30),
    Kind("eyJ", "[A-Za-z0-9_.-]", 40),
    Kind("Bearer ", "[A-Za-z0-9_.~+/=-]", 16),
)
#: between a marker that tells that there is one, and the text that it masks
_SPANS = (
    (
        "PRIVATE KEY-----",
        re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*KEY-----|\Z)", re.DOTALL),
    ),
    ("@", re.compile(r"(?<=://)[^/\s:@]{0,64}:[^/\s@]{3,}(?=@)")),
)


@dataclass(slots=True)
class Open:
    """What the last entry of a source left open: the beginning of a known secret, or of a kind."""

    start: str = ""
    rest: re.Pattern[str] | None = None


class Redactor:
    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values: tuple[str, ...] = ()
        self._kinds = tuple((kind.start, kind.whole, kind.begun, kind.rest) for kind in KINDS)
        #: of the longest value
        self.longest = 0
        self.learn(values)

    def learn(self, values: Iterable[str]) -> None:
        """Each line of a value is a secret of its own."""
        lines = {line.strip() for value in values for line in value.splitlines()}
        known = {line for line in lines if len(line) >= SHORTEST_VALUE} | set(self._values)
        if len(known) != len(self._values):
            self._values = tuple(sorted(known, key=len, reverse=True))
            self.longest = len(self._values[0])

    def learn_environment(self, *environments: Mapping[str, str]) -> None:
        self.learn(secret_values(*environments))

    def masked(self, text: str, left: Open) -> str:
        """The text without secrets; `left` is what this source left open before, and then leaves open."""
        if left.start or left.rest:
            text = self._continued(text, left)
            if left.start:  # the secret still goes on
                return text
        for value in self._values:
            if value in text:
                text = text.replace(value, MASK)
        for start, whole, begun, rest in self._kinds:
            if start in text:
                text = whole.sub(MASK, text)
                if found := begun.search(text):
                    text, left.rest = text[: found.start()] + MASK, rest
        for marker, span in _SPANS:
            if marker in text:
                text = span.sub(MASK, text)
        return self._begun(text, left)

    def _continued(self, text: str, left: Open) -> str:
        start, rest, left.start, left.rest = left.start, left.rest, "", None
        if rest is not None and (found := rest.match(text)):
            return MASK + text[found.end() :]
        if not start:
            return text
        both = start + text
        for value in self._values:
            if both.startswith(value):
                return MASK + text[len(value) - len(start) :]
            if value.startswith(both):
                left.start = both
                return MASK if text else text
        return text

    def _begun(self, text: str, left: Open) -> str:
        tail = text[-self.longest :] if self.longest else ""
        for value in self._values:
            at = tail.find(value[:SHORTEST_START])
            while at >= 0:
                if value.startswith(tail[at:]):
                    left.start = tail[at:]
                    return text[: len(text) - len(left.start)] + MASK
                at = tail.find(value[:SHORTEST_START], at + 1)
        return text


def secret_values(*environments: Mapping[str, str]) -> Iterator[str]:
    """Of the variables whose name says so; a path is none."""
    for environment in environments:
        for name, value in environment.items():
            if SECRET_NAME.search(name) and not value.startswith(("/", "credential:")):
                yield value


def credential_values(directory: Path | None) -> Iterator[str]:
    """The content of each of the service's credential files."""
    for path in sorted(directory.iterdir()) if directory is not None and directory.is_dir() else ():
        try:
            if stat.S_ISREG(path.stat().st_mode):
                yield path.read_bytes()[:LONGEST_CREDENTIAL].decode(errors="replace")
        except OSError:
            continue


def of_this_process(credentials: Path | None) -> Redactor:
    return Redactor([*secret_values(os.environ), *credential_values(credentials)])
