"""Whatever the tables allow to happen, `why` has a cause for where it leads."""

from collections.abc import Callable, Iterable

import pytest

from supervisor.errors import ImpossibleTransition
from supervisor.flow import batches, history, lifecycle
from supervisor.model import event as ev
from supervisor.model.batch import BatchState
from supervisor.model.job import JobState
from supervisor.model.state import State
from supervisor.observe.why import Cause, explain
from tests.flow.world import World
from tests.observe.why.asking import check
from tests.observe.why.worlds import BATCHES, BEFALLS, HAPPENS, JOBS

C = Cause
HOLDS = {C.QUEUE_PAUSED, C.BATCH_PAUSED, C.BUDGET, C.PROVIDER_REFUSES, C.BREAKER, C.BROKEN_BASE, C.WINDOW}
HOLDS |= {C.BATCH_SLOTS, C.CANARIES, C.ACCOUNT}
POOLS = {C.POOL_GONE, C.POOL_CLOSED, C.POOL_RESTS, C.POOL_FULL, C.POOL_LINGERS, C.LAUNCH_RATE}

#: the causes of which at least one is named for a job in this state
OF_JOBS: dict[JobState, set[Cause]] = {
    JobState.QUEUED: {C.BACK_OFF, C.NEXT, *HOLDS, *POOLS},
    JobState.HELD: {C.SIBLING},
    JobState.LAUNCHING: {C.LAUNCHING},
    JobState.RUNNING: {C.WORKING},
    JobState.PARKED: {C.PARKED},
    JobState.COLLECTING: {C.COLLECTING, C.RESCUING, C.RELEASING, C.RETRYING, C.SETTLING},
    JobState.VERIFYING: {C.GATHERING, C.VERIFY_SLOTS, C.VERIFYING, C.SETTLING},
    JobState.DONE: {C.ENDED},
    JobState.CANCELLED: {C.CANCELLED},
}
OF_BATCHES: dict[BatchState, set[Cause]] = {
    BatchState.QUEUED: {C.NEXT, C.BACK_OFF, C.SETTLING, *HOLDS, *POOLS},
    BatchState.RUNNING: {*OF_JOBS[JobState.QUEUED], *OF_JOBS[JobState.COLLECTING], *OF_JOBS[JobState.VERIFYING]}
    | {C.JOBS_AT_WORK, C.PARTIAL},
    BatchState.INTEGRATING: {C.INTEGRATING, C.INTEGRATION_FAILED, C.JUDGEMENT, C.SETTLING},
    BatchState.FINISHED: {C.FINISHED},
    BatchState.CANCELLED: {C.CANCELLED},
}


def pairs[S, E](table: Iterable[tuple[S, Iterable[E]]]) -> list[tuple[S, E]]:
    return [(state, event) for state, events in table for event in events]


def led_to(made: Iterable[Callable[[], World]], event: Callable[[World], ev.Event]) -> list[tuple[World, State]]:
    """The worlds in which the event is possible, each with the state that it leads to."""
    found = []
    for make in made:
        world = make()
        try:
            found.append((world, history.apply(world.state, event(world))))
        except ImpossibleTransition:
            continue
    return found


def causes(state: State, subject: str, now: float) -> set[Cause]:
    return {reason.cause for reason in explain(state, subject, now).reasons}


@pytest.mark.parametrize(("state", "kind"), pairs((s, e) for s, e in lifecycle.TRANSITIONS.items()))
def test_a_job_has_a_cause_before_and_after_all_that_can_happen_to_it(state: JobState, kind: type[ev.Event]) -> None:
    worlds = led_to(JOBS[state], lambda world: HAPPENS[kind](world.now))
    assert worlds, "no world of this test lets it happen"
    for world, after in worlds:
        assert world.job().state is state
        assert causes(world.state, "b.1", world.now) & OF_JOBS[state]
        assert causes(after, "b.1", world.now) & OF_JOBS[after.batches["b"].job(1).state]
        check(after, world.now)


@pytest.mark.parametrize(("state", "kind"), pairs((s, e) for s, e in batches.TRANSITIONS.items()))
def test_and_so_has_a_batch(state: BatchState, kind: type[ev.Event]) -> None:
    worlds = led_to(BATCHES[state], BEFALLS[kind])
    assert worlds, "no world of this test lets it happen"
    for world, after in worlds:
        assert world.batch().state is state
        assert causes(world.state, "b", world.now) & OF_BATCHES[state]
        if "b" in after.batches:
            assert causes(after, "b", world.now) & OF_BATCHES[after.batches["b"].state]
        check(after, world.now)


@pytest.mark.parametrize("state", [*JobState])
def test_what_is_then_due_changes_nothing_about_that(state: JobState) -> None:
    for make in JOBS[state]:
        for kind in lifecycle.TRANSITIONS[state]:
            world = make()
            if not world.refuses(event := HAPPENS[kind](world.now)):
                check(world.happens(event).state, world.now)
                check(world.wait(3600).state, world.now)
