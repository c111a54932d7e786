"""The daemon's end of the gate: keys and caps for it, counts from it.

Agents of this machine whose kind can use the gate get a key of their own. Their tokens are the gate's counts, and the
transcript's are left out, so that nothing counts twice; tool calls and errors still come from the transcript. A
request that the gate holds is a sign of life, and tells which limit the agent has reached.
"""

import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple, dataclass, replace
from pathlib import Path

from anyio import sleep

from supervisor.errors import Misconfigured
from supervisor.flow.governor.allowances import Allowance
from supervisor.flow.stopping import cap_of
from supervisor.gate.claims import Allowance as Granted
from supervisor.gate.claims import Price, amount, share
from supervisor.gate.counts import Counts, Held, TurnedAway
from supervisor.gate.keys import Keys
from supervisor.gate.refusals import NO_ROOM
from supervisor.gate.sharing import folder_of
from supervisor.gate.tokens import NONE, Tokens
from supervisor.kinds import kind_of
from supervisor.kinds.kind import Detour
from supervisor.model.attempt import Attempt, AttemptKey
from supervisor.model.batch import Batch
from supervisor.model.hindrance import Hindrance
from supervisor.model.share import WindowShare
from supervisor.model.usage import Usage
from supervisor.ports import LogPiece, Logs, Sight
from supervisor.ports.gate import Heard, Told
from supervisor.settings import Settings
from supervisor.threads import in_thread

#: how long an ended key is remembered, to distinguish it from an unknown one
FORGET_SECONDS = 30 * 86400.0
#: The gate reads the rest of a response that an agent did not wait for; its counts may change for this long.
SETTLE_SECONDS, SETTLE_LOOK_SECONDS = 40.0, 0.1
#: the hindrances that the transcript would have reported
PROBLEMS = {"rate": Hindrance.RATE, "window": Hindrance.WINDOW, "overload": Hindrance.OVERLOAD}


@dataclass(frozen=True, slots=True)
class Upstream:
    """What the daemon needs to know of a provider behind the gate, which is not its key."""

    api: str
    account: str

    @property
    def name(self) -> str:
        return self.account or self.api


