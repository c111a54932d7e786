"""What the gate lets agents take of the caps of accounts, now and while no daemon is there."""

from dataclasses import replace

import pytest

from supervisor.flow.governor.allowances import FOREVER, Allowance, allowances
from supervisor.model import event as ev
from supervisor.model.account import CAP, AccountSpec, Budget, Caps
from supervisor.model.profile import Profile
from tests.flow.test_governor import HOUR, configured, working
from tests.flow.world import NOON, World

DAY = 24 * HOUR


def of(world: World, account: str = "claude", at: float = NOON) -> list[Allowance]:
    return [each for each in allowances(world.state, at) if each.account == account]


def test_a_day_and_those_after_it_have_pots_of_their_own() -> None:
    """The last one that is told does not end: where there is no daemon for so long, nothing is granted anew."""
    told = of(configured(World(), AccountSpec("claude", caps=Caps(day_tokens=1000))))
    midnight = NOON + 12 * HOUR
    assert [(each.since, each.until) for each in told] == [
        (0, midnight),
        (midnight, midnight + DAY),
        (midnight + DAY, midnight + 2 * DAY + FOREVER),
    ]
    assert len({each.pot for each in told}) == 3
    assert [each.pot for each in told][1:] == [
        each.pot for each in of(configured(World(), AccountSpec("claude", caps=Caps(day_tokens=9))), at=NOON + DAY)
    ][:2], "and keeps its pot when it has come"


def test_what_is_left_for_people_is_not_in_it_and_a_part_is_for_wrapping_up_until_the_account_is_paused() -> None:
    spec = AccountSpec("claude", caps=Caps(day_tokens=1000), leave=0.2)
    world = working(1, accounts=(spec,))
    assert [each.most for each in of(world)] == [760, 760, 760]
    world.happens(ev.AccountPaused(world.now, "claude", CAP, NOON + 12 * HOUR))
    assert [each.most for each in of(world)] == [800, 760, 760]


def test_what_the_daemon_has_counted_is_told_of_the_period_that_it_belongs_to() -> None:
    spec = AccountSpec("claude", caps=Caps(day_tokens=1000, week_tokens=5000))
    world = working(1, accounts=(spec,))
    world.happens(ev.UsageCounted(world.now, "b", 1, 1, output=30))
    assert [each.spent for each in of(world)] == [30, 0, 0, 30, 0, 0]


def test_dollars_limit_accounts_that_are_paid_and_a_common_budget_is_one_pot() -> None:
    specs = [AccountSpec(name, is_paid=name != "free", caps=Caps()) for name in ("one", "two", "free")]
    world = configured(World(), *specs, budget=Budget(caps=Caps(day_tokens=7, day_dollars=2.0)))
    told = {name: [(each.name, each.is_money, each.most) for each in of(world, name)][:1] for name in ("one", "free")}
    assert told == {
        "one": [("budget: dollars a day", True, 1_900_000)],
        "free": [("budget: tokens a day", False, 7)],
    }
    assert {each.pot for each in of(world, "one")} == {each.pot for each in of(world, "two")}


@pytest.mark.parametrize(("at", "next_begin"), [(NOON, -3), (NOON - 4 * HOUR, -3), (NOON + 7 * HOUR, 21)])
def test_in_the_hours_of_people_there_is_nothing_once_agents_had_time_to_publish(at: float, next_begin: int) -> None:
    spec = AccountSpec("claude", no_use="9:00-18:00")
    told = of(configured(World(), spec, budget=Budget(grace_seconds=300)), at=at)
    closed = [each for each in told if each.until > at]
    assert {(each.most, each.is_closed, each.until - each.since) for each in closed} == {(0, True, 9 * HOUR - 300)}
    assert closed[0].since == NOON + next_begin * HOUR + 300


def test_a_batch_that_has_a_budget_in_dollars_has_it_until_it_ends() -> None:
    world = World()
    world.submit(tests=1, profile=replace(Profile(), budget_dollars=10.0))
    [told] = [each for each in allowances(world.state, NOON) if each.batch]
    assert (told.batch, told.is_money, told.most, told.until) == ("b", True, 9_500_000, 0)
