"""Defines what is a secret, for both the test framework and the daemon.

A secret is the value of a variable with a telling name, or matches a well-known kind of token: a literal prefix and a
tail, the password in a URL, or a private key.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

MASK = "[secret]"
#: A shorter value occurs everywhere by chance: masking it would only make the text unreadable.
SHORTEST_VALUE = 6
#: Names of variables that hold secrets, but not AUTHOR.
SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|COOKIE|AUTH(?!ORS?(?![A-Z]))", re.IGNORECASE)


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
        """At the end of a text: a token that is incomplete, but already reveals something."""
        return re.compile(f"{re.escape(self.start)}{self.tail}{{4,{self.least - 1}}}\\Z")

    @property
    def open(self) -> re.Pattern[str]:
        """At the end of a text: a token of any length, which may continue."""
        return re.compile(f"{re.escape(self.start)}{self.tail}*\\Z")


_WORD, _ALNUM = "[A-Za-z0-9_-]", "[A-Za-z0-9]"
KINDS = (
    Kind("sk-", _WORD, 20),
    *(Kind(f"{letter}k_{mode}_", _ALNUM, 16) for letter in "sr" for mode in ("live", "test")),
    *(Kind(f"gh{letter}_", _ALNUM, 30) for letter in "pousr"),
    Kind("github_pat_", "[A-Za-z0-9_]", 30),
    Kind("glpat-", _WORD, 16),
    Kind("npm_", _ALNUM, 30),
    Kind("pypi-", _WORD, 50),
    Kind("hf_", _ALNUM, 30),
    Kind("xox", "[A-Za-z0-9-]", 18),
    Kind("AKIA", "[A-Z0-9]", 16),
    Kind("ASIA", "[A-Z0-9]", 16),
    Kind("AIza", _WORD, 30),
    Kind("ya29.", _WORD, 20),
    Kind("eyJ", "[A-Za-z0-9_.-]", 40),
    Kind("Bearer ", "[A-Za-z0-9_.~+/=-]", 16),
    Kind("Basic ", "[A-Za-z0-9+/=]", 20),
)

#: in `scheme://user:password@host`, the user and the password
PASSWORD = re.compile(r"(?<=://)[^/\s:@]{0,64}:[^/\s@]{3,}(?=@)")
#: at the end of a text, before the @ has arrived; a port is not a password
PASSWORD_BEGUN = re.compile(r"(?<=://)[^/\s:@]{0,64}:(?!\d{1,5}\Z)[^/\s@]{4,}\Z")
PASSWORD_OPEN = re.compile(r"://[^/\s:@]{0,64}(?::[^/\s@]*)?\Z")
#: A private key. One without an end line ends with the text, or at the length limit.
BLOCK_BEGINS, BLOCK_NAMED = "-----BEGIN ", "PRIVATE KEY-----"
BLOCK = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:[\s\S]{0,16000}?(?:-----END [A-Z ]{0,40}KEY-----|\Z)|[\s\S]{16000})"
)
BLOCK_OPEN = re.compile(
    r"-----BEGIN [A-Z ]{0,60}-{0,5}\Z"
    r"|-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:(?!-----END [A-Z ]{0,40}KEY-----)[\s\S]){0,16000}\Z"
)
BLOCK_ENDS = re.compile(r"-----END [A-Z ]*KEY-----")


def secret_values(*environments: Mapping[str, str]) -> Iterator[str]:
    """The values of variables with a telling name; a path is not a secret."""
    for environment in environments:
        for name, value in environment.items():
            if SECRET_NAME.search(name) and not value.startswith(("/", "credential:")):
                yield value


def lines_of(values: Iterable[str]) -> set[str]:
    """Each line of a value is a secret in itself, if it is long enough."""
    lines = {line.strip() for value in values for line in value.splitlines()}
    return {line for line in lines if len(line) >= SHORTEST_VALUE}
