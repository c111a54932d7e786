"""Tells the gate about caps and ended keys while batches run, and the loop about full caps and windows."""

from collections.abc import Callable

import structlog
from anyio import sleep

from supervisor.daemon.perform import Doing
from supervisor.daemon.windows import Windows
from supervisor.flow import stopping
from supervisor.flow.governor.allowances import allowances
from supervisor.model import event as ev
from supervisor.model.account import CAP
from supervisor.model.batch import Batch
from supervisor.model.state import State
from supervisor.ports import Gate
from supervisor.ports.gate import Told

log = structlog.get_logger()

LOOK_SECONDS = 0.5


class Gatekeeping:
    def __init__(
        self, *, state: Callable[[], State], tell: Callable[[ev.Event], None], clock: Callable[[], float], gate: Gate
    ) -> None:
        self._state, self._tell, self._clock, self._gate = state, tell, clock, gate
        self._windows = Windows(tell)

    async def run(self) -> None:
        while True:
            await self.look()
            await sleep(LOOK_SECONDS)

    def before(self, launch: Doing) -> Doing:
        """Tell the gate every cap before an agent has a key."""

        async def launched() -> ev.Event | None:
            await self._gate.tell(self._told(self._state()))
            return await launch()

        return launched

    def _told(self, state: State) -> Told:
        caps = {name: stopping.cap_of(batch) for name, batch in state.batches.items()}
        return Told(caps, allowances(state, self._clock()), state.budget.prices)

    async def look(self) -> None:
        state = self._state()
        alive = {key: attempt.account for key, attempt in state.attempts.items()}
        away = await self._gate.look(alive, self._told(state))
        self._windows.look(self._state(), away.windows, self._clock())
        for name, why in away.batches.items():
            batch = self._state().batches.get(name)
            if batch is not None and _has_budget(batch) and not batch.is_spent:
                self._tell(ev.BatchStopped(self._clock(), name, reason="budget", detail=why))
        for name, (until, why) in away.accounts.items():
            account = self._state().accounts.get(name)
            if account is not None and CAP not in account.pauses:
                self._tell(ev.AccountPaused(self._clock(), name, CAP, until, detail=why))


def _has_budget(batch: Batch) -> bool:
    return bool(batch.profile.budget_tokens or batch.profile.budget_dollars)
