"""Rules say what a person should know of now: once for each thing, over restarts, and again when it is over."""

from collections.abc import Callable

import pytest

from supervisor.flow.alerts import MOST_PAST, changes
from supervisor.flow.requests import decide
from supervisor.model import event as ev
from supervisor.model import request as rq
from supervisor.model.account import AccountSpec, Budget, Caps
from supervisor.model.alert import DEFAULT_RULES, AlertKind, Rule
from supervisor.model.effect import Collect, Launch, Release
from supervisor.model.profile import Profile
from tests.flow.world import World, replayed

HOUR = 3600.0


class Watched(World):
    """A world in which the rules are looked at after whatever happens, as the daemon does."""

    rules: tuple[Rule, ...] = DEFAULT_RULES

    def look(self) -> list[ev.Event]:
        told = changes(self.state, self.rules, self.now)
        for event in told:
            self.record(event)
        return told

    def catch_up(self) -> "Watched":
        super().catch_up()
        self.look()
        return self

    def raised(self, kind: AlertKind) -> list[ev.AlertRaised]:
        return [event for event in self.told(ev.AlertRaised) if event.rule == kind]

    def asks(self, request: rq.Request) -> "Watched":
        self.happens(*decide(self.state, request, self.now))
        return self


def watched(jobs: int = 40, slots: int = 4, **profile: object) -> Watched:
    world = Watched(local=slots)
    world.submit(tests=jobs, profile=Profile(**{"retries": 0, **profile}))  # type: ignore[arg-type]
    return world.do(Launch)


def time_out_all(world: World, rounds: int) -> None:
    for _ in range(rounds):
        world.wait(Profile().job_timeout_seconds).do(Collect, Release, Launch)


@pytest.mark.parametrize("slots", [4, 40])
def test_forty_agents_that_time_out_at_the_same_stage_are_one_alert(slots: int) -> None:
    world = watched(slots=slots)
    time_out_all(world, 40)
    (alert,) = [event for event in world.told(ev.AlertRaised) if event.rule != AlertKind.PAUSED]
    assert alert.rule == AlertKind.SAME_FAILURE
    assert (
        "is paused: 5 jobs failed in the same way (timed-out while running: not done within 3600 s)" in alert.message
    )
    assert len(world.told(ev.BreakerTripped)) == 1


def test_without_a_breaker_it_is_one_alert_as_well() -> None:
    world = watched(breaker_jobs=0)
    time_out_all(world, 3)
    assert [event.rule for event in world.told(ev.AlertRaised)] == [AlertKind.SAME_FAILURE]


def test_it_is_over_when_a_person_resumes_and_raised_again_when_it_comes_again() -> None:
    world = watched()
    time_out_all(world, 2)
    world.asks(rq.Resume("b"))
    assert [event.why for event in world.told(ev.AlertResolved)] == ["it is not so any more"]
    time_out_all(world.do(Launch), 3)
    assert len(world.raised(AlertKind.SAME_FAILURE)) == 2


def test_a_restart_repeats_no_alert_and_forgets_none() -> None:
    world = watched()
    time_out_all(world, 2)
    before = len(world.told(ev.AlertRaised))
    world.restart()
    assert len(world.told(ev.AlertRaised)) == before
    assert replayed(world.events) == world.state
    assert not changes(replayed(world.events), DEFAULT_RULES, world.now)


def test_time_outs_that_differ_are_told_by_their_number() -> None:
    world, said = watched(jobs=60, slots=12), iter("abcdefghijkl")
    for job in range(1, 13):
        stalled = ev.AgentStalled(world.now, *world.last_attempt(job).key, detail=f"it looked at {next(said)}")
        world.happens(stalled)
    world.do(Collect, Release)
    assert [event.message for event in world.raised(AlertKind.TIME_OUTS)] == [
        "batch b: 10 jobs timed out or stalled while running, in different ways"
    ]


def uses(world: World, tokens: int, tool_calls: int = 0, job: int = 1) -> World:
    key = world.last_attempt(job).key
    return world.happens(ev.UsageCounted(world.now, *key, input=tokens, tool_calls=tool_calls))


def test_a_share_of_the_budget() -> None:
    world = watched(budget_tokens=1000)
    uses(world, 799)
    assert not world.raised(AlertKind.BUDGET)
    uses(world, 800)
    uses(world, 1200)
    assert [event.message for event in world.raised(AlertKind.BUDGET)] == ["batch b has used 800 of its 1,000 tokens"]


def test_a_share_of_a_cap_once_a_day() -> None:
    world = Watched(local=2)
    spec = AccountSpec("claude", caps=Caps(day_tokens=1000))
    world.happens(ev.AccountsConfigured(world.now, (spec,), Budget(guess_tokens=100)))
    uses(world.submit(tests=5).do(Launch), 850)
    (alert,) = world.raised(AlertKind.BUDGET)
    assert alert.message == "account claude: tokens a day: 850 tokens of 1,000 tokens are used"
    world.wait(13 * HOUR).catch_up()
    assert len(world.told(ev.AlertResolved)) == 1, "a new day"


