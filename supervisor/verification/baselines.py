"""The results of each file of a batch at the base: run once, by the survey or for the first claim, and kept.

    in memory    the last few hundred
    on disk      all, with the batch's other files: for claims after a restart, and for prompts

A file that could not be run is tried again after a restart; one whose setup failed, whenever it is asked for.
"""

import math
import os
from collections import OrderedDict, defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import structlog
from anyio import Lock

from supervisor.adapters import packed
from supervisor.adapters.layout import Layout
from supervisor.adapters.recordings import keeping as recordings
from supervisor.model.batch import Batch
from supervisor.model.node import file_of
from supervisor.threads import at_length, in_thread
from supervisor.verification.together.parts import GOING_ON, own, unsound
from supervisor.verification.trials.asking import AnyTrials, Place, Unready
from supervisor.verification.trials.reports import Case
from supervisor.verification.trials.runs import Instruments, Run

log = structlog.get_logger()

#: the results of so many files stay in memory
MOST_REMEMBERED = 256

type _Key = tuple[str, int, str]


@dataclass(frozen=True, slots=True)
class Baseline:
    #: None: the file can't be run
    run: Run | None
    #: why, in a sentence
    why_not: str = ""
    #: a setup failed, or the walls could not be built: no other file can be run either
    is_unready: bool = False
    #: of the setup before it; 0: there was none, or it was cached
    setup_seconds: float = 0.0


class Baselines:
    def __init__(self, trials: AnyTrials, layout: Layout, pool: str = "") -> None:
        """`pool`: where the trials are. A baseline of one place does not hold in another."""
        self._trials, self._layout, self._pool = trials, layout, pool
        self._known: OrderedDict[_Key, Baseline] = OrderedDict()
        self._running: defaultdict[_Key, Lock] = defaultdict(Lock)

    async def run(self, batch: Batch, test: str) -> Run | None:
        """None: the file can't be run."""
        return (await self.of(batch, test)).run

    async def of(self, batch: Batch, test: str) -> Baseline:
        async with self._alone(batch, [test]):
            return await self._kept(batch, test) or await self._remember(batch, test, await self._run(batch, test))

    async def known(self, batch: Batch, test: str) -> Baseline | None:
        """The baseline if there is one already; if the file is running now, this waits for it."""
        async with self._alone(batch, [test]):
            return await self._kept(batch, test)

    async def run_together(
        self, batch: Batch, tests: Iterable[str], most_times: float = math.inf
    ) -> Mapping[str, Case]:
        """Runs the files of these tests that have no baseline yet, in one run. If that settles nothing, each file
        gets its own run later, and the cases of this one are returned."""
        files = {file_of(test): test for test in tests}
        async with self._alone(batch, files):
            left = [file for file in files if await self._kept(batch, file) is None]
            if len(left) < 2:
                return {}
            try:
                async with self._trial(batch) as trial:
                    times = min(sum(tests_in(batch, test) for test in left), most_times)
                    ran = await trial.run(*left, times=times, instruments=Instruments(args=GOING_ON))
                    if unsound(ran, left):
                        return ran.cases
                    for file in left:
                        await self._record(batch, file, ran)
                        part = await in_thread(own, ran, (file,), len(left))
                        await self._remember(batch, file, Baseline(part, setup_seconds=trial.setup_seconds))
            except Unready:
                pass
        return {}

    async def _run(self, batch: Batch, test: str) -> Baseline:
        try:
            async with self._trial(batch) as trial:
                ran = await trial.run(file_of(test), times=tests_in(batch, test))
                await self._record(batch, test, ran)
                return Baseline(ran if ran.session else None, ran.why_not, setup_seconds=trial.setup_seconds)
        except Unready as unready:
            return Baseline(None, str(unready), is_unready=True)

    async def _record(self, batch: Batch, test: str, ran: Run) -> None:
        """Copies the recordings that the file made, which are deleted with the trial."""
        if ran.recorded:
            _, survey, file = _key(batch, test)
            kept = self._layout.recorded_at_base(batch.id, survey, file)
            await at_length(recordings.copy, Path(ran.recorded), kept, [file])

    @asynccontextmanager
    async def _trial(self, batch: Batch) -> AsyncIterator[Place]:
        async with self._trials.trial(batch, batch.base, f"{batch.id}-base-{os.urandom(4).hex()}") as trial:
            yield trial

    # --- what is known

    @asynccontextmanager
    async def _alone(self, batch: Batch, tests: Iterable[str]) -> AsyncIterator[None]:
        """Locks these files against other runs, always in the same order, which rules out a deadlock."""
        async with AsyncExitStack() as held:
            for file in sorted({file_of(test) for test in tests}):
                await held.enter_async_context(self._running[_key(batch, file)])
            yield
        while len(self._known) > MOST_REMEMBERED:
            self._running.pop(self._known.popitem(last=False)[0], None)

    async def _kept(self, batch: Batch, test: str) -> Baseline | None:
        if (key := _key(batch, test)) not in self._known:
            if (run := await in_thread(packed.read, self._layout.at_base(*key, self._pool), Run)) is None:
                return None
            self._known[key] = Baseline(run, run.why_not)
        return self._known[key]

    async def _remember(self, batch: Batch, test: str, baseline: Baseline) -> Baseline:
        key = _key(batch, test)
        if not baseline.is_unready:
            self._known[key] = baseline
        if baseline.run is not None:
            try:
                await in_thread(packed.write, self._layout.at_base(*key, self._pool), baseline.run)
            except OSError as error:
                log.warning("can't keep what a file came to at the base", file=key[2], why=str(error))
        return baseline


def tests_in(batch: Batch, test: str) -> int:
    """How many cases of the file are in the batch: each may take the time of a test."""
    return batch.cases_in(each for each in batch.tests if file_of(each) == file_of(test)) or 1


def _key(batch: Batch, test: str) -> _Key:
    return batch.id, batch.survey.round, file_of(test)
