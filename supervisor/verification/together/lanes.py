"""How many runs of a group are under way, and the place of a claim that runs alone beside the group."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import anyio

from supervisor.tasks import all_of
from supervisor.threads import in_thread
from supervisor.verification.trials.asking import Checkout, log_of
from supervisor.verification.trials.runs import PLAIN, Instruments, Run, View
from supervisor.verification.trials.tidying import HEAD


class Lanes:
    """A run has a lane while it is under way. How many there are may change at any time."""

    def __init__(self, width: Callable[[], int]) -> None:
        self._width = width
        self._taken = 0
        self._freed = anyio.Event()

    @property
    def width(self) -> int:
        return max(1, self._width())

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        while self._taken >= self.width:
            await self._freed.wait()
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1
            self._freed.set()
            self._freed = anyio.Event()


@dataclass(slots=True)
class Apart:
    """The checkout of a group as if it were one claim's own: each run finds what the claim's commit has."""

    trial: Checkout
    view: View
    lanes: Lanes
    runs: list[Run] = field(default_factory=list)
    saved: int = 0
    setup_seconds: float = 0.0

    @property
    def folder(self) -> Path:
        return self.trial.folder

    @property
    def log(self) -> str:
        return log_of(self.runs, self.note)

    @property
    def note(self) -> str:
        return self.trial.note

    async def head_of(self, path: str) -> bytes:
        return await head_in(self.trial, self.view, path)

    async def run(self, *nodes: str, times: float = 1, instruments: Instruments = PLAIN) -> Run:
        async with self.lanes.one():
            run = await self.trial.run(*nodes, times=times, instruments=replace(instruments, view=self.view))
        self.runs.append(run)
        return run

    async def run_again(self, node: str, count: int, times: float) -> list[Run]:
        return await self.run_each((node,), times, [PLAIN] * count)

    @property
    def width(self) -> int:
        return self.lanes.width

    async def run_each(self, nodes: Sequence[str], times: float, instruments: Sequence[Instruments]) -> list[Run]:
        return await all_of(partial(self.run, *nodes, times=times, instruments=each) for each in instruments)


async def head_in(trial: Checkout, view: View, path: str) -> bytes:
    """The first bytes of a file; a setup may have made it."""
    content = await in_thread(view.now, path)
    return await trial.head_of(path) if content is None else content.data[:HEAD]
