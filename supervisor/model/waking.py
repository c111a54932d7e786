"""What it costs to wake a sleeping agent up, and what it would cost instead."""

from dataclasses import dataclass

from supervisor.model.price import dollars


@dataclass(frozen=True, slots=True)
class Waking:
    """In micro-dollars by the price table, which weighs the tokens of a subscription as well."""

    #: the tokens that its next request sends again, and whether its provider's cache has lost them
    context: int
    cold: bool
    cost: int
    #: what starting its job again would cost
    instead: int
    #: dollars for a million new tokens, if amounts are shown in tokens; 0: the account pays with money
    per_token: float = 0.0

    @property
    def is_worth_it(self) -> bool:
        return self.cost <= self.instead

    @property
    def told(self) -> str:
        """A part of a sentence."""
        cached = "which no cache has any more" if self.cold else "which its cache still has"
        costs = f"{self._amount(self.cost)}; starting its job again costs about {self._amount(self.instead)}"
        return f"waking it up sends {self.context:,} tokens again, {cached}, at a cost of {costs}"

    def _amount(self, cost: int) -> str:
        return f"{cost / self.per_token:,.0f} new tokens" if self.per_token else dollars(cost)
