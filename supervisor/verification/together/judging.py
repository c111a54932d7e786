"""Settles several claims by common runs, where these show the same as each claim's own runs would.

    compose    one tree of all their work
    base       their files run once at the base, unless they already have
    divide     their files run once in the tree, while it is noted what each test reaches; claims whose tests notice
               the work of others get a view of the checkout without it (`views`)
    hear       each claim has its hearing, with a share of the runs

A claim is settled if its hearing verifies it and leaves nothing in doubt. A suspect, whose own runs failed or left
doubts, then has runs of its own, in a view that is its commit. If a run settled no claim, all are put back, in groups
of half the size. Where a setup rules out views, suspects are put back to be verified alone, and claims that meet
others to be in a group without them.
"""

import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from dataclasses import replace
from functools import cache
from pathlib import Path

import anyio

from supervisor.errors import DeviceFailed
from supervisor.model.batch import Batch
from supervisor.model.job import Job
from supervisor.model.node import file_of, function_of
from supervisor.model.verdict import Verdict
from supervisor.ports import PutBack, Sitting
from supervisor.threads import in_thread, surely
from supervisor.verification.baselines import Baselines
from supervisor.verification.evidence.inquiry import times_for
from supervisor.verification.hearing import Hearing
from supervisor.verification.together.composing import NoTree, compose
from supervisor.verification.together.lanes import Apart, Lanes
from supervisor.verification.together.meeting import Standing
from supervisor.verification.together.parts import part
from supervisor.verification.together.sharing import Pace, Rounds, Share, Unsound
from supervisor.verification.together.tree import Claimed
from supervisor.verification.together.views import Dividing, Group
from supervisor.verification.together.watching import Watching
from supervisor.verification.trials.asking import AnyTrials, Checkout, Place, Unready
from supervisor.verification.verdicts import failed, rejected, verified

#: one claim in so many, drawn at random, also runs alone: this exposes work that detects a common run
AUDITED = 8
MASKED = "its test failed at the base, and beside the work of others it passes without its own"


