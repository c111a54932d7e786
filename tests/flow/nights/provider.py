"""A provider of models: it serves so many requests a minute, and at some times fewer, or none."""

from dataclasses import dataclass, field
from random import Random

MINUTE, HOUR = 60.0, 3600.0


@dataclass(frozen=True)
class Span:
    """A time in which it refuses, and why."""

    problem: str
    since: float
    until: float


@dataclass
class Provider:
    """`per_minute` requests are served, saved up for ten seconds; during a storm a third of them."""

    per_minute: float
    spans: list[Span]
    storms: list[Span]
    served: int = 0
    refused: int = 0
    _saved: float = 0.0
    _at: float = 0.0

    def refuses(self, now: float) -> Span | None:
        """What it says to a request; None: it serves it."""
        span = next((each for each in self.spans if each.since <= now < each.until), None)
        if span is None and not self._has_room(now):
            span = Span("rate", now, now + 30)
        if span is None:
            self.served += 1
        else:
            self.refused += 1
        return span

    def _has_room(self, now: float) -> bool:
        is_storm = any(each.since <= now < each.until for each in self.storms)
        rate = self.per_minute / (3 if is_storm else 1) / MINUTE
        self._saved = min(10 * rate, self._saved + rate * (now - self._at))
        self._at = now
        if self._saved < 1:
            return False
        self._saved -= 1
        return True

    @property
    def closed_seconds(self) -> float:
        return sum(span.until - span.since for span in self.spans if span.problem == "window")


@dataclass(frozen=True)
class Weather:
    """What happens in a night: two windows that are used up, storms of 429, an overload, and a lost login."""

    start: float
    seed: int
    per_minute: float = 60.0
    spans: list[Span] = field(default_factory=list)

    def provider(self) -> Provider:
        random = Random(self.seed)

        def span(problem: str, hour: float, hours: float) -> Span:
            since = self.start + (hour + random.uniform(0, 0.3)) * HOUR
            return Span(problem, since, since + hours * HOUR * random.uniform(0.8, 1.2))

        spans = [
            span("window", 0.9, 1.5),
            span("overload", 3.2, 0.2),
            span("window", 4.0, 1.0),
            span("login", 6.2, 0.4),
        ]
        storms = [span("rate", hour, 0.25) for hour in (0.4, 2.9, 5.8)]
        return Provider(self.per_minute, spans, storms)
