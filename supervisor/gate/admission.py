"""Admits a request only if its maximum cost fits under every cap.

A cap limits a pot: what several attempts spend together, such as those of a batch, or of an account today. The amount
spent, the amount reserved for requests under way and the maximum cost of this request may not exceed the cap in sum;
so no request goes beyond it.
A reservation is the maximum cost of a request, which is several times its actual cost. If only reservations leave no
room, the request waits until one of them is settled; if the amount spent leaves no room, it is refused. So as a pot
runs out, fewer of its requests run at the same time, and in the end one at a time.
A request that finds no room in today's pot waits for tomorrow's, if that is soon.
"""

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil

from anyio import Event, move_on_after

from supervisor.gate.api import Asked, Meter
from supervisor.gate.claims import Claim
from supervisor.gate.counts import Counts, TurnedAway
from supervisor.gate.keys import Keys, Pass
from supervisor.gate.refusals import NO_ROOM, Refused
from supervisor.gate.tokens import NONE, Tokens

#: a waiting request notices a raised cap within this time
LOOK_SECONDS = 1.0


class Reservation:
    """The reservation of one request, until its usage is known."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._took = NONE
        #: tokens that it may have taken in addition
        self._unknown = 0
        self._requests = 0

    def is_sent(self) -> None:
        """The request is sent: from now on it may cost all that is reserved."""
        self._took, self._unknown, self._requests = NONE, self._asked.most, 1

    def cost_nothing(self) -> None:
        """The provider refused it."""
        self._took, self._unknown, self._requests = NONE, 0, 0

    def took(self, meter: Meter) -> None:
        """Record the usage. A response that broke off may have been longer than the part that arrived."""
        rest = max(0, self._asked.writes - meter.tokens.output) if meter.has_read else self._asked.most
        self._took, self._unknown, self._requests = meter.tokens, 0 if meter.is_complete else rest, 1

    @property
    def result(self) -> tuple[Tokens, int, int]:
        return self._took, self._unknown, self._requests


@dataclass(frozen=True, slots=True)
class Wait:
    """A request has to wait for room."""

    #: "room": until requests under way are settled; "cap": for a cap's next day or week
    why: str
    until: float | None = None


class Admission:
    def __init__(self, keys: Keys, counts: Counts) -> None:
        self._keys, self._counts = keys, counts
        self._spent = Counter(counts.spent())
        self._reserved = Counter[str]()
        self._settled = Event()

    def look(self, owner: Pass, asked: Asked, deadline: float) -> tuple[Claim, ...] | Wait:
        """The request's claims, if there is room for all of them. Raises Refused if there will be no room before the
        deadline, even when all requests under way are settled."""
        waits: Wait | None = None
        claims = tuple(self._claims(owner, asked, time.time()))
        for claim in claims:
            if claim.cap is None:
                continue
            spent = self._spent[claim.pot]
            if spent + claim.most > claim.cap:
                self._counts.turn_away(TurnedAway(claim.pot, time.time(), spent, claim.cap, claim.most))
                if not 0 < claim.until <= deadline:
                    raise _no_room(claim, spent)
                waits = Wait("cap", claim.until)
            elif spent + self._reserved[claim.pot] + claim.most > claim.cap:
                waits = waits or Wait("room")
        return waits or claims

    def _claims(self, owner: Pass, asked: Asked, now: float) -> Iterator[Claim]:
        for purse in owner.purses:
            yield Claim(purse, asked.most, self._keys.cap(purse), purse)
            for allowance in self._keys.allowances(purse, now):
                price = self._keys.price(asked.model) if allowance.is_money else None
                most = price.most(asked.reads, asked.writes) if price is not None else asked.most
                yield Claim(allowance.pot, most, allowance.most, allowance.name, price, allowance.until)

    async def settled(self) -> None:
        """Wait until another look may find more room."""
        with move_on_after(LOOK_SECONDS):
            await self._settled.wait()

    @contextmanager
    def reserved(self, owner: Pass, account: str, asked: Asked, claims: Iterable[Claim]) -> Iterator[Reservation]:
        """Reserve for an admitted request. Leaving the block records the actual cost, whatever happened inside."""
        most = {claim.pot: claim.most for claim in claims}
        id_ = self._counts.reserve(owner, account, asked.model, asked.most, most)
        self._reserved.update(most)
        reservation = Reservation(asked)
        try:
            yield reservation
        finally:
            took, unknown, requests = reservation.result
            came_to = {claim.pot: claim.came_to(took, unknown, asked.writes) for claim in claims}
            self._counts.settle(id_, came_to, took, unknown, requests)
            self._reserved.subtract(most)
            self._spent.update(came_to)
            self._settled.set()
            self._settled = Event()


def _no_room(claim: Claim, spent: int) -> Refused:
    """The refusal: 402 (unpaid) for a cap without an end; 429 for one that starts anew, and when it does."""
    taken = f"{claim.told(spent)} are spent, and it could take {claim.amount(claim.most)}"
    if not claim.until:
        return Refused(402, f"the budget of {claim.name} has no room for this request: {taken}; do not try again")
    left = max(1, ceil(claim.until - time.time()))
    headers = ((b"retry-after", str(left).encode()), (b"x-should-retry", b"false"))
    why = f"{claim.name}: {taken}" if claim.cap else claim.name
    return Refused(429, f"{NO_ROOM}: {why}; usage limit reached|{claim.until:.0f}", headers=headers)
