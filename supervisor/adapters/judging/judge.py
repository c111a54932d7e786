"""Believes nothing that it has not seen: policy first, then clean runs of the test, then the rest of its file.

    work      policy refuses ─► refused
              the test runs `verify_runs` times in one checkout of the head: none passes ─► unverified; some ─► flaky
              its file runs once: what passed at the base and fails now, twice ─► unverified
              else ─► verified, with the kinds that the diffs show
    clean     its file runs once at the base, for all jobs of the file; a test that fails there gets a run of its own

Verifications have slots of their own, so that they never take the machine from agents.
"""

import asyncio
import os
from collections import OrderedDict, defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from supervisor.adapters.git.store import GitStore
from supervisor.adapters.judging.inspecting import Objections, Question, objections
from supervisor.adapters.judging.reports import Case, cases_of, function_of
from supervisor.adapters.judging.running import environment
from supervisor.adapters.judging.trial import Trial, Trials, Unready
from supervisor.adapters.judging.works import Changes, read_work
from supervisor.adapters.judging.writing import WritingJudge
from supervisor.adapters.layout import Layout
from supervisor.flow.doubts import standing
from supervisor.flow.policy import Allowed, kind_of
from supervisor.model.attempt import AttemptKey
from supervisor.model.batch import Batch
from supervisor.model.job import Job, Verification
from supervisor.model.outcome import Outcome
from supervisor.ports import Verdict

#: claims of success: work under any other claim is not worth a run
SUCCESSES = (Outcome.FIXED, Outcome.IMPROVED, Outcome.CLEAN)
type Results = Mapping[str, Case]

#: so many files' results at the base are remembered
MOST_BASELINES = 256


class ProvingJudge:
    def __init__(self, store: GitStore, layout: Layout, trials: Trials, slots: int) -> None:
        self._store, self._layout = store, layout
        self._trials = trials
        self._slots = asyncio.Semaphore(slots)
        self._baselines = Baselines(self._trials)
        self._writing = WritingJudge(store, layout, trials)

    async def verify(self, batch: Batch, job: Job) -> Verdict:
        if batch.role == "writer":
            async with self._slots:
                return await self._writing.verify(batch, job)
        if not batch.profile.verify_runs:
            return Verdict(job.claim, _joined(job.detail, "not verified"), reason="verification is switched off")
        if not job.head and job.claim != Outcome.CLEAN:
            return Verdict(job.claim, job.detail, reason="there is no work to verify")
        async with self._slots:
            try:
                return await (self._work(batch, job) if job.head else self._clean(batch, job))
            except Unready as unready:
                return _rejected(job, "unverified", str(unready))

    # --- work

    async def _work(self, batch: Batch, job: Job) -> Verdict:
        bare = self._store.bare(Path(batch.repo))
        work = await asyncio.to_thread(read_work, bare, batch.base, job.head, job.number, job.test)
        found = await self._objections(batch, job, work)
        if found.breaches:
            return _rejected(job, "refused", found.refusal)
        if job.claim not in SUCCESSES:
            return _rejected(job, "unverified", f"its agent calls it {job.claim}")
        async with self._trials.trial(batch, job.head, _name(batch, job)) as trial:
            try:
                verdict = await self._tried(batch, job, trial, work)
                return replace(verdict, doubts=(*verdict.doubts, *standing(found.doubts)))
            finally:
                await asyncio.to_thread(self._keep_log, batch, job, trial)

    async def _objections(self, batch: Batch, job: Job, work: Changes) -> Objections:
        allowed = Allowed(batch.profile.allow_paths, batch.profile.deny_paths)
        kinds = tuple(commit.kind for commit in work.commits)
        home = self._layout.state_dir
        question = Question(work.files, job.test, allowed, kinds, work.base)
        return await objections(question, environment(home, home, {}))

    async def _tried(self, batch: Batch, job: Job, trial: Trial, work: Changes) -> Verdict:
        cases = batch.cases_of(job.number)
        runs = [await trial.run(job.test, times=cases) for _ in range(batch.profile.verify_runs)]
        passed = sum(run.passed for run in runs)
        if not passed:
            return _rejected(job, "unverified", runs[0].why_not, runs=len(runs))
        counted = f"passed {passed} of {len(runs)}"
        if passed < len(runs):
            return _rejected(job, "flaky", counted, runs=len(runs), passed=passed)
        before = await self._baselines.results(batch, job.test)
        if broken := await self._broken(batch, job, trial, before):
            return _rejected(job, "unverified", f"it breaks {broken}", runs=len(runs), passed=passed)
        relabelled = {
            commit.sha: kind
            for commit in work.commits
            if (kind := kind_of(commit.kind, commit.paths, job.test)) != commit.kind
        }
        notes = [
            f"[{commit.kind or '?'}] {commit.sha[:10]} is {relabelled[commit.sha]} by what it changes"
            for commit in work.commits
            if commit.sha in relabelled
        ]
        return Verdict(
            job.claim,
            _joined(job.detail, *notes),
            "verified",
            _joined(counted, *([] if before else ["the rest of its file was not run"]), *notes),
            runs=len(runs),
            passed=passed,
            failed_before=_failed(before, job.test),
            relabelled=relabelled,
        )

    async def _broken(self, batch: Batch, job: Job, trial: Trial, before: Results | None) -> str:
        """Other tests of the file that passed at the base and don't pass now, in either of two runs."""
        own = cases_of(before or {}, function_of(job.test))
        broken = {each for each, case in (before or {}).items() if case.result == "passed" and each not in own}
        for _ in range(2):
            if not broken:
                break
            file = await trial.run(_file(job.test), times=_tests_in(batch, job.test))
            if file.session is None:
                return f"its file: {file.why_not}"
            broken = {each for each in broken if each not in file.cases or file.cases[each].result != "passed"}
        return ", ".join(sorted(each.partition("::")[2] for each in broken)[:3])

    # --- no work

    async def _clean(self, batch: Batch, job: Job) -> Verdict:
        before = await self._baselines.results(batch, job.test)
        if _failed(before, job.test) is False:
            return Verdict(job.claim, job.detail, "verified", "passed 1 of 1", 1, 1, failed_before=False)
        async with self._trials.trial(batch, batch.base, _name(batch, job)) as trial:
            run = await trial.run(job.test, times=batch.cases_of(job.number))
            await asyncio.to_thread(self._keep_log, batch, job, trial)
        # A test that is skipped, by its own word, was so before: nothing was done, and nothing is hidden.
        if run.passed or run.only_skipped:
            return Verdict(job.claim, job.detail, "verified", "passed 1 of 1", 1, 1, failed_before=False)
        return _rejected(job, "unverified", f"claims to pass and fails: {run.why_not}", runs=1)

    def _keep_log(self, batch: Batch, job: Job, trial: Trial) -> None:
        """For a person: what was run, and how each run ended."""
        folder = self._layout.attempt(AttemptKey(batch.id, job.number, job.attempts))
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "verification.log").write_text(trial.log)


