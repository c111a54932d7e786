"""Allowances: how much of accounts' caps and of batches' dollars the gate lets agents use.

The gate enforces them by itself, also while no daemon runs. So it receives those of the future as well: of the next
days and weeks, and of the hours in which only people use an account. The last of these periods has no end: if no
daemon runs for so long, nothing new is granted.

A part of each cap is left for wrapping up, until the cap pauses the account or stops the batch.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from supervisor.flow import window
from supervisor.flow.governor import spending
from supervisor.flow.stopping import WRAP_UP_PART
from supervisor.model.account import CAP, Account
from supervisor.model.batch import Batch
from supervisor.model.price import MICRO
from supervisor.model.state import State

#: the number of days and weeks that the gate receives, the present one included
TOLD_PERIODS = 3
#: the number of changes to or from the hours in which only people use an account
TOLD_CHANGES = 9
HOUR, DAY = 3600.0, 86400.0
FOREVER = 3650 * DAY


@dataclass(frozen=True, slots=True)
class Allowance:
    #: the owner: an account or a batch; the other is ""
    account: str
    batch: str
    #: usage is counted under this; accounts that share a cap have the same one
    pot: str
    #: in words
    name: str
    #: micro-dollars, or else tokens
    is_money: bool
    since: float
    #: 0: never
    until: float
    most: int
    #: as far as the daemon has counted
    spent: int
    #: in this time, only people use the account
    is_closed: bool = False


def allowances(state: State, now: float) -> list[Allowance]:
    found = [each for account in state.accounts.values() for each in _of_account(state, account, now)]
    return found + [each for batch in state.batches.values() for each in _of_batch(batch)]


def _of_account(state: State, account: Account, now: float) -> Iterator[Allowance]:
    yield from _caps(state, account, now)
    spec = account.spec
    for begin, until in _hours(spec.no_use, spec.timezone, now // HOUR) if spec.no_use else ():
        name = f"account {spec.name}: people use it at {spec.no_use}"
        since = begin + state.budget.grace_seconds
        if since < until:
            yield Allowance(spec.name, "", name, name, False, since, until, 0, 0, is_closed=True)


def _caps(state: State, account: Account, now: float) -> Iterator[Allowance]:
    """The allowances of each cap, for this period and the next ones."""
    for name in [cap.name for cap in spending.caps(state, account, now)]:
        at, since = now, 0.0
        for number in range(1, TOLD_PERIODS + 1):
            cap = next(each for each in spending.caps(state, account, at) if each.name == name)
            is_wrapping_up = number == 1 and CAP in account.pauses
            most = cap.most if is_wrapping_up else _but_for_wrapping_up(cap.most)
            until = cap.until + FOREVER if number == TOLD_PERIODS else cap.until
            pot = f"{name} until {cap.until:.0f}"
            yield Allowance(account.name, "", pot, name, cap.is_money, since, until, most, cap.spent)
            at = since = cap.until


def _of_batch(batch: Batch) -> Iterator[Allowance]:
    if batch.profile.budget_dollars and batch.finished_at is None:
        cap = round(batch.profile.budget_dollars * MICRO)
        most = cap if batch.is_spent else _but_for_wrapping_up(cap)
        name = f"batch {batch.id}"
        yield Allowance("", batch.id, f"{name}: dollars", name, True, 0.0, 0.0, most, batch.money)


def _but_for_wrapping_up(cap: int) -> int:
    return cap - cap // WRAP_UP_PART


@lru_cache(maxsize=64)
def _hours(no_use: str, timezone: str, hour: float) -> tuple[tuple[float, float], ...]:
    """The begin and the end of the hours for people, from a day before `hour`."""
    at, found = hour * HOUR - DAY, list[tuple[float, float]]()
    for _ in range(TOLD_CHANGES):
        is_theirs, until = window.look(no_use, timezone, at)
        found += [(at, until)] if is_theirs else []
        at = until
    return tuple(found)
