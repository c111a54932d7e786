"""Believes nothing that it has not seen.

    work      policy refuses ─► refused
              the test runs `verify_runs` times: none passes ─► unverified; some ─► flaky
              its file runs once: what passed at the base and fails now, twice ─► unverified
              the runs differ from the base's in what no honest work changes ─► refused
              the questions of `evidence`: one has a certain answer ─► refused
              else ─► verified, with what was shown, doubts, and the kinds that the diffs show
    clean     its file runs once at the base, for all jobs of the file; a test that fails there gets a run of its own

Verifications have slots of their own, so that they never take the machine from agents.
"""

from dataclasses import replace
from pathlib import Path

from anyio import CapacityLimiter

from supervisor.adapters.git.store import GitStore
from supervisor.adapters.layout import Layout
from supervisor.model.attempt import AttemptKey
from supervisor.model.batch import Batch
from supervisor.model.job import Job
from supervisor.model.node import cases_of
from supervisor.model.outcome import Outcome
from supervisor.model.verdict import Verdict, Verification
from supervisor.threads import in_thread, surely
from supervisor.verification.hearing import Baselines, Hearing
from supervisor.verification.inspecting import Objections, Question, objections
from supervisor.verification.rules.places import Allowed, kind_of
from supervisor.verification.trials.running import environment
from supervisor.verification.trials.runs import Run
from supervisor.verification.trials.trial import Trial, Trials, Unready
from supervisor.verification.works import Changes, read_work
from supervisor.verification.writers.writing import WritingJudge

#: claims of success: work under any other claim is not worth a run
SUCCESSES = (Outcome.FIXED, Outcome.IMPROVED, Outcome.CLEAN)


class ProvingJudge:
    def __init__(self, store: GitStore, layout: Layout, trials: Trials, slots: int) -> None:
        self._store, self._layout = store, layout
        self._trials = trials
        self._slots = CapacityLimiter(slots)
        self._baselines = Baselines(self._trials)
        self._writing = WritingJudge(store, layout, trials)

    async def verify(self, batch: Batch, job: Job) -> Verdict:
        if batch.role == "writer":
            async with self._slots:
                return await self._writing.verify(batch, job)
        if not batch.profile.verify_runs:
            return Verdict(
                job.brought.claim, _joined(job.detail, "not verified"), reason="verification is switched off"
            )
        if not job.brought.head and job.brought.claim != Outcome.CLEAN:
            return Verdict(job.brought.claim, job.detail, reason="there is no work to verify")
        async with self._slots:
            try:
                return await (self._work(batch, job) if job.brought.head else self._clean(batch, job))
            except Unready as unready:
                return _rejected(job, "unverified", str(unready))

    # --- work

    async def _work(self, batch: Batch, job: Job) -> Verdict:
        bare = self._store.bare(Path(batch.repo))
        work = await in_thread(read_work, bare, batch.base, job.brought.head, job.number, job.test)
        said = await self._said(batch, job, work)
        if said.breaches:
            return _rejected(job, "refused", said.refusal)
        if job.brought.claim not in SUCCESSES:
            return _rejected(job, "unverified", f"its agent calls it {job.brought.claim}")
        async with self._trials.trial(batch, job.brought.head, _name(batch, job)) as trial:
            hearing = Hearing(batch, job, work, bare, trial, self._baselines, said.doubts)
            try:
                rejection = await hearing.rejection()
            finally:
                await surely(self._keep_log, batch, job, trial)
        if rejection is None:
            return _verified(hearing)
        runs, passed = len(hearing.runs), hearing.passed
        verdict = _rejected(job, rejection.verification, rejection.reason, runs=runs, passed=passed)
        return replace(verdict, doubts=hearing.doubts, evidence=hearing.evidence)

    async def _said(self, batch: Batch, job: Job, work: Changes) -> Objections:
        """What policy says without a run."""
        allowed = Allowed(batch.profile.allow_paths, batch.profile.deny_paths)
        kinds = tuple(commit.kind for commit in work.commits)
        home = self._layout.state_dir
        question = Question(work.files, job.test, allowed, kinds, work.base)
        return await objections(question, environment(home, home, {}))

    # --- no work

    async def _clean(self, batch: Batch, job: Job) -> Verdict:
        before = await self._baselines.run(batch, job.test)
        if _failed(before, job.test) is False:
            return Verdict(job.brought.claim, job.detail, "verified", "passed 1 of 1", 1, 1, failed_before=False)
        async with self._trials.trial(batch, batch.base, _name(batch, job)) as trial:
            run = await trial.run(job.test, times=batch.cases_of(job.number))
            await surely(self._keep_log, batch, job, trial)
        # A test that is skipped, by its own word, was so before: nothing was done, and nothing is hidden.
        if run.passed or run.only_skipped:
            return Verdict(job.brought.claim, job.detail, "verified", "passed 1 of 1", 1, 1, failed_before=False)
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


def _rejected(job: Job, verification: Verification, reason: str, *, runs: int = 0, passed: int = 0) -> Verdict:
    """A claim of success did not hold; another claim stands, but its work does not count."""
    detail = f"{verification}: {reason}"
    if job.brought.claim not in SUCCESSES:
        return Verdict(job.brought.claim, job.detail, verification, reason, runs, passed)
    return Verdict(Outcome.FAILED, detail, verification, reason, runs, passed)


def _verified(hearing: Hearing) -> Verdict:
    job, before = hearing.job, hearing.before
    relabelled, notes = {}, []
    for commit in hearing.work.commits:
        if (kind := kind_of(commit.kind, commit.paths, job.test)) != commit.kind:
            relabelled[commit.sha] = kind
            notes.append(f"[{commit.kind or '?'}] {commit.sha[:10]} is {kind} by what it changes")
    return Verdict(
        job.brought.claim,
        _joined(job.detail, *notes),
        "verified",
        _joined(hearing.counted, *([] if before else ["the rest of its file was not run"]), *notes),
        runs=len(hearing.runs),
        passed=hearing.passed,
        failed_before=_failed(before, job.test),
        relabelled=relabelled,
        doubts=hearing.doubts,
        evidence=hearing.evidence,
    )


def _failed(before: Run | None, test: str) -> bool | None:
    """Whether the test failed there; None: unknown."""
    found = {case.result for case in cases_of(before.cases, test).values()} if before else set()
    return None if not found or "skipped" in found else "failed" in found


def _name(batch: Batch, job: Job) -> str:
    return f"{batch.id}-{job.number}-{job.attempts}"


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)
