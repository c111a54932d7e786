"""What is done so far, asked of a played integrator: what it is told, and what becomes of its answer."""

from dataclasses import dataclass, field
from typing import Any

from supervisor.daemon.perform import LONGEST_RETRY_SECONDS, Performer
from supervisor.errors import GitFailed
from supervisor.flow.batches import unmerged
from supervisor.flow.requests import decide
from supervisor.model import event as ev
from supervisor.model import request as rq
from supervisor.model.batch import Batch, BatchState
from supervisor.model.effect import Collect, Effect, Integrate, IntegrateSoFar, Launch, Verify
from supervisor.model.job import JobState
from supervisor.model.ledger import Fate, LedgerRow
from supervisor.model.partial import SoFar
from supervisor.model.profile import Profile
from supervisor.ports import Integration
from tests.flow.world import World


@dataclass
class Integrating:
    """The `Integrator` port: merges all that it is given, or fails as it was told to."""

    troubles: list[Exception] = field(default_factory=list)
    asked: list[tuple[Batch, int]] = field(default_factory=list)

    async def integrate(self, batch: Batch, number: int) -> Integration:
        self.asked.append((batch, number))
        if self.troubles:
            raise self.troubles.pop(0)
        merged = {job: LedgerRow(Fate.MERGED, "", row.commits) for job, row in unmerged(batch).items() if row.commits}
        branch = f"supervisor/b-{number}" if number > 1 else "supervisor/b"
        return Integration({**unmerged(batch), **merged}, branch, f"http://forge/{number}", "5e1f", ("slow",))


class Stage:
    """Three agents with an integrator's judgement at the end; one job is over, and what is done is wanted."""

    def __init__(self) -> None:
        self.world = World(local=3).submit(tests=3, profile=Profile(integrator=True)).do(Launch)
        self.world.publish(1).do(Collect, Verify)
        self.integrator = Integrating()
        nothing: Any = None
        self.performer = Performer(
            agents=nothing,
            orders=nothing,
            collector=nothing,
            judge=nothing,
            integrator=self.integrator,
            reviser=nothing,
            logs=nothing,
            clearing=nothing,
            tell=nothing,
            state=nothing,
            clock=lambda: self.world.now,
        )
        self.world.happens(*decide(self.world.state, rq.IntegrateSoFar("b", author="ann"), self.world.now))

    async def perform(self) -> ev.Event:
        """As the daemon does it; a bug is told as a failure."""
        asked: list[Effect] = [*self.world.pending(IntegrateSoFar), *self.world.pending(Integrate)]
        [effect] = asked
        doing = self.performer.doing(self.world.state, effect)
        assert doing is not None
        try:
            came = await doing()
        except Exception as bug:
            came = self.performer.failed(effect, str(bug))
        assert came is not None
        self.world.answer(effect, came)
        return came


async def test_the_integrator_sees_what_is_over_and_asks_no_agent() -> None:
    stage = Stage()
    came = await stage.perform()
    [(seen, number)] = stage.integrator.asked
    assert (number, seen.count(JobState.DONE), seen.count(JobState.QUEUED)) == (1, 1, 2)
    assert not seen.profile.integrator
    assert isinstance(came, ev.PartialEnded)
    assert (came.merged, came.left) == (1, 2)
    expected = SoFar(1, 1, 1, "supervisor/b", "5e1f", "http://forge/1", ("slow",))
    assert stage.world.batch().integrations.so_far == expected
    assert stage.world.batch().state is BatchState.RUNNING


async def test_a_failure_is_tried_again_under_the_same_number_and_so_is_a_bug() -> None:
    stage = Stage()
    stage.integrator.troubles = [GitFailed("the disk is full"), ValueError("a bug")]
    for why in ("the disk is full", "a bug"):
        failed = await stage.perform()
        assert isinstance(failed, ev.PartialFailed)
        assert (failed.detail, failed.retry_at) == (why, stage.world.now + LONGEST_RETRY_SECONDS)
        stage.world.wait(LONGEST_RETRY_SECONDS)
    assert isinstance(await stage.perform(), ev.PartialEnded)
    assert [number for _, number in stage.integrator.asked] == [1, 1, 1]


async def test_at_the_end_everything_is_integrated_once_more_with_judgement() -> None:
    stage = Stage()
    await stage.perform()
    for job in (2, 3):
        stage.world.publish(job)
    stage.world.do(Collect, Verify)
    last = await stage.perform()
    assert isinstance(last, ev.IntegrationEnded)
    assert (last.branch, {row.fate for row in last.ledger.values()}, len(last.ledger)) == (
        "supervisor/b-2",
        {Fate.MERGED},
        3,
    )
    assert stage.integrator.asked[-1][0].profile.integrator
