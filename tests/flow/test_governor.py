"""Limits, told apart, and what the governor makes of them: pauses, levels, caps. Nothing of it is a job's failure."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from supervisor.flow.governor import levels, pauses, sleeping
from supervisor.flow.requests import decide
from supervisor.model import event as ev
from supervisor.model import request as rq
from supervisor.model.account import UNLIMITED, Account, AccountSpec, Budget, Level
from supervisor.model.attempt import Stage
from supervisor.model.effect import Collect, Launch, Nudge, Release
from supervisor.model.hindrance import Hindrance
from supervisor.model.profile import Profile
from tests.flow.world import AMPLE, World, replayed

HOUR = 3600.0
PATIENT = Profile(retries=0, job_timeout_seconds=10**6)


def configured(world: World, *accounts: AccountSpec, budget: Budget = UNLIMITED) -> World:
    return world.happens(ev.AccountsConfigured(world.now, accounts, budget))


def account(world: World, name: str = "claude") -> Account:
    return world.state.accounts[name]


def working(
    jobs: int = 3, slots: int = 2, profile: Profile | None = None, accounts: tuple[AccountSpec, ...] = AMPLE
) -> World:
    world = configured(World(local=slots), *accounts)
    return world.submit(tests=jobs, profile=profile or PATIENT).do(Launch)


def hears(world: World, kind: Callable[..., ev.Event], job: int = 1, **what: object) -> World:
    return world.happens(kind(world.now, *world.last_attempt(job).key, **what))


def refused(world: World, problem: str, job: int = 1, **what: object) -> World:
    """Its provider says no, and it waits."""
    hears(world, ev.AgentHindered, job, problem=problem, since=world.now, **what)
    return hears(world, ev.AgentFellQuiet, job, since=world.now, waits=True)


def live(world: World) -> int:
    return sum(attempt.stage in (Stage.LAUNCHING, Stage.LIVE) for attempt in world.state.attempts.values())


# --- pauses


def test_a_used_up_window_holds_the_account_until_its_reset_and_costs_no_job_anything() -> None:
    world = working()
    reset = world.now + 5 * HOUR
    refused(world, "window", until=reset, detail="resets 5pm").do(Collect, Release)
    assert [(event.reason, event.account) for event in world.told(ev.AccountPaused)] == [("window", "claude")]
    assert not world.pending(Launch), "the slot stays free"
    world.wait(reset - world.now)
    assert not world.pending(Launch), "and a little longer: others wait for the same moment"
    world.wait(pauses.JITTER_SECONDS[Hindrance.WINDOW])
    assert [launch.attempt.key for launch in world.pending(Launch)] == [("b", 1, 2)]
    assert [event.counts for event in world.told(ev.JobRequeued)] == [False]
    assert account(world).paused_seconds["window"] >= 5 * HOUR
    assert replayed(world.events) == world.state


def test_a_restart_in_the_middle_of_a_pause_knows_when_it_ends() -> None:
    world = working()
    reset = world.now + 5 * HOUR
    refused(world, "window", until=reset).do(Collect, Release).wait(HOUR).restart()
    assert not world.wait(reset - world.now).pending(Launch)
    assert world.wait(60).pending(Launch)


def test_a_window_of_one_model_holds_only_its_agents() -> None:
    world = World(local=4)
    opus, sonnet = (Profile(agent_args=("--model", f"claude-{name}")) for name in ("opus-5", "sonnet-5"))
    world.submit("b", 2, profile=replace(opus, slots=1)).submit("c", 2, profile=replace(sonnet, slots=1)).do(Launch)
    refused(world, "window", until=world.now + HOUR, model="opus").do(Collect, Release)
    assert not world.pending(Launch)
    world.publish(1, "c").do(Collect)
    assert {launch.attempt.key.batch for launch in world.pending(Launch)} == {"c"}


def test_with_several_accounts_the_job_goes_to_one_that_is_open() -> None:
    names = ("first", "second")
    accounts = tuple(AccountSpec(name, first=100) for name in names)
    world = working(profile=Profile(accounts=names), accounts=accounts)
    assert {attempt.account for attempt in world.state.attempts.values()} == {"first"}
    refused(world, "window", until=world.now + 5 * HOUR).do(Collect, Release)
    assert [launch.attempt.account for launch in world.pending(Launch)] == ["second"]


def test_an_overload_holds_launches_longer_each_time_and_shrinks_nothing() -> None:
    world = working(jobs=4, slots=2)
    level, seconds = account(world).level.agents, []
    for _ in range(4):
        world.wait(1000).do(Nudge)
        refused(world, "overload")
        told = world.told(ev.AccountPaused)[-1]
        seconds.append(told.until - world.now)
        hears(world, ev.AgentStirred)
    jitter = pauses.JITTER_SECONDS[Hindrance.OVERLOAD]
    assert all(0 <= each - 15 * 2**n <= jitter for n, each in enumerate(seconds))
    assert account(world).level.agents == level


def test_an_agent_sleeps_through_a_short_pause_and_is_told_to_go_on() -> None:
    world = working(jobs=1, slots=1)
    refused(world, "rate", until=world.now + 40)
    assert not world.wait(39).pending(Nudge)
    world.wait(60).do(Nudge)
    assert [event.reason for event in world.told(ev.NudgeStarted)] == ["again"]
    hears(world, ev.AgentStirred)
    hears(world, ev.AgentHindered, problem="").publish()
    assert world.run().told(ev.JobEnded)[0].outcome == "fixed"
    assert not world.told(ev.JobRequeued)


def test_where_more_are_awake_than_the_level_allows_a_sleeper_is_told_later_but_soon() -> None:
    world = working(jobs=2, slots=2)
    refused(world, "rate", until=world.now + 40)
    assert account(world).level.agents == 1
    world.wait(40 + sleeping.CROWDED_SECONDS + pauses.JITTER_SECONDS[Hindrance.RATE]).do(Nudge)
    assert [event.reason for event in world.told(ev.NudgeStarted)] == ["again"]


def test_an_agent_that_is_told_to_go_on_and_does_not_is_given_up_at_no_cost() -> None:
    world = working()
    refused(world, "overload").wait(100).do(Nudge)
    hears(world, ev.AgentStirred)
    hears(world, ev.AgentFellQuiet, since=world.now, waits=True)
    assert len(world.told(ev.AgentStalled)) == 1
    world.do(Collect, Release)
    assert [event.counts for event in world.told(ev.JobRequeued)] == [False]


def test_many_refusals_of_one_moment_are_one_pause() -> None:
    world = working(jobs=10, slots=8)
    for job in range(1, 9):
        hears(world, ev.AgentHindered, job, problem="overload", since=world.now)
    assert [event.tries for event in world.told(ev.AccountPaused)] == [1]


def test_a_reset_that_nobody_can_mean_is_not_believed() -> None:
    world = working()
    hears(world, ev.AgentHindered, problem="window", until=world.now + 10**9)
    assert account(world).pauses["window"].until <= world.now + pauses.MOST_SECONDS + 60


@pytest.mark.parametrize("problem", ["login", "credit"])
def test_a_lost_login_stops_launching_at_once_until_a_person_resumes(problem: str) -> None:
    world = working(jobs=4, slots=2)
    hears(world, ev.AgentHindered, problem=problem, detail="Invalid API key")
    world.publish(2).do(Collect)
    assert not world.wait(30_000).pending(Launch)
    assert "supervisorctl resume" in pauses.told(account(world), account(world).pauses[problem])
    world.happens(*decide(world.state, rq.Resume(), world.now))
    assert world.pending(Launch)


def test_a_batch_that_only_a_refused_account_can_serve_is_stopped_and_says_why() -> None:
    world = working(jobs=1, slots=2)
    hears(world, ev.AgentHindered, problem="login", detail="Invalid API key")
    world.submit("c", 2)
    assert [(event.batch, event.reason) for event in world.told(ev.BatchStopped)] == [("c", "login")]
    world.happens(*decide(world.state, rq.Resume("c"), world.now))
    assert {launch.attempt.key.batch for launch in world.pending(Launch)} == {"c"}


def test_a_login_that_serves_again_needs_nobody() -> None:
    world = working()
    hears(world, ev.AgentHindered, problem="login")
    hears(world, ev.AgentHindered, problem="")
    assert not account(world).pauses


# --- levels


def served(world: World, tokens: int) -> World:
    for key, attempt in sorted(world.state.attempts.items()):
        if attempt.stage is Stage.LIVE:
            world.happens(ev.UsageCounted(world.now, *key, output=tokens))
    return world


def climbing(jobs: int = 200, slots: int = 100) -> World:
    return configured(World(local=slots)).submit(tests=jobs, profile=Profile(retries=0))


def test_the_level_doubles_while_nothing_objects() -> None:
    world, seen = climbing(), []
    for tokens in range(1, 5):
        seen.append(live(world))
        served(world.wait(levels.LISTEN_SECONDS * live(world)).do(Launch), tokens)
    assert seen == [8, 16, 32, 64]
    assert all(event.reason for event in world.told(ev.LevelChanged))


def test_the_level_falls_once_for_an_episode() -> None:
    world = served(climbing().do(Launch), 1).do(Launch)
    for job in range(1, 12):
        hears(world, ev.AgentHindered, job, problem="rate", since=world.now)
        world.wait(1)
    assert [(event.agents, event.refused) for event in world.told(ev.LevelChanged)] == [(16, False), (9, True)]


def test_after_a_fall_it_comes_back_to_what_was_served_and_then_leaves_it_ever_faster() -> None:
    level, seen = Level(agents=8, known=20), list[int]()
    while level.agents < level.known:
        level = replace(level, agents=levels.raised(level, 100.0))
        seen.append(level.agents)
    assert seen == [14, 17, 19, 20]
    there, each = replace(level, back_at=100.0), levels.PROBE_SECONDS
    assert levels.raised(there, 100 + each) == 21
    assert levels.raised(replace(there, agents=27), 100 + 2 * each) == 28
    assert levels.raised(replace(there, agents=48), 100 + 4 * each) == 52, "not in one step"


def test_it_comes_back_after_quiet_minutes_only() -> None:
    world = at_level(World(local=100), Level(agents=8, known=20, round=1))
    served(world, 1).wait(levels.EPISODE_SECONDS / 2)
    refused(world, "rate", until=world.now + 1)
    served(world.wait(levels.EPISODE_SECONDS), 2)
    assert [event.refused for event in world.told(ev.LevelChanged)] == [True]
    served(world, 3).wait(2 * levels.EPISODE_SECONDS)
    assert [event.refused for event in world.told(ev.LevelChanged)] == [True, False]


def at_level(world: World, level: Level, busy: int = 8) -> World:
    """With so many agents at work on an account of that level."""
    configured(world, AccountSpec("claude", first=busy)).submit(tests=100, profile=PATIENT).do(Launch)
    world.state = world.state.with_account(replace(account(world), level=level))
    return world


@pytest.mark.parametrize(
    ("level", "busy", "left"),
    [
        (Level(agents=20, known=20, back_at=1.0, round=5), 20, 19),  # was served for long: maybe a storm
        (Level(agents=20, known=20, round=5), 20, 18),  # has just come back: it is too many
        (Level(agents=10, known=20, round=5), 20, 20),  # more are at work: it tells nothing
        (Level(agents=10, known=20, round=5), 10, 9),  # ten are too many
        (Level(agents=16, round=1), 16, 12),  # eight were served
    ],
)
def test_a_refusal_tells_of_those_at_work_if_the_level_has_caused_it(level: Level, busy: int, left: int) -> None:
    world = at_level(World(local=100), level, busy)
    hears(world, ev.AgentHindered, problem="rate", since=world.now)
    assert account(world).level.known == left
    assert account(world).level.agents <= 0.6 * level.agents


def test_a_pause_is_no_time_in_which_the_level_rises() -> None:
    level = Level(agents=20, known=20, back_at=100.0, lowered_at=90.0)
    assert levels.rested(level, HOUR) == replace(level, back_at=100 + HOUR, lowered_at=90 + HOUR)
    assert levels.rested(Level(), HOUR) == Level()


def test_a_level_that_is_not_used_is_not_raised() -> None:
    world = configured(World(local=4)).submit(tests=100).do(Launch)
    for tokens in range(1, 9):
        served(world.wait(100), tokens)
    assert not world.told(ev.LevelChanged)


def test_an_account_serves_no_more_than_it_is_configured_for() -> None:
    world = configured(World(local=50), AccountSpec("claude", first=20, slots=3)).submit(tests=50)
    assert live(world) == 3
