"""A judge that also notes what the test of each verified claim reaches.

It does so for batches that select what has changed. The test runs once more, alone and watched; no verdict depends on
that run.
"""

import gzip
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
import structlog

from supervisor.adapters.git.store import GitStore
from supervisor.adapters.layout import Layout
from supervisor.errors import DeviceFailed
from supervisor.foresight.reach import Reached
from supervisor.model.attempt import AttemptKey
from supervisor.model.batch import Batch
from supervisor.model.job import Job
from supervisor.model.outcome import SUCCESSES
from supervisor.model.survey import Surveyed
from supervisor.model.verdict import Verdict
from supervisor.ports import QUIET, Judge, PutBack, Sitting
from supervisor.threads import in_thread
from supervisor.verification.evidence.inquiry import telling
from supervisor.verification.reached.commit import Commit, committed
from supervisor.verification.reached.tracing import traced
from supervisor.verification.tracing.traced import NOTHING, Traced
from supervisor.verification.trials.asking import PROBES, AnyTrials, Place, Unready
from supervisor.verification.trials.runs import Instruments, Run

log = structlog.get_logger()

FILE = "reached.json.gz"
#: a watched run may take so many times as long
SLOWER = 3.0
MOST_RUNS = 3


class NotingJudge:
    def __init__(self, judge: Judge, store: GitStore, layout: Layout, trials: AnyTrials) -> None:
        self._judge, self._store, self._layout, self._trials = judge, store, layout, trials

    async def verify(self, batch: Batch, job: Job, pool: str = "") -> Verdict:
        verdict = await self._judge.verify(batch, job, pool)
        await self._note(batch, job, verdict)
        return verdict

    async def verify_together(
        self, batch: Batch, jobs: Sequence[Job], pool: str = "", sitting: Sitting = QUIET
    ) -> Mapping[int, Verdict | PutBack]:
        verdicts = await self._judge.verify_together(batch, jobs, pool, sitting)
        for job in jobs:
            await self._note(batch, job, verdicts.get(job.number))
        return verdicts

    async def survey(self, batch: Batch, files: Sequence[str]) -> Surveyed:
        return await self._judge.survey(batch, files)

    async def _note(self, batch: Batch, job: Job, verdict: Verdict | PutBack | None) -> None:
        wanted = batch.profile.select == "changed" and batch.role == "tester"
        if not wanted or not isinstance(verdict, Verdict) or verdict.verification != "verified":
            return
        if verdict.outcome not in SUCCESSES:
            return
        try:
            reached = await self._watched(batch, job)
            await in_thread(keep, self._layout, AttemptKey(batch.id, job.number, job.attempts), reached)
        except (Unready, DeviceFailed, OSError) as failed:
            log.warning("can't note what a test reaches", batch=batch.id, job=job.number, why=str(failed))

    async def _watched(self, batch: Batch, job: Job) -> Reached:
        sha, name = job.brought.head or batch.base, f"{batch.id}-{job.number}-reached"
        async with self._trials.trial(batch, sha, name) as trial:
            times = SLOWER * batch.cases_of(job.number)
            run, files = await _run_watched(trial, job.test, times)
            if not run.held:
                log.info("a test fails while it is watched", batch=batch.id, job=job.number, why=run.why_not)
                return Reached(job.test, unknown="it fails while it is watched")
            bare = self._store.bare(Path(batch.repo))
            return await in_thread(lambda: traced(run.folder / PROBES, job.test, Commit(bare, sha), files))


async def _run_watched(trial: Place, test: str, times: float) -> tuple[Run, Traced]:
    """Runs the test again, `MOST_RUNS` times in all, if signals interrupted the tracing of its files."""
    instruments = Instruments(plugins=telling(), traces=True)
    run = await trial.run(test, times=times, instruments=instruments)
    for _ in range(MOST_RUNS - 1):
        if run.ended.traced is None or not run.ended.traced.interrupted:
            break
        run = await trial.run(test, times=times, instruments=instruments)
    return run, run.ended.traced or NOTHING


def keep(layout: Layout, key: AttemptKey, reached: Reached) -> None:
    """Stored with the rest of its attempt, and kept as long as that."""
    file = layout.attempt(key) / FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    fresh = file.with_suffix(".new")
    fresh.write_bytes(gzip.compress(msgspec.json.encode(reached), mtime=0))
    fresh.replace(file)


def kept(layout: Layout, key: AttemptKey) -> Reached | None:
    """None: nothing is kept, or it can't be read."""
    with suppress(OSError, EOFError, gzip.BadGzipFile, msgspec.MsgspecError):
        return msgspec.json.decode(gzip.decompress((layout.attempt(key) / FILE).read_bytes()), type=Reached)
    return None


class KnownCode:
    """What the selector asks for."""

    def __init__(self, layout: Layout) -> None:
        self._layout, self._store = layout, GitStore(layout.state_dir)

    def reached(self, key: AttemptKey) -> Reached | None:
        return kept(self._layout, key)

    async def code(self, repo: Path, rev: str) -> Commit:
        return await committed(self._store, repo, rev)