async def opened_judge(store: GitStore, layout: Layout, slots: int) -> ProvingJudge:
    """With nothing left of what the last daemon had under way."""
    trials = Trials(store, layout.state_dir)
    await trials.forget()
    return ProvingJudge(store, layout, trials, slots)


class Baselines:
    """What each test of a file came to before the work; a file is run once for all jobs of its batch."""

    def __init__(self, trials: Trials) -> None:
        self._trials = trials
        self._known: OrderedDict[tuple[str, str], Results | None] = OrderedDict()
        self._running: defaultdict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)

    async def results(self, batch: Batch, test: str) -> Results | None:
        """None: the file can't be run."""
        key = (batch.id, _file(test))
        async with self._running[key]:
            if key not in self._known:
                self._known[key] = await self._run(batch, test)
        while len(self._known) > MOST_BASELINES:
            self._running.pop(self._known.popitem(last=False)[0], None)
        return self._known.get(key)

    async def _run(self, batch: Batch, test: str) -> Results | None:
        name = f"{batch.id}-base-{os.urandom(4).hex()}"
        try:
            async with self._trials.trial(batch, batch.base, name) as trial:
                ran = await trial.run(_file(test), times=_tests_in(batch, test))
                return ran.cases if ran.session else None
        except Unready:
            return None


def _rejected(job: Job, verification: Verification, reason: str, *, runs: int = 0, passed: int = 0) -> Verdict:
    """A claim of success did not hold; another claim stands, but its work does not count."""
    detail = f"{verification}: {reason}"
    if job.claim not in SUCCESSES:
        return Verdict(job.claim, job.detail, verification, reason, runs, passed)
    return Verdict(Outcome.FAILED, detail, verification, reason, runs, passed)


def _failed(before: Results | None, test: str) -> bool | None:
    """Whether the test failed there; None: unknown."""
    found = _cases(before or {}, test)
    return None if not found or "skipped" in found else "failed" in found


def _cases(results: Results, test: str) -> set[str]:
    return {case.result for case in cases_of(results, test).values()}


def _file(test: str) -> str:
    return test.partition("::")[0]


def _tests_in(batch: Batch, test: str) -> int:
    """How many cases of the file are in the batch: each may take the time of a test."""
    return batch.cases_in(each for each in batch.tests if _file(each) == _file(test)) or 1


def _name(batch: Batch, job: Job) -> str:
    return f"{batch.id}-{job.number}-{job.attempts}"


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)
