"""`status` says when a provider's rate is what jobs wait for."""

from typing import Any

from supervisor.cli.looking import _queue_text
from supervisor.flow import rates
from supervisor.model import event as ev
from supervisor.model.effect import Launch, Release
from supervisor.model.profile import Profile
from supervisor.observe.snapshot import queue
from tests.flow.world import World

SLOW = ev.PoolSpec("cloud", "modal", 9, agents_per_host=1, launch_rate=0.05)


def seen(world: World) -> dict[str, Any]:
    pool: dict[str, Any] = queue(world.state, world.now)["pools"][0]
    return pool


def test_a_rate_that_holds_launches_back_is_one_sentence() -> None:
    world = World(SLOW).submit(tests=3, profile=Profile(pools=("cloud",)))
    pool = seen(world)
    assert pool["launch_rate"] == 0.05
    assert pool["held_back"] == "jobs wait for modal, which is asked for 3 new hosts a minute"
    assert pool["held_back"] in _queue_text(queue(world.state, world.now))


def test_and_so_is_one_that_was_lowered() -> None:
    world = World(ev.PoolSpec("ssh", "pool", 9, hosts=("left",), launch_rate=4.0))
    world.submit(tests=3, profile=Profile(pools=("ssh",))).fail(Launch, rates.REFUSED).do(Release)
    said = "jobs wait for pool, which is asked for 2 new agents a second, because it refused some for their rate"
    assert seen(world)["held_back"] == said


def test_it_is_not_said_of_what_waits_for_slots_or_does_not_wait() -> None:
    full = World(ev.PoolSpec("cloud", "modal", 1, agents_per_host=1, launch_rate=0.05))
    assert seen(full.submit(tests=3, profile=Profile(pools=("cloud",))))["held_back"] is None
    asked = World(ev.PoolSpec("ssh", "pool", 9, hosts=("left",), launch_rate=40.0))
    asked.submit(tests=9, profile=Profile(pools=("ssh",))).wait(1)
    assert seen(asked)["held_back"] == "jobs wait for new agents that pool is making"
    idle = World(SLOW).submit(tests=1, profile=Profile(pools=("cloud",)))
    assert seen(idle)["held_back"] is None
    assert seen(World(local=2).submit(tests=9))["launch_rate"] is None
