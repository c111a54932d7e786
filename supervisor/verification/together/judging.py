"""Settles several claims by common runs, where these show the same as each claim's own runs would.

    compose    one tree of all their work
    base       their files run once at the base, unless they already have
    watch      their files run once in the tree, while it is noted what each test reaches; where claims meet, tests
               whose programs take no notes run again, while the kernel tells their files. Claims are put back until
               no test reaches lines that another claim changes; if a claim that is left noticed their work, the rest
               is composed anew
    hear       each claim has its hearing, with a share of the runs

A claim is settled if its hearing verifies it and leaves nothing in doubt. All others are put back: alone, if their
own runs failed or left doubts; in a group of half the size, if a run settled no claim; in a group without the claims
that they meet.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path

import anyio

from supervisor.errors import DeviceFailed
from supervisor.model.batch import Batch
from supervisor.model.job import Job
from supervisor.model.node import file_of, function_of
from supervisor.model.verdict import Verdict
from supervisor.ports import PutBack, Tell
from supervisor.threads import in_thread, surely
from supervisor.verification.baselines import Baselines, tests_in
from supervisor.verification.evidence.inquiry import telling, times_for
from supervisor.verification.evidence.seen import MOST_BYTES, is_whole
from supervisor.verification.hearing import Hearing
from supervisor.verification.together.combining import Standing
from supervisor.verification.together.composing import NoTree, compose
from supervisor.verification.together.parts import GOING_ON, unsound
from supervisor.verification.together.reaching import ALL, Reached, known, read_notes
from supervisor.verification.together.sharing import Rounds, Share, Unsound
from supervisor.verification.together.tree import Claimed, Tree
from supervisor.verification.tracing.traced import NOTHING
from supervisor.verification.trials.asking import AnyTrials, Place, Unready
from supervisor.verification.trials.runs import Instruments, Run
from supervisor.verification.verdicts import failed, verified

#: at most so many trees are composed
MOST_TREES = 3
#: one claim in so many, drawn at random, also runs alone: this exposes work that detects a common run
AUDITED = 8
_WATCHING = Instruments(plugins=telling(), args=GOING_ON)
MASKED = "its test failed at the base, and beside the work of others it passes without its own"
MEETS = "its test and the work of others meet"
CONFLICTS = "its work conflicts with that of others"


class CommonRuns:
    def __init__(
        self,
        batch: Batch,
        bare: Path,
        trials: AnyTrials,
        baselines: Baselines,
        keep_log: Callable[[Batch, Job, Place], None],
        *,
        tell: Tell | None = None,
    ) -> None:
        # Once in each order: a test that needs what another test leaves behind fails in one of them.
        runs = max(2, batch.profile.verify_runs)
        self._batch = replace(batch, profile=replace(batch.profile, verify_runs=runs))
        self._bare = bare
        self._trials, self._baselines, self._keep_log = trials, baselines, keep_log
        self._settled: dict[int, Verdict | PutBack] = {}
        self._tell = tell

    async def settle(self, claims: Sequence[Claimed]) -> dict[int, Verdict | PutBack]:
        left = list(claims)
        try:
            await self._baselines.run_together(self._batch, [each.job.test for each in left])
            for _ in range(MOST_TREES):
                if len(left) < 2:
                    break
                await self._in_one_tree(left)
                left = [each for each in left if each.job.number not in self._settled]
            self._put_back(left, PutBack("nobody is left to share a run with"))
        except (NoTree, Unsound, Unready) as unsettled:
            left = [each for each in left if each.job.number not in self._settled]
            self._put_back(left, PutBack(str(unsettled), max(1, len(left) // 2)))
        return self._settled

    async def _in_one_tree(self, claims: Sequence[Claimed]) -> None:
        """Settles at least one of them, or raises."""
        heads = {each.job.number: each.job.brought.head for each in claims}
        composed = await in_thread(compose, self._bare, self._batch.base, heads)
        async with self._trials.trial(self._batch, composed.sha, "") as trial:
            watched = await self._watched(trial, claims)
            notes = await in_thread(read_notes, watched.folder / "plugins")
            tree = await in_thread(Tree, self._bare, self._batch.base, composed, claims, notes)
            clearer = await self._told(trial, notes, watched) if tree.entangled() else notes
            if traces := clearer is not notes:
                tree = await in_thread(Tree, self._bare, self._batch.base, composed, claims, clearer)
            missing, entangled = tree.missing(), tree.entangled()
            self._put_back(_of(claims, missing), PutBack(CONFLICTS, len(claims)))
            for each in _of(claims, entangled):
                self._put_back([each], PutBack(MEETS, self._batch.profile.verify_group, tree.meets(each.job.number)))
            broken = watched.report.unread_files
            unread = {each.job.number for each in claims if file_of(each.job.test) in broken}
            self._put_back(_of(claims, unread), PutBack("its file can't be collected"))
            gone = missing | entangled | unread
            left = [each for each in claims if each.job.number not in gone]
            if len(left) > 1 and tree.is_free_of([each.job.number for each in left], gone):
                await self._heard(left, tree, Rounds(trial, times_for(self._batch, watched.seconds), traces=traces))

    async def _told(self, trial: Place, notes: Mapping[str, Reached], watched: Run) -> Mapping[str, Reached]:
        """Tests that start programs without notes could notice everything, so these run once more, while the kernel
        tells the files. That takes twice the time."""
        opaque = [test for test, each in notes.items() if test != ALL and each.is_opaque and each.is_seen]
        if not opaque or self._trials.pool_of(self._batch):
            return notes
        times = times_for(self._batch, 2 * watched.seconds)
        run = await trial.run(*opaque, times=times, instruments=replace(_WATCHING, traces=True))
        if unsound(run, opaque) or not await in_thread(is_whole, run.folder / "plugins", MOST_BYTES):
            return notes
        told = known(await in_thread(read_notes, run.folder / "plugins"), run.ended.traced or NOTHING)
        found = {test: replace(notes.get(test, each) | each, is_opaque=each.is_opaque) for test, each in told.items()}
        return {**notes, **found}

    async def _watched(self, trial: Place, claims: Sequence[Claimed]) -> Run:
        files = {file_of(each.job.test): each.job.test for each in claims}
        usual = 0.0
        for test in files.values():
            before = await self._baselines.run(self._batch, test)
            usual += before.seconds if before is not None else self._batch.profile.test_timeout_seconds
        times = min(1 + times_for(self._batch, usual), sum(tests_in(self._batch, test) for test in files.values()))
        run = await trial.run(*files, times=times, instruments=_WATCHING)
        if why := unsound(run, list(files)):
            raise Unsound(why, len(claims))
        if not await in_thread(is_whole, run.folder / "plugins", MOST_BYTES):
            raise Unsound("not all is known that their tests did", len(claims))
        return run

    async def _heard(self, claims: Sequence[Claimed], tree: Tree, rounds: Rounds) -> None:
        rounds.join(len(claims))
        async with anyio.create_task_group() as hearings:
            for each in claims:
                hearings.start_soon(self._hear, each, tree, rounds)

    async def _hear(self, claim: Claimed, tree: Tree, rounds: Rounds) -> None:
        share = Share(rounds, Standing(tree.reached(claim.job.number), tree.common, tree.now))
        # Questions about its commit are answered by the common tree.
        job = replace(claim.job, brought=replace(claim.job.brought, head=tree.sha))
        hearing = Hearing(
            self._batch, job, claim.work, self._bare, share, self._baselines, is_shared=True, doubted=claim.doubts
        )
        try:
            try:
                said = await _settled(hearing, share, tree.tests)
            finally:
                await surely(self._keep_log, self._batch, claim.job, share)
            # From now on it may be verified again, which writes its log anew.
            self._settle(job.number, said)
        finally:
            await rounds.leave()

    def _put_back(self, claims: Sequence[Claimed], why: PutBack) -> None:
        for each in claims:
            self._settle(each.job.number, why)

    def _settle(self, job: int, said: Verdict | PutBack) -> None:
        self._settled[job] = said
        if self._tell is not None:
            self._tell(job, said)


def _of(claims: Sequence[Claimed], numbers: Set[int]) -> list[Claimed]:
    return [each for each in claims if each.job.number in numbers]


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
