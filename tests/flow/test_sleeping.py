"""Agents that sleep through a pause: who is woken, in which order, and whose job starts again from what it left."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from supervisor.flow.governor import sleeping, waking
from supervisor.flow.governor.pauses import JITTER_SECONDS
from supervisor.model import event as ev
from supervisor.model.account import AccountSpec
from supervisor.model.attempt import AttemptKey
from supervisor.model.effect import Collect, Launch, Nudge, Release, Verify
from supervisor.model.hindrance import Hindrance
from supervisor.model.profile import Profile
from tests.flow.world import AMPLE, World, replayed

HOUR = 3600.0
#: what each of the jobs used that have come through: it costs as much as writing 80 % of it to a cache
USED = 100_000
LATE = max(JITTER_SECONDS.values()) + sleeping.WAKING_SECONDS
PATIENT = Profile(retries=0, job_timeout_seconds=4 * HOUR, stall_timeout_seconds=HOUR)
HEAD = "c0de"


def key(world: World, job: int) -> AttemptKey:
    return world.last_attempt(job).key


def counted(world: World, job: int, tokens: int, context: int) -> World:
    return world.happens(ev.UsageCounted(world.now, *key(world, job), input=tokens, context=context))


def at_work(
    jobs: int, *, profile: Profile = PATIENT, accounts: tuple[AccountSpec, ...] = AMPLE, slots: int = 0, done: int = 3
) -> World:
    """So many jobs have come through, and so many are at work after them."""
    world = World(local=slots or done + jobs).happens(ev.AccountsConfigured(0.0, accounts))
    world.submit(tests=done + jobs, profile=profile)
    for job in range(1, done + 1):
        counted(world.do(Launch), job, USED, USED // 2).publish(job)
        world.do(Collect, Verify, Release)
    return world.do(Launch)


def refused(world: World, job: int, seconds: float, problem: str = "window") -> World:
    """Its provider says no for so long, and it waits."""
    until = world.now + seconds
    hindered = ev.AgentHindered(world.now, *key(world, job), problem=problem, since=world.now, until=until)
    return world.happens(hindered, ev.AgentFellQuiet(world.now, *key(world, job), since=world.now, waits=True))


def left(world: World, head: str = HEAD, unsaved: str = "") -> World:
    """Whoever is put away left that."""
    for collect in world.pending(Collect):
        rescued = ev.WorkRescued(world.now, *collect.attempt.key, head=head, commits=1, unsaved=unsaved)
        world.answer(collect, rescued)
    return world.do(Release)


def woken(world: World) -> list[int]:
    return [event.job for event in world.told(ev.NudgeStarted) if event.reason == "again"]


def put_away(world: World) -> list[int]:
    return [event.job for event in world.told(ev.WakingDeclined)]


# --- whether


def test_a_large_conversation_that_no_cache_has_any_more_is_put_away_at_once() -> None:
    world = counted(at_work(1), 4, 2 * USED, USED)
    refused(world, 4, 500)
    [declined] = world.told(ev.WakingDeclined)
    assert declined.at == world.now
    assert declined.waking is not None
    assert declined.waking.cold
    assert declined.waking.context == USED
    assert declined.waking.cost > declined.waking.instead
    assert "sends 100,000 tokens again" in declined.detail
    assert "125,000 new tokens" in declined.detail, "a write costs a quarter more than what is new"
    assert "about 100,000 new tokens" in declined.detail
    assert left(world).pool().busy == 0, "its slot is free"
    assert not world.told(ev.JobRequeued)[0].counts


def test_the_same_is_woken_while_the_cache_still_has_it() -> None:
    world = counted(at_work(1), 4, 2 * USED, USED)
    refused(world, 4, 100).wait(100 + LATE)
    [told] = [event for event in world.told(ev.NudgeStarted) if event.reason == "again"]
    assert told.waking is not None
    assert not told.waking.cold
    assert told.waking.cost * 12 < 1.25 * 12 * told.waking.instead
    assert not put_away(world)


def test_a_small_conversation_goes_on_after_a_long_pause() -> None:
    world = counted(at_work(1), 4, 20_000, 10_000)
    refused(world, 4, HOUR)
    assert not world.wait(HOUR - 1).asked
    assert woken(world.wait(LATE)) == [4]
    world.do(Nudge).happens(ev.AgentStirred(world.now, *key(world, 4)))
    assert world.run().told(ev.JobEnded)[-1].outcome == "fixed"
    assert not world.told(ev.JobRequeued)


def test_who_would_have_too_little_time_left_is_put_away() -> None:
    world = counted(at_work(1).wait(HOUR), 4, 20_000, 10_000)
    refused(world, 4, 1.5 * HOUR)
    assert "time limit" in world.told(ev.WakingDeclined)[0].detail


def test_who_holds_a_slot_that_a_job_of_an_open_account_waits_for_is_put_away() -> None:
    accounts = AccountSpec("one", first=100), AccountSpec("two", first=100)
    profile = Profile(retries=0, accounts=("one", "two"), job_timeout_seconds=4 * HOUR)
    world = at_work(2, profile=profile, accounts=accounts, slots=1)
    refused(counted(world, 4, 20_000, 10_000), 4, HOUR)
    assert [event.detail for event in world.told(ev.WakingDeclined)] == ["others can use its slot meanwhile"]
    left(world)
    assert [(launch.attempt.key.job, launch.attempt.account) for launch in world.pending(Launch)] == [(4, "two")]


def test_nobody_sleeps_until_a_person_comes() -> None:
    world = counted(at_work(2), 4, 20_000, 10_000)
    counted(world, 5, 20_000, 10_000)
    refused(world, 4, 500)
    world.happens(ev.AgentHindered(world.now, *key(world, 5), problem="login", since=world.now))
    assert [event.detail for event in world.told(ev.WakingDeclined)] == [
        "nobody knows when its account is open again"
    ]


def test_of_whom_nothing_is_known_sleeps_through_a_short_pause_and_no_long_one() -> None:
    world = refused(counted(at_work(1), 4, 20_000, 0), 4, 500).wait(500 + LATE)
    assert [event.waking for event in world.told(ev.NudgeStarted)] == [None]
    world = refused(counted(at_work(1), 4, 20_000, 0), 4, HOUR)
    assert [event.waking for event in world.told(ev.WakingDeclined)] == [None]


def test_of_too_few_jobs_nothing_follows() -> None:
    """The cheapest end first. Who has used so much itself would use as much again, at the most."""
    world = refused(counted(at_work(1, done=2), 3, 2 * USED, USED), 3, 500).wait(500 + LATE)
    assert woken(world) == [3]


def test_the_jobs_of_other_batches_on_the_account_tell_what_one_costs() -> None:
    world = at_work(0).run().submit("c", 1, profile=PATIENT).do(Launch)
    world.happens(ev.UsageCounted(world.now, "c", 1, 1, input=2 * USED, context=USED))
    until = world.now + 500
    world.happens(ev.AgentHindered(world.now, "c", 1, 1, problem="window", since=world.now, until=until))
    world.happens(ev.AgentFellQuiet(world.now, "c", 1, 1, since=world.now, waits=True))
    assert len(world.told(ev.WakingDeclined)) == 1


def test_dollars_are_told_of_an_account_that_pays_with_money() -> None:
    world = at_work(1, accounts=(AccountSpec("claude", first=100, is_paid=True),))
    refused(counted(world, 4, 2 * USED, USED), 4, 500)
    assert "$1.88; starting its job again costs about $1.50" in world.told(ev.WakingDeclined)[0].detail


def test_a_pause_that_becomes_longer_lets_a_sleeper_cool_down() -> None:
    world = counted(at_work(2), 4, 2 * USED, USED)
    refused(world, 4, 100)
    assert not put_away(world)
    world.wait(50)
    until = world.now + 400
    world.happens(ev.AgentHindered(world.now, *key(world, 5), problem="window", since=world.now, until=until))
    assert put_away(world) == [4]


def test_who_was_just_told_to_go_on_hands_its_work_on_if_the_account_is_paused_anew() -> None:
    world = counted(at_work(2), 4, 2 * USED, USED)
    refused(world, 4, 100).wait(100 + LATE)
    assert woken(world) == [4]
    refused(world, 5, HOUR)
    assert put_away(world) == [4, 5]


# --- in which order


@given(
    sizes=st.lists(st.integers(0, 2 * USED), min_size=1, max_size=8),
    seconds=st.sampled_from([60.0, 290.0, 500.0, 5000.0]),
    problem=st.sampled_from([Hindrance.WINDOW, Hindrance.RATE]),
    restarts=st.booleans(),
)
def test_each_is_woken_or_put_away_and_none_that_costs_more(
    sizes: list[int], seconds: float, problem: Hindrance, *, restarts: bool
) -> None:
    world = at_work(len(sizes))
    for job, context in enumerate(sizes, 4):
        counted(world, job, context + 1, context)
    for job in range(4, len(sizes) + 4):
        refused(world, job, seconds, problem)
    if restarts:
        world.wait(30).restart()
    world.wait(seconds + LATE + sleeping.CROWDED_SECONDS)
    told = [event for event in world.told(ev.NudgeStarted) if event.reason == "again"]
    assert sorted(woken(world) + put_away(world)) == list(range(4, len(sizes) + 4)), "each once"
    assert all(event.waking is None or event.waking.cost <= event.waking.instead for event in told)
    declined = [event.waking for event in world.told(ev.WakingDeclined)]
    assert all(each is None or each.cost > each.instead for each in declined), "they had time, and nobody waits"
    costs = [event.waking.cost if event.waking is not None else 0 for event in told]
    assert costs == sorted(costs), "the smallest first"
    assert told == [] or told[-1].at - told[0].at <= sleeping.CROWDED_SECONDS
    assert replayed(world.events) == world.state


def test_those_that_go_on_are_spread_over_the_time_after_the_pause() -> None:
    world = at_work(6)
    for job in range(4, 10):
        refused(counted(world, job, 20_000, 1000 * job), job, 100)
    world.wait(100 + LATE)
    times = [event.at for event in world.told(ev.NudgeStarted)]
    [opened] = world.told(ev.AccountOpened)
    assert woken(world) == [4, 5, 6, 7, 8, 9]
    assert all(after - before < 2 * sleeping.WAKING_SECONDS / 6 for before, after in pairwise(times))
    assert opened.at <= times[0]
    assert times[-1] <= opened.at + sleeping.WAKING_SECONDS


def test_a_turn_that_comes_late_wakes_nobody_whose_account_is_to_be_paused() -> None:
    """The refusal and the agent that is to be looked at are due in the same turn."""
    world = counted(at_work(1), 4, 2_000, 1_000)
    world.record(
        ev.AgentHindered(world.now, *key(world, 4), problem="window", since=world.now, until=world.now + HOUR)
    )
    world.record(ev.AgentFellQuiet(world.now, *key(world, 4), since=world.now, waits=True))
    world.now += 10 * sleeping.SOON_SECONDS
    world.catch_up()
    assert world.state.accounts["claude"].pauses
    assert not woken(world)


def test_an_agent_is_priced_again_when_its_turn_comes() -> None:
    """Meanwhile jobs have shown that one costs less than was thought."""
    world = counted(at_work(3, done=1), 2, 2 * USED, USED)
    refused(world, 2, 500)
    for job in (3, 4):
        counted(world, job, USED // 10, 1).publish(job)
        world.do(Collect, Verify, Release)
    world.wait(500 + LATE)
    assert put_away(world) == [2]


def test_cold_is_what_was_not_asked_for_five_minutes() -> None:
    world = counted(at_work(1), 4, 20_000, 10_000)
    attempt = world.last_attempt(4)
    warm, cold = (
        waking.priced(world.state, attempt, world.now + seconds)
        for seconds in (waking.CACHE_SECONDS, waking.CACHE_SECONDS + 1)
    )
    assert warm is not None
    assert cold is not None
    assert cold.cost == 12.5 * warm.cost
