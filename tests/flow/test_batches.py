"""The life of a batch, and its ledger, which always adds up."""

from contextlib import suppress
from functools import reduce

from supervisor.errors import Refused
from supervisor.flow import history
from supervisor.flow.requests import decide
from supervisor.model import event as ev
from supervisor.model import request as rq
from supervisor.model.batch import BatchState
from supervisor.model.effect import Collect, Integrate, Launch, Release, Verify
from supervisor.model.job import JobState
from supervisor.model.ledger import Fate, LedgerRow
from supervisor.model.profile import Profile
from tests.flow.world import RETRY_SECONDS, World


def integrating(tests: int = 1) -> World:
    world = World(local=tests).submit(tests=tests).do(Launch)
    for job in range(1, tests + 1):
        world.publish(job)
    return world.do(Collect, Verify)


def cancelled(world: World) -> World:
    return world.happens(*decide(world.state, rq.Cancel("b"), world.now))


def test_a_batch_is_queued_runs_is_integrated_and_leaves_memory() -> None:
    world = World(local=0).submit()
    assert world.batch().state is BatchState.QUEUED
    world.happens(ev.SlotsChanged(world.now, "local", 1))
    assert world.batch().state is BatchState.RUNNING
    world.do(Launch).publish().do(Collect, Verify)
    assert world.batch().state is BatchState.INTEGRATING
    world.do(Integrate)
    assert world.batch().state is BatchState.FINISHED
    assert world.batch().result.branch == "supervisor/b"
    assert not world.do(Release).state.batches
    assert world.state.agenda.next_at is None


def test_a_failed_integration_is_resumed_and_is_still_the_same_one() -> None:
    world = integrating()
    for _ in range(3):
        world.fail(Integrate).wait(RETRY_SECONDS)
    world.restart().do(Integrate)
    assert world.batch().state is BatchState.FINISHED
    assert len(world.told(ev.IntegrationStarted)) == 1
    assert {event.number for event in world.told(ev.IntegrationResumed)} == {1}


def test_a_late_failure_does_not_undo_an_integration() -> None:
    world = integrating().fail(Integrate)
    done = ev.IntegrationEnded(world.now, "b", 1, {1: LedgerRow(Fate.MERGED)}, "supervisor/b")
    world.record(done)
    assert world.refuses(ev.IntegrationFailed(world.now, "b", 1, "late", world.now))
    assert world.refuses(done)
    world.wait(RETRY_SECONDS)
    assert len(world.told(ev.IntegrationResumed)) == 0


def test_a_ledger_that_does_not_add_up_is_refused() -> None:
    world = integrating(tests=2)
    assert world.refuses(ev.IntegrationEnded(world.now, "b", 1, {1: LedgerRow(Fate.MERGED)}))


def test_once_it_is_integrated_nothing_is_worked_on_again() -> None:
    world = integrating()
    assert world.refuses(ev.JobRetried(world.now, "b", 1))
    assert world.refuses(ev.BatchCancelled(world.now, "b"))


def test_cancelling_a_batch_puts_all_its_agents_away_and_integrates_nothing() -> None:
    world = World(local=2).submit(tests=10).do(Launch)
    cancelled(world)
    assert world.batch().count(JobState.CANCELLED) == 8
    finished = world.do(Collect, Release).told(ev.BatchFinished)[0]
    assert [finished.ledger[number].fate for number in range(1, 11)] == [Fate.CANCELLED] * 10
    assert not world.told(ev.IntegrationStarted)
    assert not world.state.batches


def test_the_ledger_of_a_cancelled_batch_knows_of_all_work_that_was_brought_home() -> None:
    world = World(local=2).submit(tests=3).do(Launch).publish(1).do(Collect, Verify)
    ledger = cancelled(world).do(Launch, Collect, Release).told(ev.BatchFinished)[0].ledger
    assert ledger[1] == LedgerRow(Fate.RESCUED, "kept under refs/supervisor/b/1/1", ("c0de",))
    assert [ledger[number].fate for number in (2, 3)] == [Fate.CANCELLED] * 2


def test_what_has_published_is_still_collected_from_a_cancelled_batch() -> None:
    world = World(local=1).submit(tests=2).do(Launch).publish(1)
    assert [event.kind for event in decide(world.state, rq.Cancel("b"), world.now)] == ["batch-cancelled"]
    cancelled(world).do(Collect, Verify, Release)
    assert world.told(ev.BatchFinished)[0].ledger[1].fate is Fate.RESCUED


def test_a_batch_submitted_twice_is_there_once() -> None:
    world = World(local=1).submit()
    again = rq.Submit("b", "/repo", "base", world.batch().tests, Profile())
    assert decide(world.state, again, world.now) == []
    assert world.refuses(ev.BatchSubmitted(world.now, "b", "/repo", "base", ("other",)))


def test_no_request_leads_to_an_impossible_event() -> None:
    """Whatever the batch is at, people are answered: by what happens, by a refusal, or by nothing to do."""
    world = World(local=1).submit(tests=2)
    steering = (rq.Cancel("b"), rq.Cancel("b", 1), rq.Retry("b"), rq.Retry("b", 1), rq.Pause("b"))
    for step in ((Launch,), (Collect,), (Verify,), (Release,), (Integrate,)):
        for request in (*steering, rq.IntegrateSoFar("b")):
            answered(world, request)
        world.do(*step)


def answered(world: World, request: rq.Request) -> None:
    events: list[ev.Event] = []
    with suppress(Refused):
        events = decide(world.state, request, world.now)
    reduce(history.apply, events, world.state)
