"""Runs tests on a branch that is being made, and finds what must be left out of it so that they pass.

Theory of operation. Work that was verified alone can break a test together with other work. So tests run on the whole
branch, in a clean checkout: those that were seen to pass, and those of the packages it touches. If a test fails, also
when it runs alone, a binary search finds the shortest prefix of the branch that fails, and the last work of that
prefix is left out: it breaks the test, and the work before it ranks higher. Then everything is tested again. A test
that fails without any of the work is no fault of the branch.
"""

import os
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from supervisor.adapters.layout import Layout
from supervisor.model.batch import Batch
from supervisor.model.node import cases_of, file_of
from supervisor.verification.baselines import Baselines
from supervisor.verification.together.parts import GOING_ON
from supervisor.verification.trials.asking import AnyTrials, Place, Unready
from supervisor.verification.trials.reports import Case
from supervisor.verification.trials.runs import PLAIN, Instruments, Run

#: the most tests that are run alone after they failed with the others
MOST_ALONE = 20
#: the most jobs that are left out one by one; if more break a test, nothing is proved
MOST_LEFT_OUT = 25
MOST_NAMED = 3

#: the reason for each failing test
type Failures = dict[str, str]
MOST_BROKEN = 100
MOST_SEEN = 8


@dataclass(frozen=True, slots=True)
class Candidate:
    """A branch as it would be."""

    head: str
    #: what must pass on it, because it was seen to pass
    tests: Collection[str]
    #: other tests, which must not fail if they pass at the start: pytest arguments; (): all tests; None: none
    suite: tuple[str, ...] | None = None
    #: the tree of its files
    tree: str = ""


class Seen:
    """The last results of suites, by batch and by the tree that they ran on: a branch that was proved is the start
    of the next one."""

    def __init__(self) -> None:
        self._cases: OrderedDict[tuple[str, str, tuple[str, ...]], Mapping[str, Case]] = OrderedDict()

    def keep(self, batch: str, tree: str, suite: tuple[str, ...], run: Run) -> None:
        """Keep a run, unless it was cut short: such a run says nothing about the tests that it did not reach."""
        if tree and not run.cut_short:
            self._cases[batch, tree, suite] = run.cases
            while len(self._cases) > MOST_SEEN:
                self._cases.popitem(last=False)

    def of(self, batch: str, tree: str, suite: tuple[str, ...]) -> Mapping[str, Case] | None:
        return self._cases.get((batch, tree, suite))


class Suites:
    def __init__(self, trials: AnyTrials, baselines: Baselines, seen: Seen, batch: Batch, start: Candidate) -> None:
        self._trials, self._baselines, self._seen, self._batch = trials, baselines, seen, batch
        self.start = start
        #: the results of files at the start; empty for those that could not be run there
        self._before: dict[str, Mapping[str, Case]] = {}
        #: tests other than the batch's that failed on some branch and passed at the start
        self.broken: set[str] = set()
        self._notes: dict[str, None] = {}

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(self._notes)

    async def broken_on(self, trial: Place, candidate: Candidate) -> tuple[list[str], list[str]]:
        """The tests of its suite that are broken there, and those of its own tests that did not hold in this run."""
        suite, tests = candidate.suite or (), candidate.tests
        run = await self._run(trial, suite)
        self._note(suite, run)
        self._seen.keep(self._batch.id, candidate.tree, suite, run)
        failed = {node for node, case in run.cases.items() if case.result == "failed"}
        uncollected = run.report.unread_files
        left = [test for test in tests if not holds(run, test)]
        if not failed and not uncollected:
            return [], left
        before = await self._passing(suite, {file_of(node) for node in failed} | uncollected)
        gone = [node for node in before if node not in run.cases and file_of(node) in uncollected]
        broken = [node for node in before if node in failed] + gone
        own = {node for test in tests for node in cases_of(run.cases, test)}
        found = [node for node in broken if node not in own][:MOST_BROKEN]
        self.broken |= set(found)
        return found, left

    async def _passing(self, suite: tuple[str, ...], files: Collection[str]) -> list[str]:
        """The tests of these files that pass at the start. Those that fail now are run alone before they count."""
        known = self._seen.of(self._batch.id, self.start.tree, suite)
        if known is None:
            await self._look(sorted(file for file in files if file not in self._before))
            known = {node: case for file in files for node, case in self._before[file].items()}
        return [node for node, case in known.items() if case.result == "passed" and file_of(node) in files]

    async def _look(self, files: Sequence[str]) -> None:
        """Learn the results of files at the start. At the base, the survey or a claim has run most of them."""
        for file in files if self.start.head == self._batch.base else ():
            baseline = await self._baselines.known(self._batch, file)
            if baseline is not None and baseline.run is not None and not baseline.run.cut_short:
                self._before[file] = baseline.run.cases
        if left := [file for file in files if file not in self._before]:
            self._before |= {file: {} for file in left}
            name = f"{self._batch.id}-start-{os.urandom(4).hex()}"
            try:
                async with self._trials.trial(self._batch, self.start.head, name) as trial:
                    there = [file for file in left if await trial.head_of(file)]
                    run = await self._run(trial, tuple(there), Instruments(args=GOING_ON)) if there else None
            except Unready as unready:
                self._notes[f"beside the batch's own tests none could be run: {unready}"] = None
                return
            if run is not None:
                self._before |= {file: cases_of(run.cases, file) for file in there}
                if run.cut_short:
                    why = f"what {_named(there)} came to before is known in part at most: {run.cut_short}"
                    self._notes[why] = None

    async def _run(self, trial: Place, suite: tuple[str, ...], instruments: Instruments = PLAIN) -> Run:
        profile = self._batch.profile
        times = max(1, round(profile.branch_tests_seconds / profile.test_timeout_seconds))
        return await trial.run(*suite, times=times, instruments=instruments)

    def _note(self, suite: tuple[str, ...], run: Run) -> None:
        """Note which tests were not run."""
        where = " ".join(suite) or "the whole repository"
        if not run.cases:
            self._notes[f"the tests of {where} were not run on the branch: {run.why_not}"] = None
        elif run.report.left_out:
            seconds = f"{self._batch.profile.branch_tests_seconds:g} s"
            missing = f"{run.report.left_out} tests of {where} were not run on the branch"
            self._notes[f"{missing}: there were {seconds} for all (`branch_tests_seconds`)"] = None


