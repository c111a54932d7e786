"""The life of a job and of its agents, and that nothing but the tables moves them."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from supervisor.errors import ImpossibleTransition
from supervisor.flow import batches, history
from supervisor.flow.lifecycle import STAGES, TRANSITIONS, advance
from supervisor.flow.retention import CLEAR
from supervisor.model import event as ev
from supervisor.model.attempt import Stage
from supervisor.model.batch import BatchState
from supervisor.model.effect import Collect, Effect, Launch, Release, Verify
from supervisor.model.job import Ending, How, JobState
from supervisor.model.outcome import Outcome
from supervisor.model.profile import Profile
from supervisor.model.state import State
from tests.flow.world import NOON, World


def states(world: World, job: int = 1) -> list[JobState]:
    """All the states a job has gone through, without repeats."""
    seen = [JobState.QUEUED]
    state = State(installation="c0ffee")
    for event in world.events:
        state = history.apply(state, event)
        now = state.batches["b"].job(job).state if "b" in state.batches else seen[-1]
        seen += [now] if now is not seen[-1] else []
    return seen


def test_a_job_goes_from_the_queue_to_its_outcome() -> None:
    world = World(local=1).submit().do(Launch).publish().do(Collect, Verify, Release)
    assert states(world) == ["queued", "launching", "running", "collecting", "verifying", "done"]
    job = world.job()
    assert (job.outcome, job.attempts, job.brought.head, job.agent) == (Outcome.FIXED, 1, "c0de", "sv-b-1-1")
    assert world.run().told(ev.BatchSealed)


def test_each_step_is_dated() -> None:
    world = World(local=1).submit().wait(1).do(Launch).wait(1).publish().wait(1).do(Collect).wait(1).do(Verify)
    job = world.job()
    dates = (job.times.launched, job.times.published, job.times.collected, job.times.ended)
    assert dates == (NOON, NOON + 2, NOON + 3, NOON + 4)


def test_an_agent_that_dies_is_rescued_and_put_away_before_its_job_goes_again() -> None:
    world = World(local=4).submit().do(Launch).vanish()
    assert [effect.rescue for effect in world.pending(Collect)] == [True]
    world.do(Collect)
    assert len(world.told(ev.LaunchStarted)) == 1
    world.do(Release)
    assert len(world.told(ev.LaunchStarted)) == 2


def test_a_launch_that_made_nothing_goes_again_without_waiting_for_its_release() -> None:
    """Asking a provider that is down to put away an agent it never made may take its time."""
    world = World(first=1, second=1).submit(profile=Profile(pools=("first", "second"))).fail(Launch, "provider")
    assert [event.attempt for event in world.told(ev.LaunchStarted)] == [1, 2]
    assert len(world.pending(Release)) == 1


@pytest.mark.parametrize("reason", ["timeout", "killed", "garbage", "duplicate"])
def test_a_launch_that_may_have_made_an_agent_waits_until_it_is_put_away(reason: str) -> None:
    world = World(local=4).submit().fail(Launch, reason).wait(600)
    assert len(world.told(ev.LaunchStarted)) == 1
    world.do(Release).wait(60)
    assert len(world.told(ev.LaunchStarted)) == 2


def test_time_runs_out_from_the_launch_on() -> None:
    world = World(local=1).submit(profile=Profile(job_timeout_seconds=60)).wait(30).do(Launch).wait(59)
    assert world.job().state is JobState.RUNNING
    world.wait(1)
    assert world.job().ending == Ending(How.TIMED_OUT, "not done within 60 s")
    world.do(Collect, Release)
    assert world.job().outcome is Outcome.TIMED_OUT


def test_each_further_case_adds_the_time_of_a_test() -> None:
    profile = Profile(job_timeout_seconds=60, test_timeout_seconds=5)
    world = World(local=2).submit(tests=2, cases=(1, 4), profile=profile).do(Launch, Launch).wait(60)
    assert world.job(1).ending == Ending(How.TIMED_OUT, "not done within 60 s")
    assert world.job(2).state is JobState.RUNNING
    world.wait(15)
    assert world.job(2).ending == Ending(How.TIMED_OUT, "not done within 75 s")


def test_what_is_published_in_time_is_not_timed_out() -> None:
    world = World(local=1).submit(profile=Profile(job_timeout_seconds=60)).do(Launch).wait(59).publish()
    world.wait(600).do(Collect, Verify)
    assert world.job().outcome is Outcome.FIXED


# --- cancelling


def test_a_cancelled_agent_is_rescued_first() -> None:
    world = World(local=1).submit().do(Launch).cancel(1)
    assert [effect.rescue for effect in world.pending(Collect)] == [True]
    world.do(Collect, Release)
    assert (world.job().outcome, world.job().detail) == (Outcome.CANCELLED, "cancelled by ann")


def test_cancelled_while_it_is_launched_it_is_rescued_once_it_lives() -> None:
    world = World(local=1).submit().cancel(1)
    assert world.job().state is JobState.LAUNCHING
    world.do(Launch, Collect, Release)
    assert (world.job().outcome, world.job().detail) == (Outcome.CANCELLED, "cancelled by ann")


def test_what_publishes_before_its_cancellation_can_begin_is_collected() -> None:
    """The launch and the publication are told in one turn, before anything is planned."""
    world = World(local=1).submit().cancel(1)
    world.record(world.success(world.pending(Launch)[0]))
    world.publish().do(Collect, Verify)
    assert world.job().outcome is Outcome.FIXED


def test_cancelled_while_it_is_verified_it_ends_at_once() -> None:
    world = World(local=1).submit().do(Launch).publish().do(Collect).cancel(1)
    assert world.job().outcome is Outcome.CANCELLED
    assert world.refuses(ev.WorkVerified(world.now, "b", 1, 1, outcome="fixed"))


def test_what_has_published_can_not_be_cancelled() -> None:
    world = World(local=1).submit().do(Launch).publish()
    assert world.refuses(ev.JobCancelled(world.now, "b", 1))


@pytest.mark.parametrize(("batch", "job"), [("b", 0), ("b", -1), ("b", 3), ("nowhere", 1)])
def test_a_job_that_does_not_exist_can_not_be_cancelled(batch: str, job: int) -> None:
    world = World(local=1).submit(tests=2)
    assert world.refuses(ev.JobCancelled(world.now, batch, job))


def test_a_person_may_have_a_job_that_is_over_worked_on_again() -> None:
    world = World(local=0).submit(tests=2).cancel(1)
    world.happens(ev.SlotsChanged(world.now, "local", 1)).retry(1)
    assert world.job(1).outcome is None
    assert [event.job for event in world.told(ev.LaunchStarted)] == [2]
    world.do(Launch).publish(2).do(Collect)
    assert [event.job for event in world.told(ev.LaunchStarted)] == [2, 1]


# --- restarts


def test_a_restart_touches_no_agent() -> None:
    world = World(local=2).submit(tests=2).do(Launch)
    before = world.state
    assert world.restart().state.drop(CLEAR) == before  # beside it, what finished batches left is looked through


def test_an_agent_found_alive_after_a_restart_is_adopted() -> None:
    world = World(local=1).submit().restart()
    world.happens(ev.LaunchSucceeded(world.now, "b", 1, 1, host_id="h", adopted=True)).publish().do(Collect, Verify)
    assert (world.job().outcome, world.job().attempts) == (Outcome.FIXED, 1)


def test_an_agent_found_half_made_after_a_restart_is_rescued_and_its_job_goes_again() -> None:
    world = World(local=1).submit(profile=Profile(retries=0)).restart()
    world.happens(ev.LaunchInterrupted(world.now, "b", 1, 1, host_id="h")).do(Collect, Release)
    assert [event.attempt for event in world.told(ev.LaunchStarted)] == [1, 2]
    assert world.job().setbacks.retries == 0


def test_all_that_was_under_way_is_asked_again_after_a_restart() -> None:
    world = World(local=4).submit(tests=4).do(Launch).publish(1).publish(2).do(Collect).gather().publish(3)
    before = Counter(under_way(world))
    world.restart()
    assert before == Counter(under_way(world)) == {Collect: 1, Verify: 2, Release: 2}


def under_way(world: World) -> Iterator[type[Effect]]:
    """A verification counts once for each of its claims."""
    for effect in world.asked:
        yield from [type(effect)] * (len(effect.keys) if isinstance(effect, Verify) else 1)


# --- the tables


def reachable(start: object, table: object) -> set[object]:
    assert isinstance(table, dict)
    found, new = set[object](), {start}
    while new:
        found |= new
        new = {after for state in new for after in table.get(state, {}).values()} - found
    return found


def test_every_state_has_its_place_in_the_tables() -> None:
    assert set(TRANSITIONS) == set(JobState)
    assert set(STAGES) == set(Stage)
    assert set(batches.TRANSITIONS) == set(BatchState)


def test_every_state_can_be_reached() -> None:
    """Parked is to come: nothing waits for a human yet."""
    assert set(JobState) - reachable(JobState.QUEUED, TRANSITIONS) <= {JobState.PARKED}
    assert reachable(Stage.LAUNCHING, STAGES) == {*Stage, None}
    assert reachable(BatchState.QUEUED, batches.TRANSITIONS) == set(BatchState)


@pytest.mark.parametrize("state", list(JobState))
@pytest.mark.parametrize("kind", list(ev.KINDS.values()), ids=list(ev.KINDS))
def test_what_the_table_does_not_list_is_impossible(state: JobState, kind: type[ev.Event]) -> None:
    event = object.__new__(kind)
    if kind is ev.JobEnded:
        event = ev.JobEnded(NOON, "b", 1, outcome="lost")
    if kind in TRANSITIONS[state]:
        assert advance(state, event) is TRANSITIONS[state][kind]
    else:
        with pytest.raises(ImpossibleTransition):
            advance(state, event)


def test_every_event_is_applied_somewhere() -> None:
    assert set(history.APPLIED) == set(ev.KINDS.values())


def test_a_refused_event_leaves_no_trace() -> None:
    world = World(local=1).submit().do(Launch)
    before = replace(world.state)
    assert world.refuses(ev.AgentReleased(world.now, "b", 1, 1))
    assert world.state == before
