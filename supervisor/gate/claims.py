"""What a request could take of each cap that applies to it: in tokens, or in money. Pure.

A key names purses: its batch, its account. Spending is counted in pots. A purse is a pot of its own, whose cap has no
end. An allowance is a further cap of a purse for some time, such as the dollars of this account for today; it has a
pot of its own, which allowances of other purses may share. So a new day begins with an empty pot, even while the
daemon is down, because the daemon records the next days' allowances in advance.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

from supervisor.gate.tokens import Tokens

MICRO = 1_000_000


class Price(NamedTuple):
    """Dollars for a million tokens of each kind, for models whose name contains `match`."""

    match: str
    input: float
    cache_write: float
    cache_read: float
    output: float

    def of(self, tokens: Tokens) -> int:
        """In micro-dollars."""
        return ceil(
            tokens.input * self.input
            + tokens.cache_write * self.cache_write
            + tokens.cache_read * self.cache_read
            + tokens.output * self.output
        )

    def most(self, reads: int, writes: int) -> int:
        return ceil(reads * max(self.input, self.cache_write, self.cache_read)) + ceil(writes * self.output)


def price_of(prices: Iterable[Price], model: str) -> Price:
    """The first price that matches; the cost of a model without a price is unknown and counts as zero."""
    name = model.lower()
    return next((price for price in prices if price.match in name), Price("", 0, 0, 0, 0))


class Allowance(NamedTuple):
    purse: str
    pot: str
    #: in words, such as "account team: tokens a day"
    name: str
    #: micro-dollars, or else tokens
    is_money: bool
    since: float
    #: when the next allowance replaces it; 0: never
    until: float
    #: how much of the pot may be spent
    most: int


@dataclass(frozen=True, slots=True)
class Claim:
    """The claim of one request on one pot."""

    pot: str
    #: the most that the request could take
    most: int
    #: None: there is no cap
    cap: int | None
    #: in words
    name: str
    #: None: tokens are counted
    price: Price | None = None
    #: when another cap replaces it; 0: never
    until: float = 0.0

    def came_to(self, took: Tokens, unknown: int, writes: int) -> int:
        """The actual cost, including `unknown` tokens that it may have taken, at most `writes` of them output."""
        if self.price is None:
            return took.total + unknown
        written = min(unknown, writes)
        return self.price.of(took) + self.price.most(unknown - written, written)

    def amount(self, number: int) -> str:
        return amount(number, is_money=self.price is not None)

    def told(self, spent: int) -> str:
        """`spent` as a share of the cap, in words."""
        return share(spent, self.cap or 0, is_money=self.price is not None)


def amount(number: int, *, is_money: bool) -> str:
    return f"${number / MICRO:,.2f}" if is_money else f"{number:,} tokens"


def share(part: int, whole: int, *, is_money: bool) -> str:
    """`PART of WHOLE`; the word "tokens" appears once."""
    return f"{amount(part, is_money=is_money).removesuffix(' tokens')} of {amount(whole, is_money=is_money)}"
