"""People are answered: by what happens, by nothing to do, or by a refusal that says what to do instead."""

from dataclasses import replace

import pytest

from supervisor.errors import NoSuchThing, Refused
from supervisor.flow.requests import decide
from supervisor.model import event as ev
from supervisor.model import request as rq
from supervisor.model.effect import Collect, Launch, Release, Verify
from supervisor.model.event import PoolSpec
from supervisor.model.profile import Profile
from tests.flow.world import World, numbered

LOCAL = PoolSpec("local", "local", 1)


def kinds(world: World, request: rq.Request) -> list[str]:
    return [event.kind for event in decide(world.state, request, world.now)]


def submission(batch: str = "b", tests: int = 1, **profile: object) -> rq.Submit:
    return rq.Submit(batch, "/repo", "base", numbered(tests), Profile(**profile))  # type: ignore[arg-type]


def test_a_submission_is_taken_once() -> None:
    world = World(LOCAL)
    world.happens(*decide(world.state, submission(), world.now))
    assert kinds(world, submission()) == []
    with pytest.raises(Refused, match="already"):
        decide(world.state, submission(tests=2), world.now)


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        (submission(tests=0), "no test"),
        (submission(pools=("moon",)), "moon"),
        (submission(pools=()), "not configured"),
    ],
)
def test_a_submission_that_could_never_run_is_refused(request_: rq.Submit, why: str) -> None:
    with pytest.raises(Refused, match=why) as refused:
        decide(World(LOCAL).state, request_, 0.0)
    assert refused.value.hint


@pytest.mark.parametrize(
    "request_",
    [rq.Cancel("x"), rq.Cancel("b", 2), rq.Retry("b", 9), rq.Pause("x"), rq.Resume("x"), rq.SetSlots("moon", 1)],
)
def test_what_does_not_exist_is_said_to_be_so(request_: rq.Request) -> None:
    with pytest.raises(NoSuchThing) as refused:
        decide(World(LOCAL).submit().state, request_, 0.0)
    assert refused.value.hint


def test_asking_for_what_is_so_already_changes_nothing() -> None:
    world = World(LOCAL, verify_slots=1).submit().cancel(1)
    assert kinds(world, rq.SetSlots("local", 1)) == []
    assert kinds(world, rq.Configure((LOCAL,))) == []
    assert kinds(world, rq.Resume()) == kinds(world, rq.Resume("b")) == []
    assert kinds(world, rq.Cancel("b", 1)) == []
    world.happens(ev.QueuePaused(world.now), ev.BatchPaused(world.now, "b"))
    assert kinds(world, rq.Pause()) == kinds(world, rq.Pause("b")) == []


def test_slots_changed_by_hand_survive_a_restart_with_the_same_configuration() -> None:
    world = World(LOCAL, verify_slots=1).happens(ev.SlotsChanged(0.0, "local", 7)).restart()
    assert kinds(world, rq.Configure((LOCAL,))) == []
    assert world.pool().slots == 7
    assert kinds(world, rq.Configure((replace(LOCAL, slots=3),))) == ["pools-configured"]


def test_there_are_no_negative_slots() -> None:
    with pytest.raises(Refused, match="fewer than 0"):
        decide(World(LOCAL).state, rq.SetSlots("local", -1), 0.0)


def test_cancelling_a_batch_cancels_every_job_that_something_happened_to() -> None:
    """Those that wait untouched are cancelled with it; what is over or has published stays what it is."""
    world = World(local=3).submit(tests=5).do(Launch).publish(1).do(Collect, Verify).publish(2)
    assert [event.kind for event in decide(world.state, rq.Cancel("b"), world.now)] == [
        *("job-cancelled", "job-cancelled"),
        "batch-cancelled",
    ]


def test_retrying_a_batch_retries_what_did_not_end_well() -> None:
    world = World(local=3).submit(tests=3, profile=Profile(retries=0)).do(Launch)
    world.publish(1).vanish(2).do(Collect, Verify, Release)
    assert [event.job for event in decide(world.state, rq.Retry("b"), 0.0) if isinstance(event, ev.JobEvent)] == [2]
    assert kinds(world, rq.Retry("b", 1)) == ["job-retried"]  # a person may insist
    assert kinds(world, rq.Retry("b", 3)) == []  # it is at work


def test_a_batch_that_is_cancelled_is_not_cancelled_again_nor_retried() -> None:
    world = World(local=1).submit().do(Launch)
    world.happens(*decide(world.state, rq.Cancel("b"), world.now))
    assert kinds(world, rq.Cancel("b")) == []
    with pytest.raises(Refused, match="cancelled"):
        decide(world.state, rq.Retry("b"), world.now)
