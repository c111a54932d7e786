"""What is said of agents that sleep while their account is paused, and of those that were put away."""

from supervisor.model import event as ev
from supervisor.model.effect import Collect, Launch, Release, Verify
from tests.flow.world import World
from tests.observe.why.test_words import said


def asleep(context: int) -> World:
    """It has used 20,000 tokens, as has each of three jobs that are over, and sleeps for eight minutes."""
    world = World(local=4).submit(tests=4).do(Launch)
    for job in (1, 2, 3, 4):
        told = context if job == 4 else 1
        world.happens(ev.UsageCounted(world.now, "b", job, 1, input=20_000, model="opus", context=told))
    for job in (1, 2, 3):
        world.publish(job).do(Collect, Verify, Release)
    hindered = ev.AgentHindered(world.now, "b", 4, 1, problem="window", until=world.now + 480, since=world.now)
    return world.happens(hindered, ev.AgentFellQuiet(world.now, "b", 4, 1, since=world.now, waits=True))


def test_a_sleeping_agent_says_what_waking_it_costs() -> None:
    text = said(asleep(8000), "b.4")
    assert "It sleeps since 12:00 UTC (0 s), because its account is paused." in text
    assert "and told to go on unless starting its job again costs less: waking it up sends 8,000 tokens again" in text
    assert "at a cost of 10,000 new tokens; starting its job again costs about 20,000 new tokens." in text


def test_who_was_put_away_asleep_says_what_waking_it_would_have_cost_and_what_becomes_of_its_work() -> None:
    world = asleep(40_000)
    assert "at a cost of 50,000 new tokens; starting its job again costs about 20,000" in said(world, "b.4")
    [collect] = world.pending(Collect)
    world.answer(collect, ev.WorkRescued(world.now, "b", 4, 1, head="c0de", commits=1)).do(Release)
    assert "50,000 new tokens" in said(world, "b.4")
    assert "Its next agent begins with what attempt 1 left." in said(world, "b.4")
    assert "works, with what attempt 1 left, in the pool local" in said(world.wait(600).do(Launch), "b.4")
