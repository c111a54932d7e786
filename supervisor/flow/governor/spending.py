"""What accounts have spent, what their agents have reserved, and whether there is enough for one more.

Theory of operation. Each agent at work reserves what a job is expected to use, less what it has used: the mean of
the account's jobs, and a guess that counts as one of them. A further agent is launched if what is spent, reserved
and expected stays below every cap; the first one of a period always is, or a small cap would never allow any agent.
When what is spent reaches a cap, the account is paused until the cap's period ends: its agents are told to publish,
and put away after a while. Only what they use meanwhile is spent beyond a cap.

Tokens limit subscriptions and dollars limit accounts that are paid for; the two are never added.
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from supervisor.flow.governor import shares
from supervisor.model import event as ev
from supervisor.model.account import CAP, PACE, Account, Caps, Spent
from supervisor.model.attempt import Attempt
from supervisor.model.price import MICRO, cost, dollars
from supervisor.model.state import State
from supervisor.model.usage import Usage

DAY = 86400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """A cap, and what was spent of it: tokens, or micro-dollars."""

    name: str
    is_money: bool
    #: without what is left for people
    most: int
    spent: int
    #: when its period began, and when it ends
    since: float
    until: float

    @property
    def is_reached(self) -> bool:
        return self.spent >= self.most

    def amount(self, number: int) -> str:
        return dollars(number) if self.is_money else f"{number:,} tokens"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit(Cap):
    """A cap, and what else counts against it."""

    reserved: int
    #: what one more agent is expected to use
    expected: int
    paced: bool

    @property
    def has_room(self) -> bool:
        return self.spent + self.reserved + self.expected <= self.most or not (self.spent or self.reserved)

    def paced_until(self, now: float) -> float:
        """When the pace allows a further agent; 0: now."""
        if not self.paced or not self.spent + self.reserved:
            return 0.0
        share = min(1.0, (self.spent + self.reserved) / self.most)
        at = self.since + share * (self.until - self.since)
        return at if at > now else 0.0


# --- the arithmetic


def ends(at: float, timezone: str) -> tuple[float, float]:
    """The end of the day and of the week, in local time."""
    zone = ZoneInfo(timezone)
    today = datetime.fromtimestamp(at, zone).date()
    dates = today + timedelta(days=1), today + timedelta(days=7 - today.weekday())
    day, week = (datetime.combine(date, time(), zone).astimezone(UTC).timestamp() for date in dates)
    return day, week


def current(spent: Spent, now: float) -> Spent:
    """What was spent in the current period: nothing yet, if the recorded period is over."""
    return Spent() if spent.until and spent.until <= now else spent


def expected(state: State, account: Account, *, is_money: bool) -> int:
    """What one job is expected to use: the mean of the known jobs, with the guess as one of them."""
    guess, prices = state.budget.guess_tokens, state.budget.prices
    if not is_money:
        return (guess + account.job_usage.tokens) // (1 + account.jobs)
    typical = Usage(
        input=guess // 8, output=guess // 40, cached=guess - guess // 8 - guess // 40, written=guess // 10
    )
    model = account.job_usage.model or account.ever.usage.model
    return (cost(prices, typical, model) + account.job_money) // (1 + account.jobs)


def _reserved(state: State, account: Account, *, is_money: bool) -> int:
    each, prices = expected(state, account, is_money=is_money), state.budget.prices
    at_work = (attempt for attempt in state.attempts.values() if attempt.account == account.name)
    used = (
        cost(prices, attempt.usage, attempt.usage.model) if is_money else attempt.usage.tokens
        for attempt in at_work
        if attempt.holds_slot
    )
    return sum(max(0, each - tokens) for tokens in used)


def limits(state: State, account: Account, now: float) -> Iterator[Limit]:
    for cap, accounts in _caps(state, account, now):
        yield Limit(
            **asdict(cap),
            reserved=sum(_reserved(state, each, is_money=cap.is_money) for each in accounts),
            expected=expected(state, account, is_money=cap.is_money),
            paced=account.spec.pace,
        )


def caps(state: State, account: Account, now: float) -> Iterator[Cap]:
    """The account's own caps, and those that it shares."""
    return (cap for cap, _ in _caps(state, account, now))


def _caps(state: State, account: Account, now: float) -> Iterator[tuple[Cap, list[Account]]]:
    """The account's caps, and those that it shares with all others of its currency; each with its accounts."""
    spec = account.spec
    yield from _of_each_period([account], spec.caps, f"account {account.name}", now)
    common = state.budget.caps
    shared = (
        replace(common, day_tokens=0, week_tokens=0)
        if spec.is_paid
        else replace(common, day_dollars=0, week_dollars=0)
    )
    if shared != Caps():
        kin = [
            each
            for each in state.accounts.values()
            if each.spec.is_paid is spec.is_paid and each.name != account.name
        ]
        yield from _of_each_period([account, *kin], shared, "budget", now)


