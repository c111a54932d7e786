"""A claim before the judge: what is tried on it, one stage after the other, until one of them rejects it."""

import os
from collections import OrderedDict, defaultdict
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from anyio import Lock

from supervisor.model.batch import Batch
from supervisor.model.evidence import Evidence
from supervisor.model.job import Job
from supervisor.model.node import cases_of, file_of, function_of
from supervisor.model.verdict import Verification
from supervisor.publication.rules.outcome import clean
from supervisor.threads import in_thread
from supervisor.verification.evidence.asking import Claim, Findings, ask_all, certain
from supervisor.verification.rules.doubts import standing
from supervisor.verification.rules.judged import Doubt
from supervisor.verification.together.parts import GOING_ON, own, unsound
from supervisor.verification.trials.runs import Instruments, Run
from supervisor.verification.trials.trial import Place, Trials, Unready
from supervisor.verification.works import Changes

MAX_DOUBT = 400
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

    async def run_together(self, batch: Batch, tests: Iterable[str]) -> None:
        """Those files of these tests that have not run yet, by one run. What it leaves open, a file's own run
        answers later."""
        files = {file_of(test): test for test in tests if (batch.id, file_of(test)) not in self._known}
        if len(files) < 2:
            return
        try:
            async with self._trials.trial(batch, batch.base, f"{batch.id}-base-{os.urandom(4).hex()}") as trial:
                times = sum(tests_in(batch, test) for test in files.values())
                ran = await trial.run(*files, times=times, instruments=Instruments(args=GOING_ON))
                if not unsound(ran, list(files)):
                    for file in files:
                        self._known[batch.id, file] = await in_thread(own, ran, (file,), len(files))
        except Unready:
            return

    async def _run(self, batch: Batch, test: str) -> Run | None:
        name = f"{batch.id}-base-{os.urandom(4).hex()}"
        try:
            async with self._trials.trial(batch, batch.base, name) as trial:
                ran = await trial.run(file_of(test), times=tests_in(batch, test))
                return ran if ran.session else None
        except Unready:
            return None


def tests_in(batch: Batch, test: str) -> int:
    """How many cases of the file are in the batch: each may take the time of a test."""
    return batch.cases_in(each for each in batch.tests if file_of(each) == file_of(test)) or 1


@dataclass(frozen=True, slots=True)
class Rejection:
    verification: Verification
    reason: str


@dataclass(slots=True)
class Hearing:
    batch: Batch
    job: Job
    work: Changes
    #: our copy of the repository
    bare: Path
    trial: Place
    baselines: Baselines
    #: whether its runs are also those of other claims
    is_shared: bool = False
    #: where they are: whether it passed in a run of its own; None: it had none
    passes_alone: bool | None = None
    #: what policy can't be certain of
    doubted: tuple[Doubt, ...] = ()
    #: plain runs of its test
    runs: list[Run] = field(default_factory=list)
    #: its file at the base, and now; None: it was not run
    before: Run | None = None
    after: Run | None = None
    #: what else of it passed then, and does not now
    broken: frozenset[str] = frozenset()
    findings: Findings = field(default_factory=lambda: Findings(Evidence()))

    async def rejection(self) -> Rejection | None:
        """None: the claim holds."""
        for stage in STAGES:
            if rejection := await stage(self):
                return rejection
        return None

    @property
    def passed(self) -> int:
        return sum(run.passed for run in self.runs)

    @property
    def counted(self) -> str:
        return f"passed {self.passed} of {len(self.runs)}"

    @property
    def doubts(self) -> tuple[str, ...]:
        """What policy asks and no run answers, then what runs ask."""
        found = (*standing(self.doubted, self.findings.settled), *self.findings.doubts)
        return tuple(dict.fromkeys(clean(each, MAX_DOUBT) for each in found))

    @property
    def evidence(self) -> Evidence:
        together = None if self.after is None else _all_passed(self.after, self.job.test)
        alone = self.passes_alone if self.is_shared else bool(self.runs) and self.passed == len(self.runs)
        return replace(self.findings.evidence, runs=len(self.trial.runs), alone=alone, together=together)


async def _runs(hearing: Hearing) -> Rejection | None:
    """In some cases it may have been skipped: whether that is new is for the facts to say."""
    batch, job = hearing.batch, hearing.job
    times = batch.cases_of(job.number)
    hearing.runs = [await hearing.trial.run(job.test, times=times) for _ in range(batch.profile.verify_runs)]
    held = sum(run.held for run in hearing.runs)
    if not held:
        return Rejection("unverified", hearing.runs[0].why_not)
    return Rejection("flaky", hearing.counted) if held < len(hearing.runs) else None


async def _file(hearing: Hearing) -> Rejection | None:
    """What else of its file passed at the base, and does not pass now, in either of two runs."""
    batch, test = hearing.batch, hearing.job.test
    hearing.before = await hearing.baselines.run(batch, test)
    before = hearing.before.cases if hearing.before else {}
    own = cases_of(before, function_of(test))
    broken = {each for each, case in before.items() if case.result == "passed" and each not in own}
    for _ in range(2):
        if not broken:
            break
        file = await hearing.trial.run(file_of(test), times=tests_in(batch, test))
        if file.session is None:
            return Rejection("unverified", f"it breaks its file: {file.why_not}")
        hearing.after = hearing.after or file
        broken = {each for each in broken if each not in file.cases or file.cases[each].result != "passed"}
    hearing.broken = frozenset(broken)
    return None


async def _facts(hearing: Hearing) -> Rejection | None:
    """What is certain comes first: it may say why the rest is broken."""
    if found := certain(hearing.job.test, hearing.before, hearing.runs, hearing.after):
        return Rejection("refused", "; ".join(dict.fromkeys(found[:3])))
    if skipped := [run for run in hearing.runs if not run.passed]:
        return Rejection("unverified", skipped[0].why_not)
    named = ", ".join(sorted(each.partition("::")[2] for each in hearing.broken)[:3])
    return Rejection("unverified", f"it breaks {named}") if named else None


async def _questions(hearing: Hearing) -> Rejection | None:
    if not hearing.batch.profile.evidence_factor:
        return None
    batch, job = hearing.batch, hearing.job
    claim = Claim(batch, job, hearing.trial, hearing.bare, tuple(file.path for file in hearing.work.files))
    is_doubted = any(each.settled_by == "strength" for each in hearing.doubted)
    hearing.findings = await ask_all(claim, hearing.runs, hearing.before, hearing.after, is_doubted=is_doubted)
    return Rejection("refused", hearing.findings.refusal) if hearing.findings.refusal else None


STAGES: tuple[Callable[[Hearing], Awaitable[Rejection | None]], ...] = (_runs, _file, _facts, _questions)


def _all_passed(run: Run, test: str) -> bool:
    found = cases_of(run.cases, test)
    return bool(found) and all(case.result == "passed" for case in found.values())
