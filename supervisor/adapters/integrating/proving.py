"""Runs tests on a branch that is being made, and finds what must be left out of it so that they pass.

Theory of operation. Work that was verified by itself can break a test together with other work. So the tests run on
the whole branch, in a clean checkout. Where one fails, also when it is run by itself, the shortest beginning of the
branch that fails is looked for by halves, and what comes last in it is left out: what came before had the better
rank. Then all is asked again. What fails on nothing at all is no fault of the branch.
"""

import os
from collections.abc import Awaitable, Callable, Collection, Hashable, Sequence
from dataclasses import dataclass

from supervisor.adapters.judging.reports import cases_of
from supervisor.adapters.judging.runs import Run
from supervisor.adapters.judging.trial import Trials, Unready
from supervisor.model.batch import Batch

#: so many tests that failed with the others are tried by themselves
MOST_ALONE = 20
#: so much is left out one by one; where more breaks, nothing is proved
MOST_LEFT_OUT = 25

#: why each of the tests that fail does
type Failures = dict[str, str]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A branch as it would be, and the tests that must pass on it."""

    head: str
    tests: Collection[str]


class Prover:
    def __init__(self, trials: Trials) -> None:
        self._trials = trials

    async def left_out[T: Hashable](
        self, batch: Batch, items: Sequence[T], made_of: Callable[[Sequence[T]], Awaitable[Candidate]]
    ) -> dict[T, str]:
        """What can't be kept of the items, each with the reason."""

        async def failures(of: Sequence[T], only: Collection[str] | None = None) -> Failures:
            candidate = await made_of(of)
            tests = [test for test in candidate.tests if only is None or test in only]
            return await self._failures(batch, candidate.head, tests)

        kept, out = list(items), dict[T, str]()
        if not (failing := await failures(kept)):
            return out
        innocent = await failures([], failing)
        while failing := {test: why for test, why in failing.items() if test not in innocent}:
            if not kept or len(out) == MOST_LEFT_OUT:
                return out | dict.fromkeys(kept, "too much of the branch fails together")
            low, high = 0, len(kept)
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if await failures(kept[:middle], failing) else (middle, high)
            out[kept.pop(high - 1)] = _reason(failing)
            failing = await failures(kept)
        return out

    async def _failures(self, batch: Batch, head: str, tests: Sequence[str]) -> Failures:
        if not tests:
            return {}
        name = f"{batch.id}-integration-{os.urandom(4).hex()}"
        try:
            async with self._trials.trial(batch, head, name) as trial:
                together = await trial.run(*tests, times=batch.cases_in(tests))
                suspects = [test for test in tests if not _holds(together, test)]
                failing = dict.fromkeys(suspects[MOST_ALONE:], "it fails with the others")
                for test in suspects[:MOST_ALONE]:
                    alone = await trial.run(test, times=batch.cases_in([test]))
                    if not _holds(alone, test):
                        failing[test] = alone.why_not
                return failing
        except Unready as unready:
            return dict.fromkeys(tests, str(unready))


def _holds(run: Run, test: str) -> bool:
    """Whether the test did not fail; one that skips itself was seen to do so before."""
    found = cases_of(run.cases, test).values()
    return bool(found) and all(case.result != "failed" for case in found)


def _reason(failing: Failures) -> str:
    test, why = min(failing.items())
    more = f" (and {len(failing) - 1} more)" if len(failing) > 1 else ""
    return f"breaks {test} on the branch{more}: {why}"
