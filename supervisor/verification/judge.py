"""Judges claims by what it has seen itself, not by what agents say.

    work      policy refuses ─► refused
              the test runs `verify_runs` times: none passes ─► unverified; some ─► flaky
              its file runs once: tests that passed at the base and fail now, in two runs ─► unverified
              the runs differ from the base's in something that no honest work changes ─► refused
              a question of `evidence` shows for certain that the claim is false ─► refused
              the test failed in its file or while watched, and fails in one of as many runs more ─► flaky
              otherwise ─► verified, with the evidence, the doubts, and the kinds that the diffs show
    borrowed  the test runs as often, with the work of a sibling: it passes each time ─► verified (`borrowing`)
    clean     its file runs once at the base, for all jobs of the file, and with the files of other claims that are
              verified now; a test that fails there gets a run of its own

If the survey has already run a file at the base, that run is used (`surveying`, `baselines`).

Common runs (`together`) may settle several claims at once. A claim that they leave uncertain is put back, and then
judged by its own runs, as here. `flow/verifying.py` decides how many claims are verified at a time, and which.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from supervisor.adapters.git.store import GitStore
from supervisor.adapters.layout import Layout
from supervisor.adapters.recordings.keeping import RecordingsOfAttempts
from supervisor.model.attempt import AttemptKey
from supervisor.model.batch import Batch
from supervisor.model.job import Job
from supervisor.model.outcome import SUCCESSES, Outcome
from supervisor.model.survey import Surveyed
from supervisor.model.verdict import Verdict
from supervisor.ports import QUIET, PutBack, Sitting
from supervisor.threads import in_thread, surely
from supervisor.verification import borrowing
from supervisor.verification.baselines import Baselines
from supervisor.verification.hearing import Hearing
from supervisor.verification.inspecting import Objections, Question, objections_to_all
from supervisor.verification.rules.places import Allowed
from supervisor.verification.surveying import survey
from supervisor.verification.together.judging import CommonRuns
from supervisor.verification.together.tree import Claimed
from supervisor.verification.trials.asking import AnyTrials, Place, Unready
from supervisor.verification.trials.running import environment
from supervisor.verification.trials.runs import Run
from supervisor.verification.trials.trial import Trials
from supervisor.verification.verdicts import failed, joined, rejected, verified
from supervisor.verification.works import Changes, read_work
from supervisor.verification.writers.writing import WritingJudge


class ProvingJudge:
    def __init__(self, store: GitStore, layout: Layout, trials: AnyTrials, pool: str = "") -> None:
        """`pool`: where the trials are; "": on this machine."""
        self._store, self._layout = store, layout
        self._trials = trials
        self._recordings = RecordingsOfAttempts(layout)
        self._baselines = Baselines(self._trials, layout, pool)
        self._writing = WritingJudge(store, layout, trials) if isinstance(trials, Trials) else None

    async def verify(self, batch: Batch, job: Job, pool: str = "") -> Verdict:
        """`pool` is not used: it is where this judge's trials are."""
        if batch.role == "writer":
            assert self._writing is not None, "a proposal is tried on this machine"
            return await self._writing.verify(batch, job)
        if not batch.profile.verify_runs:
            return Verdict(
                job.brought.claim, joined(job.detail, "not verified"), reason="verification is switched off"
            )
        if not job.is_on_trial and not job.brought.head and job.brought.claim != Outcome.CLEAN:
            return Verdict(job.brought.claim, job.detail, reason="there is no work to verify")
        try:
            if job.is_on_trial:
                return await self._borrowed(batch, job)
            return await (self._work(batch, job) if job.brought.head else self._clean(batch, job))
        except Unready as unready:
            return rejected(job, "unverified", str(unready))

    async def verify_together(
        self, batch: Batch, jobs: Sequence[Job], pool: str = "", sitting: Sitting = QUIET
    ) -> Mapping[int, Verdict | PutBack]:
        if jobs[0].is_on_trial:  # they borrow the same work
            return await self._borrowed_together(batch, jobs)
        verdicts = dict[int, Verdict | PutBack]()
        if clean := [job for job in jobs if not job.brought.head]:
            await self._baselines.run_together(batch, [job.test for job in jobs])
            for job in clean:
                verdicts[job.number] = await self.verify(batch, job)
                sitting.tell(job.number, verdicts[job.number])
            jobs = [job for job in jobs if job not in clean]
        return {**verdicts, **await self._works(batch, jobs, sitting)}

    async def _works(self, batch: Batch, jobs: Sequence[Job], sitting: Sitting) -> Mapping[int, Verdict | PutBack]:
        bare = self._store.bare(Path(batch.repo))
        claims, verdicts = [], dict[int, Verdict | PutBack]()
        works = [await in_thread(read_work, bare, batch.base, job.brought.head, job.number, job.test) for job in jobs]
        for job, work, said in zip(jobs, works, await self._said(batch, jobs, works), strict=True):
            if said.breaches:
                verdicts[job.number] = rejected(job, "refused", said.refusal)
            else:
                claims.append(Claimed(job, work, said.doubts))

        async def alone(claim: Claimed, trial: Place) -> Verdict:
            return await self._heard(batch, claim, bare, trial)

        common = CommonRuns(
            batch, bare, self._trials, self._baselines, keep_log=self._keep_log, alone=alone, sitting=sitting
        )
        return verdicts | await common.settle(claims)

    async def survey(self, batch: Batch, files: Sequence[str]) -> Surveyed:
        return await survey(self._baselines, batch, files)

    # --- work

    async def _work(self, batch: Batch, job: Job) -> Verdict:
        bare = self._store.bare(Path(batch.repo))
        work = await in_thread(read_work, bare, batch.base, job.brought.head, job.number, job.test)
        [said] = await self._said(batch, [job], [work])
        if said.breaches:
            return rejected(job, "refused", said.refusal)
        if job.brought.claim not in SUCCESSES:
            return rejected(job, "unverified", f"its agent calls it {job.brought.claim}")
        async with self._trials.trial(batch, job.brought.head, _name(batch, job)) as trial:
            return await self._heard(batch, Claimed(job, work, said.doubts), bare, trial)

    async def _heard(self, batch: Batch, claim: Claimed, bare: Path, trial: Place) -> Verdict:
        job = claim.job
        hearing = Hearing(batch, job, claim.work, bare, trial, self._baselines, doubted=claim.doubts)
        try:
            rejection = await hearing.rejection()
        finally:
            await surely(self._keep_log, batch, job, trial)
        if rejection is None:
            return verified(hearing)
        runs, passed = len(hearing.runs), hearing.passed
        verdict = rejected(job, rejection.verification, rejection.reason, runs=runs, passed=passed)
        return replace(verdict, doubts=hearing.doubts, evidence=hearing.evidence)

    async def _said(self, batch: Batch, jobs: Sequence[Job], works: Sequence[Changes]) -> list[Objections]:
        """What policy says without a run."""
        allowed = Allowed(batch.profile.allow_paths, batch.profile.deny_paths)
        home = self._layout.state_dir
        questions = [
            Question(work.files, job.test, allowed, tuple(commit.kind for commit in work.commits), work.base)
            for job, work in zip(jobs, works, strict=True)
        ]
        return await objections_to_all(questions, environment(home, home, {}))

    # --- the work of a sibling

    async def _borrowed(self, batch: Batch, job: Job) -> Verdict:
        assert job.borrowed is not None
        before = await self._baselines.run(batch, job.test)
        async with self._trials.trial(batch, job.borrowed.head, _name(batch, job)) as trial:
            verdict = await borrowing.tried(batch, job, trial, before)
            await surely(self._keep_log, batch, job, trial)
        return verdict

    async def _borrowed_together(self, batch: Batch, jobs: Sequence[Job]) -> Mapping[int, Verdict | PutBack]:
        """A job whose test does not pass in the common runs is put back, to run alone."""
        first = jobs[0]
        assert first.borrowed is not None
        try:
            before = {job.number: await self._baselines.run(batch, job.test) for job in jobs}
            async with self._trials.trial(batch, first.borrowed.head, _name(batch, first)) as trial:
                found = await borrowing.tried_together(batch, jobs, trial, before)
                for job in jobs:
                    await surely(self._keep_log, batch, job, trial)
        except Unready as unready:
            return {job.number: borrowing.rejected("unverified", str(unready)) for job in jobs}
        return {n: said if said.verification == "verified" else PutBack(said.reason) for n, said in found.items()}

    # --- no work

    async def _clean(self, batch: Batch, job: Job) -> Verdict:
        before = await self._before(batch, job)
        if failed(before, job.test) is False:
            return Verdict(job.brought.claim, job.detail, "verified", "passed 1 of 1", 1, 1, failed_before=False)
        async with self._trials.trial(batch, batch.base, _name(batch, job)) as trial:
            run = await trial.run(job.test, times=batch.cases_of(job.number))
            await surely(self._keep_log, batch, job, trial)
        # A test that skips itself did so before, too: there is no work, so nothing is hidden.
        if run.passed or run.only_skipped:
            return Verdict(job.brought.claim, job.detail, "verified", "passed 1 of 1", 1, 1, failed_before=False)
        return rejected(job, "unverified", f"claims to pass and fails: {run.why_not}", runs=1)

    async def _before(self, batch: Batch, job: Job) -> Run | None:
        """Its file's run at the base; None: it can't be run, or the profile has no survey and no run is known."""
        if batch.profile.survey != "none":
            return await self._baselines.run(batch, job.test)
        known = await self._baselines.known(batch, job.test)
        return known.run if known is not None else None

    def _keep_log(self, batch: Batch, job: Job, trial: Place) -> None:
        """Keeps for people what was run, how each run ended, and the recordings of the tests."""
        key = AttemptKey(batch.id, job.number, job.attempts)
        folder = self._layout.attempt(key)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "verification.log").write_text(trial.log)
        self._recordings.of_runs(key, job.test, [run.recorded for run in trial.runs])


async def opened_judge(store: GitStore, layout: Layout) -> ProvingJudge:
    """First removes the trials that the last daemon had under way."""
    trials = Trials(store, layout.state_dir)
    await trials.forget()
    return ProvingJudge(store, layout, trials)


def _name(batch: Batch, job: Job) -> str:
    return f"{batch.id}-{job.number}-{job.attempts}"
