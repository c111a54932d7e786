"""What tokens cost: a table, in dollars for a million tokens, that a configuration can extend.

Money is counted in micro-dollars: these are tokens times the price.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from supervisor.model.usage import Usage

MICRO = 1_000_000


def dollars(money: float) -> str:
    """Micro-dollars as text for people."""
    return f"${money / MICRO:,.2f}"


@dataclass(frozen=True, slots=True)
class Price:
    #: a part of the model's name; "": every model
    match: str
    #: dollars for a million tokens of each kind
    input: float
    written: float
    read: float
    output: float

    def of(self, usage: Usage) -> int:
        """In micro-dollars."""
        fresh = usage.input - usage.written
        told = (
            (fresh, self.input),
            (usage.written, self.written),
            (usage.cached, self.read),
            (usage.output, self.output),
        )
        return round(sum(tokens * dollars for tokens, dollars in told))


#: List prices; the first match counts. An unknown model costs as much as the dearest one here, because it must not
#: exceed a cap.
PRICES = (
    Price("haiku", 1.0, 1.25, 0.10, 5.0),
    Price("sonnet", 3.0, 3.75, 0.30, 15.0),
    Price("opus-4-1", 15.0, 18.75, 1.50, 75.0),
    Price("opus", 5.0, 6.25, 0.50, 25.0),
    Price("gpt-5-mini", 0.25, 0.25, 0.025, 2.0),
    Price("gpt-5-nano", 0.05, 0.05, 0.005, 0.4),
    Price("gpt-5", 1.25, 1.25, 0.125, 10.0),
    Price("", 15.0, 18.75, 1.50, 75.0),
)


#: What the kinds of tokens cost relative to each other, for a model without a price.
WEIGHTS = Price("", 1.0, 1.25, 0.1, 5.0)


def of_model(prices: Iterable[Price], model: str) -> Price:
    """The first that matches, or else the usual weights."""
    name = model.lower()
    return next((price for price in prices if price.match in name), WEIGHTS)


def cost(prices: Iterable[Price], usage: Usage, model: str) -> int:
    """In micro-dollars."""
    name = model.lower()
    return next((price.of(usage) for price in prices if price.match in name), 0)
