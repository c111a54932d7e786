"""How often a provider may be asked to create something: a token bucket that learns from refusals.

`per_second` tokens come each second, and a creation takes one. Few are saved up, so that the creations of any second
stay below the provider's limit. The bucket is kept as the time at which it is full again.
"""

from dataclasses import dataclass, replace

#: Tokens of so many seconds can be saved up, and at least one.
SAVED_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Rate:
    #: creations per second, as configured; 0: no limit
    limit: float = 0.0
    #: creations per second since the provider refused some for their rate; 0: as configured
    learned: float = 0.0
    #: when `learned` last changed
    learned_at: float = 0.0
    #: when the bucket is full
    full_at: float = 0.0

    @property
    def per_second(self) -> float:
        """0: no limit."""
        return self.learned or self.limit

    @property
    def next_at(self) -> float:
        """When there is a token: now, if that is past."""
        return self.full_at - max(0.0, SAVED_SECONDS - 1 / self.per_second) if self.per_second else 0.0

    def taken(self, at: float) -> "Rate":
        return replace(self, full_at=max(self.full_at, at) + 1 / self.per_second) if self.per_second else self

    def changed(self, learned: float, at: float) -> "Rate":
        """After a refusal nothing is saved up."""
        slower = not self.per_second or 0 < learned < self.per_second
        rate = replace(self, learned=learned, learned_at=at)
        return rate.emptied(at) if slower else rate

    def configured(self, limit: float) -> "Rate":
        """What was learned is kept if it is below the limit."""
        return replace(self, limit=limit, learned=0.0 if limit and self.learned >= limit else self.learned)

    def emptied(self, at: float) -> "Rate":
        return replace(self, full_at=at + max(SAVED_SECONDS, 1 / self.per_second)) if self.per_second else self
