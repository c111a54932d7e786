"""`plan` says what is due: it forgets nothing, asks for nothing twice, and comes to rest."""

from functools import reduce

from supervisor.flow import history
from supervisor.flow.plan import next_at, plan
from supervisor.model import event as ev
from supervisor.model.effect import Collect, Effect, Launch, Note, Release, Verify
from supervisor.model.profile import Profile
from tests.flow.world import NOON, World, replayed


def test_what_has_begun_is_not_due_any_more() -> None:
    world = World(local=1).submit().do(Launch).publish()
    assert len(world.pending(Collect)) == 1
    assert plan(world.state, world.now) == []


def test_what_was_not_begun_is_still_due() -> None:
    """An effect is only forgotten once its beginning is applied: `plan` itself changes nothing."""
    world = World(local=1)
    world.record(ev.BatchSubmitted(NOON, "b", "/repo", "base", ("test",), Profile()))
    assert plan(world.state, NOON) == plan(world.state, NOON) != []


def test_what_is_due_together_can_begin_together() -> None:
    """After a long sleep much is due at once; what begins for one job does not undo another's."""
    world = World(local=3).submit(tests=3, profile=Profile(job_timeout_seconds=60)).do(Launch)
    world.happens(ev.WorkPublished(world.now, "b", 1, 1))
    world.now += 3600
    due = plan(world.state, world.now)
    assert len(due) == 2
    assert reduce(history.apply, (effect.began for effect in due), world.state) != world.state


def test_one_job_gets_one_effect_at_a_time() -> None:
    """The verdict is in, but its verification is due again after a restart: only one of the two can begin."""
    world = World(local=1).submit(tests=2).do(Launch).publish(1).do(Collect)
    world.record(ev.DaemonStarted(world.now))
    subjects = [subject(effect) for effect in plan(world.state, world.now)]
    assert len(subjects) == len(set(subjects))


def subject(effect: Effect) -> tuple[str, int]:
    assert isinstance(effect.began, ev.JobEvent)
    return effect.began.batch, effect.began.job


def test_it_says_when_to_ask_again() -> None:
    world = World(local=1).submit(profile=Profile(job_timeout_seconds=60))
    assert next_at(world.state, world.now) is None
    assert next_at(world.do(Launch).state, world.now) == NOON + 60


def test_the_order_of_answers_makes_no_difference_to_the_end() -> None:
    first = World(local=2).submit(tests=2).do(Launch).publish(1).publish(2).do(Collect, Verify, Release)
    second = World(local=2).submit(tests=2).do(Launch).publish(2).publish(1).do(Collect, Release, Verify)
    assert [job.outcome for job in first.batch().jobs()] == [job.outcome for job in second.batch().jobs()]


def test_the_journal_alone_tells_the_state() -> None:
    world = World(local=2).submit(tests=5).do(Launch).publish(1).vanish(2).do(Collect).fail(Release).restart()
    assert replayed(world.events) == world.state


def test_what_is_only_written_down_needs_no_device() -> None:
    world = World(local=1).submit().do(Launch, Collect, Verify, Release)
    assert not world.pending(Note)
