"""The tests beside those of a batch: what passes where a branch starts, and fails on it.

All that pytest collects in the packages that the branch touches is run, or what the profile names, within a budget of
time. Only where something fails is the same run at the start, and once.
"""

import os
from collections.abc import Collection, Mapping, Sequence

from supervisor.model.batch import Batch
from supervisor.model.node import cases_of
from supervisor.verification.trials.runs import Run
from supervisor.verification.trials.trial import Trial, Trials, Unready

MOST_BROKEN = 100


class Suites:
    def __init__(self, trials: Trials, batch: Batch, start: str) -> None:
        self._trials, self._batch, self.start = trials, batch, start
        self._before: dict[tuple[str, ...], Mapping[str, str]] = {}
        #: tests beside the batch's that were seen to fail on some branch and to pass at the start
        self.broken: set[str] = set()
        self._notes: dict[str, None] = {}

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(self._notes)

    async def broken_on(
        self, trial: Trial, suite: tuple[str, ...], tests: Sequence[str]
    ) -> tuple[list[str], list[str]]:
        """What of the suite is broken there, and which of the tests it says nothing good of."""
        run = await self._run(trial, suite)
        self._note(suite, run)
        failed = {node for node, case in run.cases.items() if case.result == "failed"}
        uncollected = {file_of(each) for each in run.report.uncollected}
        left = [test for test in tests if not holds(run, test)]
        if not failed and not uncollected:
            return [], left
        before = await self._passing(suite)
        gone = [node for node in before if node not in run.cases and file_of(node) in uncollected]
        broken = [node for node in before if node in failed] + gone
        own = {node for test in tests for node in cases_of(run.cases, test)}
        found = [node for node in broken if node not in own][:MOST_BROKEN]
        self.broken |= set(found)
        return found, left

    async def _passing(self, suite: tuple[str, ...]) -> Collection[str]:
        """What passes at the start."""
        if suite not in self._before:
            name = f"{self._batch.id}-start-{os.urandom(4).hex()}"
            try:
                async with self._trials.trial(self._batch, self.start, name) as trial:
                    run = await self._run(trial, suite)
                self._before[suite] = {node: case.result for node, case in run.cases.items()}
            except Unready as unready:
                self._notes[f"beside the batch's own tests none could be run: {unready}"] = None
                self._before[suite] = {}
        return [node for node, result in self._before[suite].items() if result == "passed"]

    async def _run(self, trial: Trial, suite: tuple[str, ...]) -> Run:
        profile = self._batch.profile
        return await trial.run(
            *suite, times=max(1, round(profile.branch_tests_seconds / profile.test_timeout_seconds))
        )

    def _note(self, suite: tuple[str, ...], run: Run) -> None:
        """What was not run is said."""
        where = " ".join(suite) or "the whole repository"
        if not run.cases:
            self._notes[f"the tests of {where} were not run on the branch: {run.why_not}"] = None
        elif run.report.left_out:
            seconds = f"{self._batch.profile.branch_tests_seconds:g} s"
            missing = f"{run.report.left_out} tests of {where} were not run on the branch"
            self._notes[f"{missing}: there were {seconds} for all (`branch_tests_seconds`)"] = None


def holds(run: Run, test: str) -> bool:
    """Whether the test did not fail; one that skips itself was seen to do so before."""
    found = cases_of(run.cases, test).values()
    return bool(found) and all(case.result != "failed" for case in found)


def file_of(node: str) -> str:
    return node.partition("::")[0].partition(": ")[0]