class Gating:
    """Thread-safe: the event loop asks, and a thread reads the gate's counts."""

    def __init__(self, state_dir: Path, url: str, upstreams: Iterable[Upstream]) -> None:
        folder = folder_of(state_dir)
        self._url, self._upstreams = url, tuple(upstreams)
        self._keys, self._counts = Keys(folder), Counts(folder)
        self._lock = threading.Lock()
        self._keys.forget(time.time() - FORGET_SECONDS)
        self._led = {AttemptKey(*each) for each in self._keys.attempts()}
        self._taken: dict[AttemptKey, Tokens] = {}
        self._held: dict[AttemptKey, Held] = {}
        #: the accounts of agents, and of those that each upstream has served
        self._accounts: dict[AttemptKey, str] = {}
        self._served: dict[str, set[str]] = {}
        self._told: Told | None = None
        #: by pot: what was spent on it without the gate
        self._elsewhere: dict[str, int] = {}

    # --- a launch

    def detour(self, batch: Batch, attempt: Attempt) -> Detour | None:
        """The attempt's way through the gate, with a new key each time. Raises Misconfigured if its kind has no
        provider behind the gate."""
        kind = kind_of(batch.profile.agent)
        if attempt.provider != "local" or not kind.apis:
            return None
        accounts = {api: found for api in kind.apis if (found := self._account(api, attempt.account or kind.name))}
        if not accounts:
            hint = f"add one of the API {kind.apis[0]} to [[gate.upstreams]]"
            raise Misconfigured(f"the gate has no upstream for the agent {kind.name}", hint=hint)
        with self._lock:
            self._keys.put_caps({purse_of(batch.id): cap_of(batch) or None})
            purses = [purse_of(batch.id), *([_account_purse(attempt.account)] if attempt.account else [])]
            key = self._keys.issue(attempt.key, accounts, purses)
            self._led.add(attempt.key)
            self._accounts[attempt.key] = attempt.account
        return kind.detour(self._url, key, batch.profile.env)

    def _account(self, api: str, account: str) -> str:
        """The account's own upstream, or the one for every account."""
        found = {each.account: each.name for each in self._upstreams if each.api == api}
        return found.get(account, found.get("", ""))

    # --- its life

    def is_led(self, key: AttemptKey) -> bool:
        return key in self._led

    async def tell(self, told: Told) -> None:
        await in_thread(self._hand_over, told)

    def _hand_over(self, told: Told) -> None:
        with self._lock:
            self._tell(told)

    async def look(self, alive: Mapping[AttemptKey, str], told: Told) -> Heard:
        return await in_thread(self._look, self._led.difference(alive), alive, told)

    def _look(self, gone: Collection[AttemptKey], alive: Mapping[AttemptKey, str], told: Told) -> Heard:
        with self._lock:
            self._accounts.update({key: account for key, account in alive.items() if key in self._led})
            self._look_at_counts()  # once more of those that are gone
            for key in gone:
                self._end(key)
            held: dict[AttemptKey, Held] = {AttemptKey(*each.attempt): each for each in self._counts.held()}
            self._held = {key: each for key, each in held.items() if each.why in PROBLEMS}
            self._tell(told)
            found = no_room(told, self._counts.turned_away(), self._elsewhere)
            return replace(found, windows=self._windows())

    def _tell(self, told: Told) -> None:
        if told == self._told:
            return
        self._keys.put_caps({purse_of(batch): tokens or None for batch, tokens in told.caps.items()})
        spent = self._counts.spent()
        before, self._elsewhere = self._elsewhere, {}
        for each in told.allowances:
            # The gate knows of a request before the daemon does, so what exceeds its counts did not go through it.
            self._elsewhere[each.pot] = max(before.get(each.pot, 0), each.spent - spent.get(each.pot, 0))
        self._keys.put_allowances(self._row(each) for each in told.allowances)
        if self._told is None or told.prices != self._told.prices:
            self._keys.put_prices(Price(*astuple(price)) for price in told.prices)
        self._told = told

    def _row(self, each: Allowance) -> Granted:
        purse = _account_purse(each.account) if each.account else purse_of(each.batch)
        most = max(0, each.most - self._elsewhere[each.pot])
        return Granted(purse, each.pot, each.name, each.is_money, each.since, each.until, most)

    def _look_at_counts(self) -> None:
        """What each has taken, and from which upstream."""
        found = {key: self._counts.taken(key) for key in self._led}
        self._taken = {key: sum((row.tokens for row in rows), NONE) for key, rows in found.items()}
        for key, rows in found.items():
            for row in rows if self._accounts.get(key) else ():
                self._served.setdefault(row.account, set()).add(self._accounts[key])

    def _windows(self) -> list[tuple[str, WindowShare]]:
        return [
            (account, WindowShare(each.minutes, each.used, each.resets_at, each.at))
            for each in self._counts.windows()
            for account in self._served.get(each.account, ())
        ]

    def _total(self, key: AttemptKey) -> Tokens:
        return sum((row.tokens for row in self._counts.taken(key)), NONE)

    def _end(self, key: AttemptKey) -> None:
        self._keys.end(key)
        self._led.discard(key)
        self._taken.pop(key, None)
        self._held.pop(key, None)
        self._accounts.pop(key, None)

    def counted(self, key: AttemptKey, usage: Usage) -> Usage:
        """The usage, with the gate's token counts of the last look."""
        return _with(usage, self._taken.get(key, NONE))

    def held(self, key: AttemptKey) -> Held | None:
        return self._held.get(key)

    async def final(self, key: AttemptKey, usage: Usage) -> Usage:
        """The agent has ended: end its key, wait for requests under way, and return the final usage."""
        await in_thread(self._keys.end, key)
        deadline = time.monotonic() + SETTLE_SECONDS
        while await in_thread(self._counts.is_asking, key) and time.monotonic() < deadline:  # noqa: ASYNC110
            await sleep(SETTLE_LOOK_SECONDS)
        self._taken[key] = await in_thread(self._total, key)
        return self.counted(key, usage)

    def close(self) -> None:
        with self._lock:
            self._keys.close()
            self._counts.close()


