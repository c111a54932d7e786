"""`status` says how many claims are verified, and how many wait for a slot."""

from supervisor.cli.looking import _queue_text, batch_text
from supervisor.model import event as ev
from supervisor.model.effect import Collect, Launch, Verify
from supervisor.model.profile import Profile
from supervisor.observe.claims import verifying
from supervisor.observe.snapshot import queue, status
from supervisor.observe.why import why
from tests.flow.world import World


def waiting() -> World:
    """Three claims wait for the slot of a fourth, and a job for an agent."""
    world = World(local=4, verify_slots=1).submit(tests=5).do(Launch).happens(ev.QueuePaused(0))
    for job in (1, 2, 3, 4):
        world.publish(job).do(Collect).gather()
    return world


def test_claims_that_wait_are_counted() -> None:
    world = waiting()
    data = queue(world.state, world.now)
    assert data["verify"] == {"slots": 1, "busy": 1, "claims": 1, "waiting": 3, "at_base": 0}
    assert data["pools"][0]["verify_slots"] == 1
    assert data["batches"][0]["verify"] == {"waiting": 3, "running": 1, "slots": 1}
    assert "claims: 1 in hand, 3 waiting for a slot" in _queue_text(data)


def test_a_batch_says_what_its_claims_wait_for() -> None:
    world = waiting()
    batch = status(world.state.batches["b"], world.now, verifying(world.state))["batch"]
    assert "claims: 1 in hand, 3 waiting for the verify slot" in batch_text(batch)


def test_where_nothing_is_verified_nothing_is_said() -> None:
    world = World(local=4).submit(tests=2).do(Launch)
    data = queue(world.state, world.now)
    assert "(verify)" not in _queue_text(data)
    assert "verify" not in batch_text(data["batches"][0])


def test_a_group_counts_its_claims() -> None:
    world = waiting().do(Verify)
    assert queue(world.state, world.now)["verify"] == {"slots": 1, "busy": 1, "claims": 3, "waiting": 0, "at_base": 0}


def test_a_remote_pool_has_slots_of_its_own() -> None:
    """Each place says what is in hand there and what waits."""
    far = ev.PoolSpec("far", "pool", 2, hosts=("left",))
    world = World(far, ev.PoolSpec("local", "local", 2), verify_slots=1)
    world.submit(tests=5, profile=Profile(pools=("far", "local"))).do(Launch).happens(ev.QueuePaused(0))
    for job in (1, 2, 3, 4):
        world.publish(job).do(Collect).gather()
    data = queue(world.state, world.now)
    pools = {pool["name"]: (pool["verify_slots"], pool["verify"]) for pool in data["pools"]}
    one = {"slots": 1, "busy": 1, "claims": 1, "waiting": 1, "at_base": 0}
    assert pools == {"far": (1, one), "local": (1, None)}
    assert data["verify"] == one
    text = _queue_text(data)
    assert [line.split()[:3] for line in text.splitlines() if "(verify)" in line] == [
        ["(verify)", "local", "1/1"],
        ["(verify)", "far", "1/1"],
    ]
    waits = "It waits for the verify slot of the pool far (1 of 1 in use), with no claim before it."
    assert waits in why(world.state, "b.2", world.now)


def test_one_that_waits_for_others_says_until_when() -> None:
    world = World(local=4).submit(tests=4).do(Launch).publish(1).do(Collect)
    said = why(world.state, "b.1", world.now)
    assert "It waits for claims of agents that are at work" in said
    assert "It waits for no others after 12:00 UTC (in 3 s)." in said
