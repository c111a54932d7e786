"""The check of an integrator's branch: its word is taken for nothing, and in doubt the machine's branch stands."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from supervisor.adapters.git.picking import Integrated
from supervisor.adapters.git.store import GitStore
from supervisor.adapters.integrating.gathering import read_report
from supervisor.adapters.integrating.proving import Candidate, Prover
from supervisor.adapters.judging.inspecting import Question, inspect
from supervisor.adapters.judging.running import environment
from supervisor.adapters.judging.works import read_work
from supervisor.adapters.layout import Layout
from supervisor.flow.integration.bringing import must_pass
from supervisor.flow.integration.checking import BranchCommit, objections
from supervisor.flow.integration.ledger import ChangeRow, job_rows
from supervisor.flow.integration.taking import given_up, holders, qualifying, retaken
from supervisor.flow.integration.work import Work
from supervisor.flow.policy import Allowed, may_edit
from supervisor.model.attempt import AttemptKey
from supervisor.model.batch import Batch
from supervisor.model.job import INTEGRATOR
from supervisor.model.ledger import LedgerRow

MOST_NAMED = 3
#: what tests share may be changed by an integrator, and by nobody else
SHARED = "conftest.py"


@dataclass(frozen=True, slots=True)
class Taken:
    """The branch that stands."""

    head: str
    jobs: dict[int, LedgerRow]
    problems: tuple[str, ...] = ()


class IntegratorsCheck:
    def __init__(self, store: GitStore, layout: Layout, prover: Prover) -> None:
        self._store, self._layout, self._prover = store, layout, prover

    async def taken(self, batch: Batch, works: Sequence[Work], done: Integrated) -> Taken:
        stands = Taken(done.head, done.jobs)
        job = batch.integrator
        if job is None:
            return stands
        if not (job.claim and job.head):
            why = f"the integrator's agent made no branch: {job.outcome}: {job.detail}"
            return Taken(done.head, done.jobs, () if job.claim else (why,))
        commits = await self._store.branch(Path(batch.repo), batch.base, job.head)
        report = await asyncio.to_thread(read_report, self._layout, AttemptKey(batch.id, INTEGRATOR, job.attempts))
        failed = given_up(report.extra) if report else {}
        if found := await self._objections(batch, done, commits, failed):
            return Taken(done.head, done.jobs, (f"the integrator's branch is not taken: {_named(found)}",))
        return await self._proved(batch, works, done, commits, failed)

    async def _objections(
        self, batch: Batch, done: Integrated, commits: Sequence[BranchCommit], failed: Mapping[str, str]
    ) -> list[str]:
        """To its shape and its accounts; and, where there are none, to what it does to the machine's branch: an
        integrator may weaken no test either."""
        denied = tuple(path for path in batch.profile.deny_paths if path != SHARED)
        allowed = Allowed(batch.profile.allow_paths, denied)
        found = objections(
            batch.base, commits, qualifying(done.changes), failed, lambda path: may_edit(path, allowed)
        )
        if found or not commits:
            return [f"{each.reason}: {each.detail}" for each in found]
        own = await asyncio.to_thread(read_work, self._store.bare(Path(batch.repo)), done.head, commits[-1].sha, 0)
        home = self._layout.state_dir
        question = Question(own.files, "", allowed, tuple(commit.kind for commit in own.commits))
        return [str(breach) for breach in await inspect(question, environment(home, home, {}))]

    async def _proved(
        self,
        batch: Batch,
        works: Sequence[Work],
        done: Integrated,
        commits: Sequence[BranchCommit],
        failed: dict[str, str],
    ) -> Taken:
        """What it has in common with the machine's branch is proved already; of the rest, what breaks a test goes."""
        repo = Path(batch.repo)
        common = _common(done.commits, commits)
        onto, own = (commits[common - 1].sha if common else batch.base), commits[common:]
        by_sha = {commit.sha: commit for commit in own}

        def rows(made: dict[str, str]) -> tuple[ChangeRow, ...]:
            before = {commit.sha: commit.sha for commit in commits[:common]}
            return retaken(done.changes, holders(commits, before | made), failed)

        async def made_of(shas: Sequence[str]) -> Candidate:
            replayed = await self._store.replay(repo, onto, shas)
            return Candidate(replayed.head, _tests(batch, rows(replayed.made), shas))

        out = await self._prover.left_out(batch, list(by_sha), made_of)
        replayed = await self._store.replay(repo, onto, [sha for sha in by_sha if sha not in out])
        lost = {sha: out.get(sha, "it can't be picked without what was left out") for sha in by_sha}
        lost = {sha: why for sha, why in lost.items() if sha not in replayed.made}
        failed = failed | {change: why for sha, why in lost.items() for change in by_sha[sha].changes}
        problems = [
            f"of the integrator's commits, {_subject(by_sha[sha])} is left out: {why}" for sha, why in lost.items()
        ]
        return Taken(replayed.head, job_rows(works, rows(replayed.made)), tuple(problems))


def _tests(batch: Batch, rows: Sequence[ChangeRow], own: Collection[str]) -> Collection[str]:
    """On what was proved before, there is nothing to ask."""
    return must_pass(batch, rows) if own else ()


def _common(machine: Sequence[str], commits: Sequence[BranchCommit]) -> int:
    pairs = zip(machine, commits, strict=False)
    return next((n for n, (sha, commit) in enumerate(pairs) if sha != commit.sha), min(len(machine), len(commits)))


def _subject(commit: BranchCommit) -> str:
    return " ".join(commit.message.partition("\n")[0].split())[:100] or commit.sha


def _named(found: Sequence[str]) -> str:
    return "; ".join(found[:MOST_NAMED]) + (
        f" (and {len(found) - MOST_NAMED} more)" if len(found) > MOST_NAMED else ""
    )