@pytest.mark.parametrize("batch", ["", "b"])
def test_a_pause_that_lasts(batch: str) -> None:
    world = watched().asks(rq.Pause(batch, reason="lunch" if not batch else ""))
    world.wait(HOUR - 1).catch_up()
    assert not world.raised(AlertKind.PAUSED)
    world.restart().wait(1).catch_up()
    (alert,) = world.raised(AlertKind.PAUSED)
    assert alert.subject == batch
    assert "has been paused for 60 min" in alert.message
    world.happens(*decide(world.state, rq.Resume(batch), world.now))
    assert len(world.told(ev.AlertResolved)) == 1


def test_a_lost_login_at_once() -> None:
    world = watched()
    world.happens(ev.AgentHindered(world.now, *world.last_attempt().key, problem="login", detail="please log in"))
    world.vanish()
    (alert,) = world.raised(AlertKind.STOPPED)
    assert "refuses the login (please log in); then `supervisorctl resume b`" in alert.message


def not_moving(world: World, seconds: float) -> list[ev.AlertRaised]:
    world.wait(seconds).catch_up()
    return [event for event in world.told(ev.AlertRaised) if event.rule == AlertKind.NOT_MOVING]


def test_a_queue_that_does_not_move() -> None:
    world = watched(job_timeout_seconds=1e9)
    assert not not_moving(world, 2 * HOUR - 1)
    assert "for 2.0 hours none was launched and none has ended" in not_moving(world, 1)[0].message
    world.publish(1).do(Collect)
    assert len(world.told(ev.AlertResolved)) == 1


@pytest.mark.parametrize(
    "hold",
    [
        lambda world: world.asks(rq.Pause("b")),
        lambda world: world.asks(rq.Pause()),
        lambda world: world.happens(ev.WindowClosed(world.now, "b", world.now + 1e9)),
    ],
)
def test_one_that_is_held_on_purpose_need_not_move(hold: Callable[[Watched], object]) -> None:
    world = watched(job_timeout_seconds=1e9)
    hold(world)
    assert not not_moving(world, 5 * HOUR)


def test_neither_need_one_in_which_nothing_waits() -> None:
    assert not not_moving(watched(jobs=3, job_timeout_seconds=1e9), 5 * HOUR)


def test_a_night_after_its_window_has_opened_is_not_late_at_once() -> None:
    world = watched(jobs=40, job_timeout_seconds=1e9)
    world.happens(ev.WindowClosed(world.now, "b", world.now + 1e9)).wait(10 * HOUR)
    world.happens(ev.WindowOpened(world.now, "b", world.now + 1e9))
    assert not not_moving(world, 2 * HOUR - 1)


def test_an_agent_that_spends_and_does_nothing() -> None:
    world = watched()
    uses(world, 900_000)
    uses(world, 1_800_000, tool_calls=1)
    uses(world, 2_700_000, tool_calls=1)
    assert not world.raised(AlertKind.IDLE_AGENT)
    uses(world, 2_800_000, tool_calls=1)
    (alert,) = world.raised(AlertKind.IDLE_AGENT)
    assert alert.message == "the agent of b.1 has used 1,000,000 tokens since it last used a tool"
    uses(world, 2_900_000, tool_calls=2)
    assert len(world.told(ev.AlertResolved)) == 1


def test_work_that_could_not_be_saved() -> None:
    world = watched().vanish()
    world.do(Collect, Release)
    world.happens(ev.AgentVanished(world.now, *world.last_attempt(2).key))
    effect = world.pending(Collect)[0]
    world.answer(effect, ev.WorkRescued(world.now, *effect.attempt.key, unsaved="2 commits"))
    (alert,) = world.raised(AlertKind.UNACCOUNTED)
    assert "work of 1 agents of batch b could not be saved" in alert.message


def test_a_scheduled_batch_that_was_not_submitted() -> None:
    world, at = watched(), 1.0
    world.happens(ev.SchedulesConfigured(at, ("night",)), ev.ScheduleSkipped(at, "night", at, "batch x is not over"))
    (alert,) = world.raised(AlertKind.SCHEDULE)
    assert alert.message == "schedule night has submitted no batch: batch x is not over"
    world.happens(ev.ScheduleStarted(at, "night", at), ev.ScheduleEnded(at, "night", at, batch_id="c"))
    assert len(world.told(ev.AlertResolved)) == 1


def test_what_is_told_of_a_batch_is_over_with_it() -> None:
    world = watched(jobs=4, budget_tokens=1000)
    uses(world, 900)
    world.run()
    assert [event.why for event in world.told(ev.AlertResolved)] == ["batch b is over"]
    assert not world.state.alerts.open
    assert [alert.id for alert in world.state.alerts.past] == ["budget.b"]


def test_a_healthy_batch_raises_none() -> None:
    world = watched()
    world.run()
    assert not world.told(ev.AlertRaised)
    assert not world.state.alerts.idle


def test_only_so_many_that_are_over_are_remembered() -> None:
    world = Watched(local=1)
    for number in range(MOST_PAST + 10):
        world.record(ev.AlertRaised(world.now, str(number), "paused", "", "x"))
        world.record(ev.AlertResolved(world.now, str(number), "paused", "", "x"))
    assert [alert.id for alert in world.state.alerts.past][::99] == ["10", "109"]