def holds(run: Run, test: str) -> bool:
    """Whether the test ran and did not fail; a test that skips itself was seen to do so before."""
    found = cases_of(run.cases, test).values()
    return bool(found) and all(case.result != "failed" for case in found)


@dataclass(frozen=True, slots=True)
class Proof[T: Hashable]:
    #: what can't be kept, each with the reason
    out: dict[T, str] = field(default_factory=dict)
    #: which other tests were run, and which were not
    notes: tuple[str, ...] = ()


class Prover:
    def __init__(self, trials: AnyTrials, layout: Layout) -> None:
        self._trials, self._layout, self._seen = trials, layout, Seen()

    async def proved[T: Hashable](
        self, batch: Batch, items: Sequence[T], made_of: Callable[[Sequence[T]], Awaitable[Candidate]]
    ) -> Proof[T]:
        if not items:
            return Proof()
        baselines = Baselines(self._trials, self._layout, self._trials.pool_of(batch))
        suites = Suites(self._trials, baselines, self._seen, batch, await made_of([]))
        asked = _Asked(self._trials, batch, suites)

        async def failures(of: Sequence[T], only: Collection[str] | None = None) -> Failures:
            return await asked.failures(await made_of(of), only)

        kept, out = list(items), dict[T, str]()
        if not (failing := await failures(kept)):
            return Proof(out, asked.suites.notes)
        innocent = await failures([], failing)
        while failing := {test: why for test, why in failing.items() if test not in innocent}:
            if not kept or len(out) == MOST_LEFT_OUT:
                return Proof(out | dict.fromkeys(kept, "too much of the branch fails together"), asked.suites.notes)
            low, high, broken = 0, len(kept), failing
            while high - low > 1:
                middle = (low + high) // 2
                found = await failures(kept[:middle], failing)
                low, high, broken = (low, middle, found) if found else (middle, high, broken)
            out[kept.pop(high - 1)] = _reason({test: why for test, why in broken.items() if test not in innocent})
            failing = await failures(kept)
        return Proof(out, asked.suites.notes)


class _Asked:
    """The tests of one proof."""

    def __init__(self, trials: AnyTrials, batch: Batch, suites: Suites) -> None:
        self._trials, self._batch, self.suites = trials, batch, suites

    async def failures(self, candidate: Candidate, only: Collection[str] | None) -> Failures:
        """The failures among `only`, or among all tests of the candidate."""
        tests = [test for test in candidate.tests if only is None or test in only]
        beside = [test for test in only or () if test in self.suites.broken]
        suite = candidate.suite if only is None and candidate.head != self.suites.start.head else None
        if not tests and not beside and suite is None:
            return {}
        name = f"{self._batch.id}-integration-{os.urandom(4).hex()}"
        try:
            async with self._trials.trial(self._batch, candidate.head, name) as trial:
                if suite is not None:
                    beside, tests = await self.suites.broken_on(trial, candidate)
                return await self._failing(trial, list(dict.fromkeys([*tests, *beside])))
        except Unready as unready:
            return dict.fromkeys([*tests, *beside], str(unready))

    async def _failing(self, trial: Place, tests: Sequence[str]) -> Failures:
        if not tests:
            return {}
        together = await trial.run(*tests, times=self._batch.cases_in(tests))
        suspects = [test for test in tests if not holds(together, test)]
        failing = dict.fromkeys(suspects[MOST_ALONE:], "it fails with the others")
        for test in suspects[:MOST_ALONE]:
            alone = await trial.run(test, times=self._batch.cases_in([test]))
            if not alone.cases and "[" in test:  # its parameters have other names now
                whole = test.partition("[")[0]
                alone = await trial.run(whole, times=self._batch.cases_in([whole]))
                if holds(alone, whole):
                    continue
            if not holds(alone, test):
                failing[test] = alone.why_not
        return failing


def _named(files: Sequence[str]) -> str:
    more = f" and {len(files) - MOST_NAMED} more" if len(files) > MOST_NAMED else ""
    return ", ".join(files[:MOST_NAMED]) + more


def _reason(failing: Failures) -> str:
    """The tests that it breaks, with the reason for the first."""
    (test, why), *others = sorted(failing.items())
    named = ", ".join(other for other, _ in others[:MOST_NAMED])
    more = f" (and {len(others)} more: {named}{', …' if len(others) > MOST_NAMED else ''})" if others else ""
    return f"breaks {test} on the branch{more}: {why}"
