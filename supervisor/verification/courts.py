"""Decides where a claim is judged: on this machine, or in the remote pool that the plan names.

The judge is the same; only its trials run elsewhere. So policy, evidence and the verdict are decided on this machine,
and code that was written in a remote pool is executed there. A branch with such work is proved in that pool.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from supervisor.adapters.git.store import GitStore
from supervisor.adapters.layout import Layout
from supervisor.flow.verifying import home_of, place_of
from supervisor.model.batch import Batch
from supervisor.model.job import Job
from supervisor.model.survey import Surveyed
from supervisor.model.verdict import Verdict
from supervisor.ports import QUIET, PutBack, Sitting
from supervisor.verification.judge import ProvingJudge
from supervisor.verification.remote.trials import RemoteTrials
from supervisor.verification.remote.verifiers import Verifiers
from supervisor.verification.trials.asking import AnyTrials, Checkout
from supervisor.verification.verdicts import rejected

WRITERS = (
    "what writers propose in a remote pool can't be tried there, and this machine executes it only where the profile"
    ' says so: verify_pools = ["local"]'
)


class Courts:
    def __init__(self, here: ProvingJudge, store: GitStore, layout: Layout, verifiers: Verifiers) -> None:
        self._store, self._layout, self._verifiers = store, layout, verifiers
        self._judges = {"": here}

    def _judge(self, pool: str) -> ProvingJudge:
        if pool not in self._judges:
            trials = RemoteTrials(self._store, self._layout.state_dir, self._verifiers, pool)
            self._judges[pool] = ProvingJudge(self._store, self._layout, trials, pool)
        return self._judges[pool]

    async def verify(self, batch: Batch, job: Job, pool: str = "") -> Verdict:
        if pool and batch.role == "writer":
            return rejected(job, "unverified", WRITERS)
        return await self._judge(pool).verify(batch, job)

    async def verify_together(
        self, batch: Batch, jobs: Sequence[Job], pool: str = "", sitting: Sitting = QUIET
    ) -> Mapping[int, Verdict | PutBack]:
        return await self._judge(pool).verify_together(batch, jobs, sitting=sitting)

    async def survey(self, batch: Batch, files: Sequence[str]) -> Surveyed:
        home = home_of(self._verifiers.state().pools, batch.profile)
        return await self._judge(home).survey(batch, files)


class BranchTrials:
    """Trials of a branch that is made of a batch's work."""

    def __init__(self, here: AnyTrials, store: GitStore, state_dir: Path, verifiers: Verifiers) -> None:
        self._here, self._store, self._state_dir, self._verifiers = here, store, state_dir, verifiers

    @asynccontextmanager
    async def trial(
        self, batch: Batch, sha: str, name: str, *, replaced: Mapping[str, bytes | None] | None = None
    ) -> AsyncIterator[Checkout]:
        pool = self.pool_of(batch)
        there = RemoteTrials(self._store, self._state_dir, self._verifiers, pool) if pool else self._here
        async with there.trial(batch, sha, name, replaced=replaced) as trial:
            yield trial

    def pool_of(self, batch: Batch) -> str:
        """The first remote pool in which some of its work is verified; "": all of it is verified on this machine."""
        pools = self._verifiers.state().pools
        made_in = sorted({job.pool for job in batch.touched.values() if job.brought.head})
        return next(filter(None, (place_of(pools, batch.profile, each) for each in made_in)), "")