class CommonRuns:
    def __init__(
        self,
        batch: Batch,
        bare: Path,
        trials: AnyTrials,
        baselines: Baselines,
        *,
        keep_log: Callable[[Batch, Job, Place], None],
        alone: Callable[[Claimed, Place], Awaitable[Verdict]],
        sitting: Sitting,
    ) -> None:
        # Once in each order: a test that needs what another test leaves behind fails in one of them.
        runs = max(2, batch.profile.verify_runs)
        self._batch = replace(batch, profile=replace(batch.profile, verify_runs=runs))
        self._bare = bare
        self._trials, self._baselines = trials, baselines
        self._keep_log, self._judge_alone = keep_log, alone
        self._settled: dict[int, Verdict | PutBack] = {}
        self._sitting = sitting

    async def settle(self, claims: Sequence[Claimed]) -> dict[int, Verdict | PutBack]:
        try:
            if len(claims) > 1:
                await self._baselines.run_together(self._batch, [each.test for each in claims])
                await self._in_one_checkout(claims)
            self._put_back(claims, PutBack("nobody is left to share a run with"))
        except (NoTree, Unsound, Unready) as unsettled:
            left = [each for each in claims if each.number not in self._settled]
            self._put_back(left, PutBack(str(unsettled), max(1, len(left) // 2)))
        return self._settled

    async def _in_one_checkout(self, claims: Sequence[Claimed]) -> None:
        heads = {each.number: each.job.brought.head for each in claims}
        composed = await in_thread(compose, self._bare, self._batch.base, heads)
        async with self._trials.trial(self._batch, composed.sha, "") as trial:
            is_here = not self._trials.pool_of(self._batch)
            lanes = Lanes(self._sitting.width)
            watching = Watching(self._batch, trial, self._baselines, lanes, is_here=is_here)
            dividing = Dividing(self._batch, self._bare, trial, watching, claims)
            await dividing.divide(composed)
            await self._heard(dividing, trial, lanes, {each.number: each for each in claims})

    async def _heard(self, dividing: Dividing, trial: Checkout, lanes: Lanes, claims: Mapping[int, Claimed]) -> None:
        async with anyio.create_task_group() as hearings:

            def alone(claim: Claimed, why: PutBack) -> None:
                hearings.start_soon(self._alone, claim, why, trial, lanes)

            for number, why in dividing.put_back.items():
                alone(claims[number], why)
            rounds = Rounds(trial, self._pace(dividing.groups), lanes)
            rounds.join(sum(len(group.claims) for group in dividing.groups))
            for group in dividing.groups:
                for each in group.claims:
                    hearings.start_soon(self._hear, each, group, rounds, alone)

    def _pace(self, groups: Sequence[Group]) -> Pace:
        watched = [group.watched for group in groups]
        each = max((found.seconds / max(1, found.tests) for found in watched), default=0.0)
        longest = times_for(self._batch, max((found.seconds for found in watched), default=0.0))
        limit = self._batch.profile.test_timeout_seconds
        return Pace(longest, spare_times=times_for(self._batch, 0.0), each=each, test_seconds=limit)

    async def _hear(
        self, claim: Claimed, group: Group, rounds: Rounds, alone: Callable[[Claimed, PutBack], None]
    ) -> None:
        tree, file = group.tree, file_of(claim.test)
        share = Share(rounds, Standing(group.view, cache(tree.reached), tree.common, group.watched.is_traced))
        # Questions about its commit are answered by its view.
        job = replace(claim.job, brought=replace(claim.job.brought, head=tree.sha))
        hearing = Hearing(
            self._batch,
            job,
            claim.work,
            self._bare,
            share,
            self._baselines,
            is_shared=True,
            watched=part(group.watched.runs[file], (file,), len(group.claims)),
            doubted=claim.doubts,
        )
        try:
            try:
                said = await _settled(hearing, share, tree.tests)
            finally:
                await surely(self._keep_log, self._batch, claim.job, share)
            # From now on it may be verified again, which writes its log anew.
            if isinstance(said, PutBack):
                alone(claim, said)
            else:
                self._settle(job.number, said)
        finally:
            await rounds.leave()

    async def _alone(self, claim: Claimed, why: PutBack, trial: Checkout, lanes: Lanes) -> None:
        """A suspect has runs of its own, in the checkout of its group if that can be laid as its commit."""
        said: Verdict | PutBack = why
        if why.most == 1 and trial.can_lay:
            try:
                view = await trial.view(claim.job.brought.head)
                said = await self._judge_alone(claim, Apart(trial, view, lanes))
            except Unready as unready:
                said = rejected(claim.job, "unverified", str(unready))
            except DeviceFailed as failed:
                said = PutBack(failed.message)
        self._settle(claim.number, said)

    def _put_back(self, claims: Sequence[Claimed], why: PutBack) -> None:
        for each in claims:
            if each.number not in self._settled:
                self._settle(each.number, why)

    def _settle(self, job: int, said: Verdict | PutBack) -> None:
        self._settled[job] = said
        self._sitting.tell(job, said)


async def _settled(hearing: Hearing, share: Share, tests: Set[str]) -> Verdict | PutBack:
    """If only tests of the claims in the group are broken, another claim may be the cause."""
    try:
        rejection = await hearing.rejection()
    except Unsound as unsettled:
        return PutBack(str(unsettled), max(1, unsettled.claims // 2))
    except (Unready, DeviceFailed) as trouble:
        return PutBack(str(trouble))
    if rejection is not None:
        is_others = bool(hearing.broken) and {function_of(each) for each in hearing.broken} <= tests
        return PutBack(rejection.reason, max(1, len(tests) // 2) if is_others else 1)
    if hearing.raised:
        return PutBack(f"in doubt: {hearing.raised[0]}")
    # Work that no test was seen to reach may still mend the tests of other claims.
    if hearing.findings.fails_without is False and failed(hearing.before, hearing.job.test):
        return PutBack(MASKED)
    if secrets.randbelow(AUDITED) == 0:
        alone = await share.run_alone(hearing.job.test, hearing.batch.cases_of(hearing.job.number))
        if not alone.passed:
            return PutBack(f"it passes together with others, and not alone: {alone.why_not}")
        hearing.passes_alone = True
    return verified(hearing)
