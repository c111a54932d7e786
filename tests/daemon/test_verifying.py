"""Verifications as the shell performs them: groups, what they put back, and those that nobody waits for any more."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.lowlevel

from supervisor.daemon.perform import Performer
from supervisor.daemon.surveying import Surveys
from supervisor.errors import GitFailed
from supervisor.model import event as ev
from supervisor.model.attempt import AttemptKey
from supervisor.model.batch import Batch
from supervisor.model.effect import Abandon, Collect, Launch, LeaveBase, RunAtBase, Verify
from supervisor.model.job import Job
from supervisor.model.survey import Surveyed
from supervisor.model.verdict import Verdict
from supervisor.ports import QUIET, PutBack, Sitting
from supervisor.tasks import beside
from tests.flow.world import World


@dataclass
class Judging:
    """The `Judge` port: takes its time, or fails."""

    trouble: Exception | None = None
    has_begun: anyio.Event = field(default_factory=anyio.Event)
    may_end: anyio.Event = field(default_factory=anyio.Event)
    was_cancelled: bool = False
    #: of a group: what is told before the others are settled
    early: dict[int, Verdict | PutBack] = field(default_factory=dict)

    async def verify(self, batch: Batch, job: Job, pool: str = "") -> Verdict:
        self.has_begun.set()
        try:
            await self.may_end.wait()
        except anyio.get_cancelled_exc_class():
            self.was_cancelled = True
            raise
        if self.trouble is not None:
            raise self.trouble
        return Verdict("fixed", verification="verified")

    async def survey(self, batch: Batch, files: Sequence[str]) -> Surveyed:
        await self.verify(batch, batch.job(1))
        return Surveyed(green=len(files))

    async def verify_together(
        self, batch: Batch, jobs: Sequence[Job], pool: str = "", sitting: Sitting = QUIET
    ) -> Mapping[int, Verdict | PutBack]:
        for number, said in self.early.items():
            sitting.tell(number, said)
        verdicts = {job.number: await self.verify(batch, job) for job in jobs}
        return {**verdicts, jobs[-1].number: PutBack("red")}


WORLD = World(local=1).submit()
GROUP = RunAtBase(ev.SurveyStarted(0.0, "b", 1), "b", 1, ("tests/test_it.py",))


class Stage:
    """Three claims wait for the slot of a fourth."""

    def __init__(self, trouble: Exception | None = None) -> None:
        self.world = World(local=4, verify_slots=1).submit(tests=5).do(Launch).happens(ev.QueuePaused(0))
        for job in (1, 2, 3, 4):
            self.world.publish(job).do(Collect).gather()
        self.judge = Judging(trouble)
        others = ("agents", "orders", "collector", "integrator", "reviser", "logs", "clearing")
        nothing: dict[str, Any] = dict.fromkeys(others)
        clock, state = (lambda: self.world.now), (lambda: self.world.state)
        self.performer = Performer(judge=self.judge, tell=self.world.hear, clock=clock, state=state, **nothing)

    async def perform(self) -> ev.Event | None:
        """The verification that is asked for."""
        [effect] = self.world.pending(Verify)
        doing = self.performer.doing(self.world.state, effect)
        assert doing is not None
        came = await doing()
        if came is not None:
            self.world.answer(effect, came)
        return came


async def test_each_claim_of_a_group_has_its_own_event() -> None:
    stage = Stage()
    stage.judge.may_end.set()
    await stage.perform()
    await stage.perform()
    assert [event.job for event in stage.world.told(ev.WorkVerified)] == [1, 3, 2]
    assert [(event.job, event.most) for event in stage.world.told(ev.WorkPutBack)] == [(4, 1)]


async def test_a_group_whose_device_fails_is_tried_one_by_one() -> None:
    stage = Stage()
    stage.judge.may_end.set()
    await stage.perform()
    stage.judge.trouble = GitFailed("the disk is full")
    await stage.perform()
    assert {(event.job, event.most) for event in stage.world.told(ev.WorkPutBack)} == {(2, 1), (3, 1), (4, 1)}
    await stage.perform()
    [failed] = [event for event in stage.world.told(ev.WorkVerified) if event.job == 2]
    assert (failed.outcome, failed.reason) == ("failed", "the disk is full")


@asynccontextmanager
async def a_group_under_way(stage: Stage) -> AsyncIterator[None]:
    """Of jobs 2 to 4; it ends with this."""
    stage.judge.may_end.set()
    await stage.perform()
    stage.judge.may_end, stage.judge.has_begun = anyio.Event(), anyio.Event()
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stage.perform)
            await stage.judge.has_begun.wait()
            yield
            stage.judge.may_end.set()


async def test_what_is_settled_early_waits_for_nobody() -> None:
    """Job 3 is verified and over while the others of its group go on; 4 is put back and has another slot at once."""
    stage = Stage()
    stage.judge.early = {3: Verdict("fixed", verification="verified"), 4: PutBack("it meets others")}
    async with a_group_under_way(stage):
        stage.world.happens(ev.PoolsConfigured(stage.world.now, stage.world.state.configured, verify_slots=2))
        assert [event.job for event in stage.world.told(ev.WorkVerified)] == [1, 3]
        assert [[key.job for key in effect.keys] for effect in stage.world.pending(Verify)][-1] == [4]
    assert [event.job for event in stage.world.told(ev.WorkVerified)] == [1, 3, 2]
    assert [event.job for event in stage.world.told(ev.WorkPutBack)] == [4], "it is told once"


async def test_the_first_of_a_group_is_told_with_its_end() -> None:
    stage = Stage()
    stage.judge.early = {2: Verdict("fixed", verification="verified")}
    async with a_group_under_way(stage):
        assert [event.job for event in stage.world.told(ev.WorkVerified)] == [1]
    assert [event.job for event in stage.world.told(ev.WorkVerified)] == [1, 3, 2]


async def test_who_was_told_early_is_not_told_otherwise_by_a_device_that_fails() -> None:
    stage = Stage()
    stage.judge.early = {3: Verdict("fixed", verification="verified")}
    async with a_group_under_way(stage):
        stage.judge.trouble = GitFailed("the disk is full")
    assert {event.job for event in stage.world.told(ev.WorkPutBack)} == {2, 4}


async def test_a_verification_that_nobody_waits_for_ends_at_once() -> None:
    stage = Stage()
    came: list[ev.Event | None] = []

    async def perform() -> None:
        came.append(await stage.perform())

    with anyio.fail_after(10):
        async with beside() as tasks:
            tasks.start_soon(perform)
            await stage.judge.has_begun.wait()
            assert stage.performer.doing(stage.world.state, abandoned(1)) is None
            while not came:
                await anyio.lowlevel.checkpoint()
    assert came == [None]
    assert stage.judge.was_cancelled


async def test_what_has_ended_is_abandoned_in_silence() -> None:
    stage = Stage()
    assert stage.performer.doing(stage.world.state, abandoned(1)) is None


async def test_a_group_of_files_whose_run_fails_is_counted_as_not_run() -> None:
    """No claim is the worse for it: what it needs is run again for it."""
    judge = Judging(GitFailed("the disk is full"))
    judge.may_end.set()
    surveys = Surveys(judge, lambda: 0.0)
    doing = surveys.doing(WORLD.state, GROUP)
    assert doing is not None
    assert await doing() == ev.SurveyEnded(0.0, "b", 1, Surveyed(unrun=1))


async def test_a_group_of_files_that_nobody_needs_ends_at_once() -> None:
    judge = Judging()
    surveys, came = Surveys(judge, lambda: 0.0), list[ev.Event | None]()
    doing = surveys.doing(WORLD.state, GROUP)
    assert doing is not None

    async def perform() -> None:
        came.append(await doing())

    left = LeaveBase(ev.SurveyAbandoned(0.0, "b", 1), "b", 1)
    with anyio.fail_after(10):
        async with beside() as tasks:
            tasks.start_soon(perform)
            await judge.has_begun.wait()
            assert surveys.doing(WORLD.state, left) is None
            while not came:
                await anyio.lowlevel.checkpoint()
    assert came == [None]
    assert judge.was_cancelled
    assert surveys.doing(WORLD.state, left) is None, "again, in silence"


def abandoned(job: int) -> Abandon:
    key = AttemptKey("b", job, 1)
    return Abandon(ev.VerifyAbandoned(0, *key), key)