def _of_each_period(
    accounts: list[Account], caps: Caps, owner: str, now: float
) -> Iterator[tuple[Cap, list[Account]]]:
    spec = accounts[0].spec
    day, week = ends(now, spec.timezone)
    named = (
        ("day", False, caps.day_tokens, day, DAY),
        ("week", False, caps.week_tokens, week, 7 * DAY),
        ("day", True, round(caps.day_dollars * MICRO), day, DAY),
        ("week", True, round(caps.week_dollars * MICRO), week, 7 * DAY),
    )
    for period, is_money, cap, until, seconds in named:
        if cap:
            spent = (current(getattr(each, period), now) for each in accounts)
            found = Cap(
                name=f"{owner}: {'dollars' if is_money else 'tokens'} a {period}",
                is_money=is_money,
                most=max(1, round(cap * (1 - spec.leave))),
                spent=sum(each.money if is_money else each.usage.tokens for each in spent),
                since=until - seconds,
                until=until,
            )
            yield found, accounts


# --- whether there is enough


def short(state: State, account: Account, now: float) -> str:
    """Why no further agent can be paid for now, in one sentence; "": one can."""
    if (pause := lacking(state, account, now)) is None:
        return ""
    return pause.detail


def lacking(state: State, account: Account, now: float) -> ev.AccountPaused | None:
    """The pause that an account needs if nothing else happens; None: it can pay for a further agent."""
    for limit in limits(state, account, now):
        if not limit.has_room:
            detail = (
                f"{limit.name}: {limit.amount(limit.spent)} of {limit.amount(limit.most)} are spent, and "
                f"{limit.amount(limit.reserved)} reserved; one more job needs about {limit.amount(limit.expected)}"
            )
            return ev.AccountPaused(now, account.name, CAP, limit.until, detail=detail)
        if until := limit.paced_until(now):
            spent = f"{limit.amount(limit.spent)} of {limit.amount(limit.most)}"
            detail = f"{limit.name}: {spent} are spent, ahead of its pace"
            return ev.AccountPaused(now, account.name, PACE, until, detail=detail)
    return shares.lacking(state, account, now)


def reached(state: State, name: str, now: float) -> ev.AccountPaused:
    """A cap was reached: the account is paused until the cap's period ends. If the period has ended since, because no
    daemon was running, the pause is over at once."""
    found = _reached(state, state.accounts[name], now)
    until, detail = max(found, default=(now, "a cap was reached at the end of its period"))
    return ev.AccountPaused(now, name, CAP, until, detail=detail)


def _reached(state: State, account: Account, now: float) -> list[tuple[float, str]]:
    """For each cap or window that is reached: until when, and why in words."""
    found = [
        (cap.until, f"{cap.name}: {cap.amount(cap.spent)} of {cap.amount(cap.most)} are spent")
        for cap, _ in _caps(state, account, now)
        if cap.is_reached
    ]
    return found + shares.reached(state, account, now)


def counted(state: State, attempt: Attempt, more: Usage, at: float) -> State:
    """Tokens were counted: the attempt has used `more` since the last count."""
    if (account := state.accounts.get(attempt.account)) is None:
        return state
    money = cost(state.budget.prices, more, attempt.usage.model) if account.spec.is_paid else 0
    day, week = ends(at, account.spec.timezone)
    account = replace(
        account,
        day=replace(current(account.day, at).plus(more, money), until=day),
        week=replace(current(account.week, at).plus(more, money), until=week),
        ever=account.ever.plus(more, money),
    )
    state = state.with_account(account)
    if money:
        batch = state.batches[attempt.key.batch]
        state = state.with_batch(replace(batch, money=batch.money + money))
    return _checked(state, _kin(state, account), at)


def _kin(state: State, account: Account) -> list[Account]:
    """The accounts that share a cap with this one, itself included."""
    if state.budget.caps == Caps():
        return [account]
    return [each for each in state.accounts.values() if each.spec.is_paid is account.spec.is_paid]


def _checked(state: State, accounts: Iterable[Account], at: float) -> State:
    for account in accounts:
        held = account.pauses.get(CAP)
        if any(held is None or until > held.until for until, _ in _reached(state, account, at)):
            state = state.put(("cap", account.name), at)
    return state


def reconsidered(state: State, at: float) -> State:
    """Other caps apply now: pauses for the old ones end, and what is spent may have reached a new one."""
    for name, account in state.accounts.items():
        state = state.drop(("cap", name))
        for reason in (CAP, PACE):
            if reason in account.pauses and lacking(state, account, at) is None:
                state = state.put(("open", name, reason), at)
    return _checked(state, list(state.accounts.values()), at)


def ended(state: State, attempt: Attempt) -> State:
    """An agent is put away: its usage counts for what the next one is expected to use, unless it was refused."""
    account = state.accounts.get(attempt.account)
    batch = state.batches.get(attempt.key.batch)
    if account is None or batch is None or not attempt.usage.tokens or batch.job(attempt.key.job).setbacks.hindrance:
        return state
    money = cost(state.budget.prices, attempt.usage, attempt.usage.model) if account.spec.is_paid else 0
    used = replace(attempt.usage, context=0)  # a sum has no conversation
    state = state.with_batch(replace(batch, ended=batch.ended + 1, ended_usage=batch.ended_usage + used))
    account = replace(account, jobs=account.jobs + 1, job_usage=account.job_usage + used)
    return state.with_account(replace(account, job_money=account.job_money + money))
