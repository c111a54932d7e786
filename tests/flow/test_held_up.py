"""For how long a batch was held up, by the limit that did it: the pauses of its accounts while it was there."""

from dataclasses import replace

import pytest

from supervisor.model import event as ev
from supervisor.model.batch import Batch
from supervisor.model.effect import Launch
from supervisor.model.profile import Profile
from supervisor.model.state import State
from tests.flow.world import World

HOUR = 3600.0


def paused(world: World, reason: str, hours: float, model: str = "") -> None:
    """The account can't be used for so long."""
    until = 0.0 if reason == "login" else world.now + hours * HOUR
    world.happens(ev.AccountPaused(world.now, "claude", reason, until, model))
    world.wait(hours * HOUR)
    if reason == "login":
        world.happens(ev.AccountOpened(world.now, "claude", reason, model))


def finished(world: World) -> Batch:
    """The batch as it was sealed."""
    sealed = list[Batch]()

    def watch(before: State, event: ev.Event) -> None:
        if isinstance(event, ev.BatchSealed):
            sealed.append(before.batches[event.batch])

    world.watchers.append(watch)
    world.run()
    [batch] = sealed
    return batch


@pytest.fixture
def world() -> World:
    """Its one account was paused for two hours, and is for another one when the batch is submitted."""
    world = World(local=1).submit("old").run("old")
    paused(world, "window", 2)
    world.happens(ev.AccountPaused(world.now, "claude", "window", world.now + 2 * HOUR))
    world.wait(HOUR)
    return world.submit("b", profile=Profile(retries=0, job_timeout_seconds=1e6))


def test_what_was_before_does_not_count(world: World) -> None:
    world.wait(HOUR).do(Launch)
    paused(world, "login", 3)
    assert dict(finished(world).held_up) == {"window": HOUR, "login": 3 * HOUR}


def test_a_pause_that_holds_at_the_end_counts_until_then(world: World) -> None:
    world.wait(HOUR).do(Launch)
    world.happens(ev.AccountPaused(world.now, "claude", "rate", world.now + 9 * HOUR))
    world.wait(0.5 * HOUR)
    assert dict(finished(world).held_up) == {"window": HOUR, "rate": 0.5 * HOUR}


def test_a_batch_of_another_account_is_not_held_up(world: World) -> None:
    other = replace(Profile(retries=0), agent="codex")
    world.submit("other", profile=other).run("other")
    world.wait(HOUR).do(Launch)
    assert dict(finished(world).held_up) == {"window": HOUR}