@contextmanager
def gate_of(settings: Settings) -> Iterator[Gating | None]:
    """The gate's daemon end, or None if the gate is off."""
    gate = settings.gate
    if not gate.on:
        yield None
        return
    upstreams = [Upstream(each.api, each.account) for each in gate.upstreams]
    gating = Gating(settings.state_dir, f"http://{gate.listen}", upstreams)
    try:
        yield gating
    finally:
        gating.close()


def purse_of(batch: str) -> str:
    """The purse of a batch; agents see this name when it is empty."""
    return f"batch {batch}"


def _account_purse(account: str) -> str:
    return f"account {account}"


def no_room(told: Told, found: Mapping[str, TurnedAway], elsewhere: Mapping[str, int]) -> Heard:
    """Without those who would fit by now, because their cap is another one."""
    batches = {batch: _said(away) for batch in told.caps if (away := found.get(purse_of(batch))) is not None}
    accounts = dict[str, tuple[float, str]]()
    for each in told.allowances:
        away = found.get(each.pot)
        if each.is_closed or away is None or away.spent + away.wanted + elsewhere.get(each.pot, 0) <= each.most:
            continue
        if each.batch:
            batches[each.batch] = _said(away, is_money=each.is_money)
        else:
            accounts[each.account] = each.until, f"{each.name}: {_said(away, is_money=each.is_money)}"
    return Heard(batches, accounts)


def _said(away: TurnedAway, *, is_money: bool = False) -> str:
    wanted, taken = amount(away.wanted, is_money=is_money), share(away.spent, away.cap, is_money=is_money)
    return f"the gate has refused a request: it could take {wanted}, and {taken} are spent"


def _with(usage: Usage, taken: Tokens) -> Usage:
    """The usage with these tokens. Cache writes count as input, because they are read for the first time."""
    read = taken.input + taken.cache_write
    return replace(usage, input=read, output=taken.output, cached=taken.cache_read, written=taken.cache_write)


class GatedLogs:
    """The `Logs` port, with the tokens of agents behind the gate as the gate has counted them."""

    def __init__(self, logs: Logs, gating: Gating) -> None:
        self._logs, self._gating = logs, gating

    def watch(self, attempts: Mapping[AttemptKey, Attempt]) -> None:
        self._logs.watch(attempts)

    def learn(self, env: Mapping[str, str]) -> None:
        self._logs.learn(env)

    def sight(self, key: AttemptKey) -> Sight | None:
        if (sight := self._logs.sight(key)) is None or not self._gating.is_led(key):
            return sight
        sight = replace(sight, usage=self._gating.counted(key, sight.usage))
        if NO_ROOM in sight.detail:
            # The account is paused for its cap. Once the cap is raised, nothing else may hold the agent for long.
            sight = replace(sight, problem=Hindrance.OVERLOAD, until=0.0)
        if (held := self._gating.held(key)) is None:
            return sight
        return replace(
            sight,
            active_at=time.time(),
            waits=False,
            problem=PROBLEMS[held.why],
            detail=f"the gate holds its request{_until(held.until)}",
            until=held.until or 0.0,
            model=held.model,
            refused_at=held.at,
        )

    async def active_at(self, attempt: Attempt) -> float | None:
        return await self._logs.active_at(attempt)

    async def finish(self, attempt: Attempt, *, published: bool) -> Usage:
        usage = await self._logs.finish(attempt, published=published)
        return await self._gating.final(attempt.key, usage) if self._gating.is_led(attempt.key) else usage

    async def read(self, key: AttemptKey, after: int = 0) -> LogPiece:
        return await self._logs.read(key, after)

    async def close(self) -> None:
        await self._logs.close()


def _until(until: float | None) -> str:
    return "" if until is None else f" until {time.strftime('%H:%M:%S', time.localtime(until))}"
