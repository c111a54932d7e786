"""What each test of a file came to before the work; a file is run once for all jobs of its batch."""

import os
from collections import OrderedDict, defaultdict

from anyio import Lock

from supervisor.model.batch import Batch
from supervisor.verification.trials.runs import Run
from supervisor.verification.trials.trial import Trials, Unready

#: so many files' results at the base are remembered
MOST_BASELINES = 256


class Baselines:
    def __init__(self, trials: Trials) -> None:
        self._trials = trials
        self._known: OrderedDict[tuple[str, str], Run | None] = OrderedDict()
        self._running: defaultdict[tuple[str, str], Lock] = defaultdict(Lock)

    async def run(self, batch: Batch, test: str) -> Run | None:
        """None: the file can't be run."""
        key = (batch.id, file_of(test))
        async with self._running[key]:
            if key not in self._known:
                self._known[key] = await self._run(batch, test)
        while len(self._known) > MOST_BASELINES:
            self._running.pop(self._known.popitem(last=False)[0], None)
        return self._known.get(key)

    async def _run(self, batch: Batch, test: str) -> Run | None:
        name = f"{batch.id}-base-{os.urandom(4).hex()}"
        try:
            async with self._trials.trial(batch, batch.base, name) as trial:
                ran = await trial.run(file_of(test), times=tests_in(batch, test))
                return ran if ran.session else None
        except Unready:
            return None


def file_of(test: str) -> str:
    return test.partition("::")[0]


def tests_in(batch: Batch, test: str) -> int:
    """How many cases of the file are in the batch: each may take the time of a test."""
    return batch.cases_in(each for each in batch.tests if file_of(each) == file_of(test)) or 1
