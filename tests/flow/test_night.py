"""A whole night under limits ends well without anybody, but for who repairs the login.

300 jobs, two windows that are used up, three storms of 429, an overload, a login that is lost and comes back, and a
restart in each of them (`nights`).
"""

import pytest

from supervisor.model import event as ev
from supervisor.model.account import AccountSpec, Budget, Caps
from tests.flow.nights.night import JOBS, SLOTS, TOKENS, Night, additive, fixed, governed
from tests.flow.world import World, replayed
from tests.properties import ROUNDS

HOUR = 3600.0
#: what is used by an agent and not counted yet, or while it wraps up, in requests
UNCOUNTED = 3
#: Nights by which the constants of `levels` were chosen, and nights by which nothing was.
TUNED, OTHERS = range(16), range(100, 124)


def ends_well(seed: int) -> None:
    came = governed(seed)
    assert came.outcomes == {"fixed": JOBS}, "every job has its true outcome"
    assert came.launched_closed == 0, "nothing is launched inside of a window that is known to be closed"
    assert came.requeued_at_a_cost == 0, "no limit uses a retry"
    assert came.lost_seconds <= 1.05 * came.closed_seconds


def test_a_night_ends_well() -> None:
    ends_well(0)


def test_a_night_stays_within_its_cap() -> None:
    cap = 60_000_000
    world = World(local=SLOTS)
    spec = AccountSpec("claude", caps=Caps(day_tokens=cap))
    world.happens(ev.AccountsConfigured(world.now, (spec,), Budget(guess_tokens=400_000)))
    night = Night(1, world)
    came = night.run()
    assert came.outcomes == {"fixed": JOBS}
    [first, *_] = [event.until for event in world.told(ev.AccountPaused) if event.reason == "cap"]
    counted = [event for event in world.told(ev.UsageCounted) if event.at < first]
    spent = {(event.job, event.attempt): event.input + event.output + event.cached for event in counted}
    assert cap * 0.9 <= sum(spent.values()) <= cap + SLOTS * UNCOUNTED * TOKENS
    assert replayed(world.events) == world.state


@pytest.mark.proof
@pytest.mark.parametrize("seed", range(1, 1 + 5 * ROUNDS))
def test_every_night_ends_well_and_better_than_with_a_fixed_number_of_agents(seed: int) -> None:
    ends_well(seed)
    came = governed(seed)
    for slots in (10, 50):
        other = fixed(seed, slots)
        assert came.jobs_per_hour > other.jobs_per_hour
        assert came.refused < other.refused


@pytest.mark.proof
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seeds", [TUNED, OTHERS], ids=["tuned", "others"])
def test_in_sum_nights_are_shorter_and_less_is_refused_than_with_a_level_that_rises_by_one(seeds: range) -> None:
    ours, theirs = ([way(seed) for seed in seeds] for way in (governed, additive))
    assert sum(came.hours for came in ours) < sum(came.hours for came in theirs)
    assert sum(came.refused for came in ours) < sum(came.refused for came in theirs)
