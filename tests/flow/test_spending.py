"""Budgets that hold: caps, reservations, pace, hours for people, and the pressure of the machine."""

from dataclasses import replace

from supervisor.flow.requests import decide
from supervisor.model import event as ev
from supervisor.model import request as rq
from supervisor.model.account import CAP, NO_USE, PACE, AccountSpec, Budget, Caps
from supervisor.model.effect import Collect, Launch, Nudge, Release
from supervisor.model.job import JobState
from supervisor.model.pressure import Pressure
from supervisor.model.profile import Profile
from tests.flow.test_governor import HOUR, PATIENT, account, configured, hears, live, working
from tests.flow.world import NOON, World

#: noon in UTC is one in the afternoon there
PRAGUE = "Europe/Prague"

# --- caps


def capped(most: int, jobs: int = 10, guess: int = 100, slots: int = 10, **spec: object) -> World:
    capped = AccountSpec("claude", first=100, caps=Caps(day_tokens=most), **spec)  # type: ignore[arg-type]
    world = configured(World(local=slots), capped, budget=Budget(guess_tokens=guess))
    return world.submit(tests=jobs).do(Launch)


def test_agents_reserve_what_a_job_is_expected_to_use() -> None:
    assert live(capped(450)) == 4


def test_a_small_cap_lets_one_begin_each_day() -> None:
    assert live(capped(10)) == 1


def test_at_its_cap_an_account_waits_for_the_next_day_and_its_agents_are_told_and_put_away() -> None:
    world = capped(250)
    world.happens(ev.UsageCounted(world.now, "b", 1, 1, output=251))
    assert [(event.reason, event.until - NOON) for event in world.told(ev.AccountPaused)] == [(CAP, 12 * HOUR)]
    world.do(Nudge)
    assert [event.reason for event in world.told(ev.NudgeStarted)] == ["cap", "cap"]
    world.wait(300)
    assert len(world.told(ev.AgentHalted)) == 2
    world.do(Collect, Release)
    assert {event.counts for event in world.told(ev.JobRequeued)} == {False}
    assert not world.wait(11 * HOUR).pending(Launch)
    assert world.wait(HOUR).pending(Launch), "a new day"


def test_a_message_that_did_not_reach_one_at_its_cap_is_repeated_and_gives_no_more_time() -> None:
    world = capped(250)
    world.happens(ev.UsageCounted(world.now, "b", 1, 1, output=251))
    world.fail(Nudge).wait(10).do(Nudge)
    assert [event.reason for event in world.told(ev.NudgeStarted)] == ["cap"] * 4
    assert not world.wait(289).told(ev.AgentHalted)
    assert len(world.wait(1).told(ev.AgentHalted)) == 2


def test_a_cap_that_was_reached_when_nobody_could_say_so_holds_nobody_the_next_day() -> None:
    """The daemon was killed when it had counted, and is started a day later."""
    world = capped(250)
    world.record(ev.UsageCounted(world.now, "b", 1, 1, output=251))
    world.now += 24 * HOUR
    world.catch_up()
    assert [event.until - event.at for event in world.told(ev.AccountPaused)] == [0]
    assert not account(world).pauses
    assert not world.told(ev.NudgeStarted)


def test_a_higher_cap_lets_them_go_on() -> None:
    world = capped(250)
    world.happens(ev.UsageCounted(world.now, "b", 1, 1, output=251))
    richer = (AccountSpec("claude", first=100, caps=Caps(day_tokens=10_000)),)
    world.happens(*decide(world.state, rq.ConfigureAccounts(richer, world.state.budget), world.now))
    assert not account(world).pauses
    assert world.pending(Launch)
    assert not world.wait(1000).told(ev.AgentHalted)


def test_what_is_left_cannot_pay_for_another_job() -> None:
    world = capped(250, slots=1)
    world.happens(ev.UsageCounted(world.now, "b", 1, 1, output=200)).publish().do(Collect, Release)
    assert not world.pending(Launch)
    assert world.told(ev.AccountPaused)[-1].reason == CAP
    assert world.wait(12 * HOUR).pending(Launch)


