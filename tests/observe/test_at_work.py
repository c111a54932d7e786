"""How many agents of a batch are at work, as `status` shows it."""

from supervisor.model.effect import Collect, Launch, Release, Verify
from supervisor.observe.snapshot import summary
from tests.flow.test_judgement import judged
from tests.flow.world import World


def at_work(world: World) -> int:
    count = summary(world.state.batches["b"])["at_work"]
    assert isinstance(count, int)
    return count


def test_what_the_daemon_does_after_an_agent_is_no_agent_at_work() -> None:
    world = World(local=3).submit(tests=4)
    assert at_work(world) == 3, "those that are being launched hold a slot"
    world.do(Launch).publish(1)
    assert at_work(world) == 2, "one is being collected"
    world.do(Collect)
    assert at_work(world) == 3, "its slot went to the fourth"
    world.do(Verify, Release)
    assert at_work(world) == 3


def test_the_integrator_is_an_agent_too() -> None:
    world = judged()
    assert at_work(world) == 1
    world.do(Launch)
    assert at_work(world) == 1
