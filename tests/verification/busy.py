"""Trials on a machine that is at work on something else: real runs, which seem to take longer than they do."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from supervisor.adapters.git.store import GitStore
from supervisor.model.batch import Batch
from supervisor.verification.trials.asking import Checkout
from supervisor.verification.trials.running import Ended
from supervisor.verification.trials.runs import PLAIN, Instruments, Run, View
from supervisor.verification.trials.trial import Trials


class BusyTrial:
    """Each run takes longer than evidence may take."""

    def __init__(self, trial: Checkout) -> None:
        self._trial = trial
        self.runs, self.saved, self.setup_seconds = trial.runs, 0, 0.0

    @property
    def folder(self) -> Path:
        return self._trial.folder

    @property
    def log(self) -> str:
        return self._trial.log

    @property
    def note(self) -> str:
        return self._trial.note

    @property
    def can_lay(self) -> bool:
        return self._trial.can_lay

    async def view(self, sha: str) -> View:
        return await self._trial.view(sha)

    async def head_of(self, path: str) -> bytes:
        return await self._trial.head_of(path)

    async def run(self, *nodes: str, times: float = 1, instruments: Instruments = PLAIN) -> Run:
        run = await self._trial.run(*nodes, times=times, instruments=instruments)
        return replace(self.seen(run, instruments), seconds=1000.0)

    async def run_again(self, node: str, count: int, times: float) -> list[Run]:
        return [await self.run(node, times=times) for _ in range(count)]

    @property
    def width(self) -> int:
        return self._trial.width

    async def run_each(self, nodes: Sequence[str], times: float, instruments: Sequence[Instruments]) -> list[Run]:
        return [await self.run(*nodes, times=times, instruments=each) for each in instruments]

    def seen(self, run: Run, instruments: Instruments) -> Run:
        return run


class LateTrial(BusyTrial):
    """And since something was changed for the first time, no run comes to its end any more."""

    is_late = False

    def seen(self, run: Run, instruments: Instruments) -> Run:
        self.is_late = self.is_late or instruments.changes_files
        return replace(run, ended=Ended(None, "")) if self.is_late else run


class HangingTrial(BusyTrial):
    """A run without the work does not come to its end, and any other does."""

    def seen(self, run: Run, instruments: Instruments) -> Run:
        return replace(run, ended=Ended(None, "")) if instruments.changes_files else run


class BusyTrials:
    kind: type[BusyTrial] = BusyTrial

    def pool_of(self, batch: Batch) -> str:
        return ""

    def __init__(self, store: GitStore, state_dir: Path) -> None:
        self._trials = Trials(store, state_dir)

    @asynccontextmanager
    async def trial(
        self, batch: Batch, sha: str, name: str, *, replaced: Mapping[str, bytes | None] | None = None
    ) -> AsyncIterator[Checkout]:
        async with self._trials.trial(batch, sha, name, replaced=replaced) as trial:
            yield self.kind(trial)


class LateTrials(BusyTrials):
    kind = LateTrial


class HangingTrials(BusyTrials):
    kind = HangingTrial