def test_history_replaces_the_guess() -> None:
    world = capped(1_000_000, guess=1000, jobs=30, slots=1)
    for job in range(1, 10):
        world.happens(ev.UsageCounted(world.now, "b", job, 1, output=100)).publish(job).do(Collect, Release, Launch)
    found = account(world)
    assert (found.jobs, found.job_usage.tokens) == (9, 900)


def test_tokens_and_money_are_never_added() -> None:
    paid, subscribed = AccountSpec("paid", is_paid=True, first=9), AccountSpec("claude", first=9)
    caps = Caps(day_tokens=1_000_000, day_dollars=1.0)
    world = configured(World(local=9), paid, subscribed, budget=Budget(caps, guess_tokens=1))
    world.submit("b", 5, profile=Profile(slots=1)).submit("c", 5, profile=Profile(accounts=("paid",), slots=1)).do(
        Launch
    )
    world.happens(ev.UsageCounted(world.now, "b", 1, 1, output=900_000, model="opus"))
    assert not account(world).pauses
    world.happens(ev.UsageCounted(world.now, "c", 1, 1, output=50_000, model="opus"))
    assert account(world, "paid").day.money == 1_250_000
    assert set(account(world, "paid").pauses) == {CAP}
    assert not account(world).pauses
    assert (world.batch("b").money, world.batch("c").money) == (0, 1_250_000)


def test_a_batch_has_a_budget_of_dollars_too() -> None:
    world = configured(World(local=1), AccountSpec("claude", is_paid=True))
    world.submit(tests=3, profile=Profile(budget_dollars=1.0)).do(Launch)
    world.happens(ev.UsageCounted(world.now, "b", 1, 1, output=50_000, model="opus"))
    assert world.told(ev.BatchStopped)[0].detail == "the budget of $1.00 is spent ($1.25 were used)"


def test_a_share_is_left_for_people() -> None:
    assert live(capped(1000, leave=0.5)) == 5


def test_people_have_it_for_themselves_at_certain_hours() -> None:
    spec = AccountSpec("claude", first=100, no_use="14:00-18:00", timezone=PRAGUE)
    world = configured(World(local=1), spec).submit(tests=5, profile=PATIENT).do(Launch)
    world.wait(HOUR)
    assert set(account(world).pauses) == {NO_USE}
    world.publish().do(Collect)
    assert not world.wait(4 * HOUR - 1).pending(Launch)
    assert world.wait(1).pending(Launch)
    world.wait(20 * HOUR)
    assert set(account(world).pauses) == {NO_USE}, "and the next day again"


def test_what_may_be_spent_is_spread_over_the_day() -> None:
    world = capped(1000, pace=True, slots=1)
    for job in (1, 2, 3):
        world.happens(ev.UsageCounted(world.now, "b", job, 1, output=200)).publish(job).do(Collect, Release, Launch)
    assert world.told(ev.AccountPaused)[-1].reason == PACE
    assert not world.wait(0.6 * 24 * HOUR - 12 * HOUR - 1).pending(Launch)
    assert world.wait(1).pending(Launch), "as much of the day is over as of the tokens"


# --- the machine


def test_slots_follow_the_pressure_of_the_machine() -> None:
    world = World(ev.PoolSpec("local", "local", 100, auto=True)).submit(tests=100)
    assert live(world) == 4, "before anything is known"
    roomy = Pressure(memory_free_mb=9200, memory_total_mb=16000, disk_free_mb=90_000, files_free=100_000)
    world.happens(ev.PressureSeen(world.now, roomy))
    assert live(world) == 4 + 7600 // 600
    world.happens(ev.PressureSeen(world.now, replace(roomy, memory_share=0.6)))
    assert world.pool().slots == 12
    world.happens(ev.PressureSeen(world.now, replace(roomy, disk_free_mb=2000)))
    assert world.pool().slots == world.pool().busy


def test_who_was_cancelled_is_gone() -> None:
    world = working()
    hears(world, ev.AgentHindered, problem="window", until=world.now + HOUR)
    world.cancel(1)
    assert world.job().state is JobState.COLLECTING
