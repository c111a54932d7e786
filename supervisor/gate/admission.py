"""Admits a request only if the most that it can cost fits under every cap.

A cap holds for a pot: what several attempts spend together, such as those of a batch, or of an account today. What is
spent, what is reserved for requests under way and what this request can cost come to no more than the cap; so not one
request goes beyond it.
As a reservation is the most that a request could cost, it is several times what it does cost. Where only reservations
are in the way, the request waits until one of them is settled; where what is spent leaves no room, it is refused. So
as a pot gets empty, fewer requests of it go on at the same time, and at the end one by one.
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

#: a cap that was raised meanwhile is seen after so long
LOOK_SECONDS = 1.0


class Reservation:
    """For one request, until it is known what it took."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._took = NONE
        #: what it may have taken besides
        self._unknown = 0
        self._requests = 0

    def is_sent(self) -> None:
        """From now on it may cost all that is reserved."""
        self._took, self._unknown, self._requests = NONE, self._asked.most, 1

    def cost_nothing(self) -> None:
        """The provider refused it."""
        self._took, self._unknown, self._requests = NONE, 0, 0

    def took(self, meter: Meter) -> None:
        """An answer that broke off may have been longer than what came."""
        rest = max(0, self._asked.writes - meter.tokens.output) if meter.has_read else self._asked.most
        self._took, self._unknown, self._requests = meter.tokens, 0 if meter.is_complete else rest, 1

    @property
    def result(self) -> tuple[Tokens, int, int]:
        return self._took, self._unknown, self._requests


@dataclass(frozen=True, slots=True)
class Wait:
    """For room."""

    #: "room": for requests under way; "cap": for a cap's next day or week
    why: str
    until: float | None = None


class Admission:
    def __init__(self, keys: Keys, counts: Counts) -> None:
        self._keys, self._counts = keys, counts
        self._spent = Counter(counts.spent())
        self._reserved = Counter[str]()
        self._settled = Event()

    def look(self, owner: Pass, asked: Asked, deadline: float) -> tuple[Claim, ...] | Wait:
        """What it claims, if there is room for all of it. Raises Refused if there is none before the deadline, even
        when all requests under way are settled."""
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
        """Until it may be different."""
        with move_on_after(LOOK_SECONDS):
            await self._settled.wait()

    @contextmanager
    def reserved(self, owner: Pass, account: str, asked: Asked, claims: Iterable[Claim]) -> Iterator[Reservation]:
        """For one that need not wait. What it came to is written down when it is left, whatever happens inside."""
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
    """What has no end is a bill that is not paid; what begins anew is a limit, and says when."""
    taken = f"{claim.told(spent)} are spent, and it could take {claim.amount(claim.most)}"
    if not claim.until:
        return Refused(402, f"the budget of {claim.name} has no room for this request: {taken}; do not try again")
    left = max(1, ceil(claim.until - time.time()))
    headers = ((b"retry-after", str(left).encode()), (b"x-should-retry", b"false"))
    why = f"{claim.name}: {taken}" if claim.cap else claim.name
    return Refused(429, f"{NO_ROOM}: {why}; usage limit reached|{claim.until:.0f}", headers=headers)
