"""The state at a moment, and the words for its times, counts and quotations."""

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from supervisor.model.agenda import Item
from supervisor.model.state import State

#: longer texts of agents and of mngr are cut
MOST_CHARACTERS = 300
#: a time farther away than this is said with its date
DATED_SECONDS = 18 * 3600


@dataclass(frozen=True, slots=True)
class Scene:
    state: State
    now: float
    zone: tzinfo = UTC

    def clock(self, at: float) -> str:
        """`02:10 UTC`; in a zone that was asked for, `02:10`."""
        form = "%H:%M" if abs(at - self.now) < DATED_SECONDS else "%d %b %H:%M"
        return datetime.fromtimestamp(at, self.zone).strftime(form) + " UTC" * (self.zone is UTC)

    def since(self, at: float) -> str:
        """`since 02:10 UTC (35 min)`."""
        return f"since {self.clock(at)} ({duration(max(0.0, self.now - at))})"

    def ago(self, at: float) -> str:
        """`02:10 UTC, 35 min ago`."""
        return f"{self.clock(at)}, {duration(max(0.0, self.now - at))} ago"

    def until(self, at: float) -> str:
        """`20:00 UTC (in 35 min)`; a time that is past is due now."""
        return f"{self.clock(at)} (in {duration(at - self.now)})" if at > self.now else "once, it is due now"

    def due(self, *item: str | int) -> float | None:
        """When the agenda has this; None: it does not."""
        key: Item = item
        return self.state.agenda.times.get(key)


def duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min" if minutes else f"{rest} s"


def count(number: int, noun: str, nouns: str = "") -> str:
    """`1 job`, `3 jobs`."""
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"


def have(number: int) -> str:
    return "has" if number == 1 else "have"


def quoted(text: str) -> str:
    """What an agent or a program wrote, on one line, without control characters, and not too long."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    line = line.rstrip(" :")  # what was to follow a colon may be missing
    return line if len(line) <= MOST_CHARACTERS else line[: MOST_CHARACTERS - 1] + "…"


def sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def because(detail: str, *, before: str = ": ") -> str:
    """The rest of a sentence that quotes a reason, if there is one."""
    return sentence(f"{before}{quoted(detail)}") if detail.strip() else "."


def by(author: str) -> str:
    return f" by {quoted(author)}" if author else ""
