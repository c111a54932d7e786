"""A span as data, and the step that becomes one."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256

type Value = str | int | bool

#: agents' words may be in a sentence
LONGEST_TEXT = 300
#: bound on the moments of one step, because an agent may be nudged and parked all night
MOST_MOMENTS = 32


@dataclass(frozen=True, slots=True)
class Ids:
    """In hexadecimal digits, as OpenTelemetry writes them."""

    trace: str
    span: str


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened within a span; OpenTelemetry calls it an event."""

    at: float
    name: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class Span:
    name: str
    ids: Ids
    start: float
    end: float
    #: the id of the span that it is in; "": it is the root
    parent: str = ""
    attributes: Mapping[str, Value] = field(default_factory=dict)
    #: why it failed, as one sentence; "": it did not
    problem: str = ""
    moments: tuple[Moment, ...] = ()
    links: tuple[Ids, ...] = ()
    #: the number of links that were left out
    unlinked: int = 0


@dataclass(slots=True)
class Step:
    """What will be a span, from its first event on."""

    start: float
    end: float | None = None
    problem: str = ""
    attributes: dict[str, Value] = field(default_factory=dict)
    moments: list[Moment] = field(default_factory=list)

    def note(self, at: float, name: str, about: str = "") -> None:
        if len(self.moments) < MOST_MOMENTS:
            self.moments.append(Moment(at, name, cleaned(about)))

    def finish(self, at: float, problem: str = "") -> None:
        """End the step; only the first call counts."""
        if self.end is None:
            self.end = max(self.start, at)
            self.problem = self.problem or cleaned(problem)


def cleaned(text: str) -> str:
    """One printable line of bounded length."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text[: 4 * LONGEST_TEXT]).split())
    return line if len(line) <= LONGEST_TEXT else f"{line[: LONGEST_TEXT - 1]}…"


def ids(installation: str, *subject: object, step: str = "") -> Ids:
    """The ids of a subject, which stay the same across restarts of the daemon."""
    whole = "/".join(map(str, (installation, *subject)))
    return Ids(sha256(whole.encode()).hexdigest()[:32], sha256(f"{whole}/{step}".encode()).hexdigest()[:16])
