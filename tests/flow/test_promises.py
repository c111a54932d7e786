"""Whatever happens, in whatever order, the promises hold.

A state machine of Hypothesis plays the people, the agents and the devices against the core. Devices succeed, fail,
speak late, twice or never; the daemon restarts at any moment; events come in bursts before anything is planned.
After every step the laws are checked. At the end everyone behaves, and then every batch must end.
"""

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from supervisor.errors import Refused
from supervisor.flow.plan import next_at
from supervisor.flow.requests import decide
from supervisor.model import event as ev
from supervisor.model import request as rq
from supervisor.model.attempt import AttemptKey, Stage
from supervisor.model.batch import BatchState
from supervisor.model.effect import Effect
from supervisor.model.profile import Profile
from supervisor.model.state import State
from tests.flow.laws import Historian, check_books, check_nothing_is_forgotten
from tests.flow.world import NOON, World, numbered, replayed
from tests.properties import examples, is_long

POOLS = (
    ev.PoolSpec("local", "local", 2),
    ev.PoolSpec("ssh", "ssh", 2, hosts=("left", "right"), launch_rate=0.2),
    ev.PoolSpec("cloud", "modal", 3, agents_per_host=2, host_seconds=5000),
)
#: what the world may say of an attempt without having been asked
SAID: tuple[Callable[..., ev.AttemptEvent], ...] = (
    ev.WorkPublished,
    ev.AgentVanished,
    ev.AgentReleased,
    ev.WorkRescued,
    partial(ev.WorkCollected, claim="improved", head="c0de", commits=1),
    ev.AgentStirred,
    partial(ev.AgentFellQuiet, since=NOON, waits=True),
    partial(ev.AgentFellQuiet, since=NOON, waits=True, unheard=True),
    partial(ev.AgentFellQuiet, since=NOON),
    ev.JobParked,
    ev.JobUnparked,
    partial(ev.AgentHindered, problem="limit"),
    partial(ev.AgentHindered, problem="login"),
    partial(ev.AgentHindered, problem=""),
    partial(ev.UsageCounted, input=3, output=1, model="m"),
    partial(ev.UsageCounted, input=5, output=2, cached=1, errors=1),
    partial(ev.PublicationRefused, reason="path-escape"),
)
#: what is rarely true, and must do no harm
NONSENSE: tuple[Callable[..., ev.AttemptEvent], ...] = (
    *SAID,
    partial(ev.LaunchSucceeded, host_id="host"),
    partial(ev.LaunchInterrupted, host_id="host"),
    partial(ev.LaunchFailed, reason="timeout"),
    partial(ev.WorkVerified, outcome="failed"),
    ev.AgentStalled,
    ev.AgentNudged,
)

indices = st.integers(0, 11)
REASONS = "provider missing rate refused not-started timeout killed garbage interrupted duplicate"
reasons = st.sampled_from(REASONS.split())
names = st.sampled_from(["a", "b", "c"])
numbers = st.integers(0, 4)
pools = st.sampled_from([spec.name for spec in POOLS])
profiles = st.builds(
    Profile,
    pools=st.lists(pools, min_size=1, max_size=3, unique=True).map(tuple),
    slots=st.integers(0, 2),
    retries=st.integers(0, 2),
    keep_agents=st.sampled_from(["all", "failed", "none"]),
    window=st.sampled_from(["", "", "22:00-06:00", "11:59-12:01"]),
    job_timeout_seconds=st.sampled_from([30.0, 3600.0]),
    on_parked=st.sampled_from(["notify", "deny", "time-out"]),
    integrate_share=st.sampled_from([0.0, 0.3, 0.7]),
    integrate_after_seconds=st.sampled_from([0.0, 0.0, 20.0]),
    budget_tokens=st.sampled_from([0, 0, 4, 9]),
    breaker_jobs=st.sampled_from([0, 1, 2, 5]),
    canaries=st.sampled_from([0, 1, 3]),
    survey=st.sampled_from(["file", "full"]),
    hold_siblings=st.booleans(),
)


class Promises(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.world = self.new_world()
        self.historian = Historian()
        self.world.watchers.append(self.historian)
        self.answered: list[Effect] = []
        self.in_a_burst = False
        self.remembered: list[tuple[State, str]] = []

    def new_world(self) -> World:
        return World(*POOLS)

    def tell(self, event: ev.Event) -> None:
        self.world.hear(event)
        self.plans_unless_busy()

    def plans_unless_busy(self) -> None:
        """Mostly what is due begins at once; but the shell takes what comes in a burst in one turn."""
        if not self.in_a_burst:
            self.world.catch_up()
            check_nothing_is_forgotten(self.world.state, self.world.asked)

    @rule()
    def a_burst_begins(self) -> None:
        self.in_a_burst = True

    # --- people

    def ask(self, request: rq.Request) -> None:
        """A request is decided on the state at hand, so what it comes to is always possible."""
        try:
            events = decide(self.world.state, request, self.world.now)
        except Refused:
            return
        for event in events:
            self.world.record(event)
        self.plans_unless_busy()

    @initialize(tests=st.integers(1, 4), profile=profiles)
    def starts_with_a_batch(self, tests: int, profile: Profile) -> None:
        self.submits("a", tests, profile, 0)

    @rule(batch=names, tests=st.integers(1, 4), profile=profiles, priority=st.integers(0, 1))
    def submits(self, batch: str, tests: int, profile: Profile, priority: int) -> None:
        if not self.historian.finished[batch]:  # ids are never used again
            self.ask(rq.Submit(batch, "/repo", "base", numbered(tests, tests), profile, priority))

    @rule(batch=names, job=numbers, kind=st.sampled_from([rq.Cancel, rq.Retry]))
    def steers(self, batch: str, job: int, kind: type[rq.Cancel | rq.Retry]) -> None:
        self.ask(kind(batch, job))

    @rule(batch=names)
    def wants_what_is_done(self, batch: str) -> None:
        self.ask(rq.IntegrateSoFar(batch, author="ann"))

    @rule(
        request=st.builds(rq.Pause, names | st.just(""))
        | st.builds(rq.Resume, names | st.just(""))
        | st.builds(rq.SetSlots, pools, st.integers(0, 3))
        | st.builds(rq.Configure, st.lists(st.sampled_from(POOLS), max_size=3, unique=True).map(tuple))
    )
    def governs(self, request: rq.Request) -> None:
        self.ask(request)

    # --- agents and devices

    @precondition(lambda self: self.world.asked)
    @rule(which=indices, succeeds=st.booleans(), reason=reasons)
    def a_device_answers(self, which: int, succeeds: bool, reason: str) -> None:
        effect = self.world.asked.pop(which % len(self.world.asked))
        self.answered.append(effect)
        self.tell(self.world.success(effect) if succeeds else self.world.failure(effect, reason))

    @precondition(lambda self: self.world.asked)
    @rule(fails=st.sampled_from(["", "", "", "", "provider", "timeout"]))
    def all_devices_answer(self, fails: str) -> None:
        self.answered += self.world.asked
        for effect in list(self.world.asked):
            if effect not in self.world.asked:
                continue  # given up because of what another one came to
            self.world.asked.remove(effect)
            self.tell(self.world.failure(effect, fails) if fails else self.world.success(effect))

    @precondition(lambda self: self.answered)
    @rule(which=indices, succeeds=st.booleans(), reason=reasons)
    def a_device_answers_again(self, which: int, succeeds: bool, reason: str) -> None:
        effect = self.answered[which % len(self.answered)]
        self.tell(self.world.success(effect) if succeeds else self.world.failure(effect, reason))

    @precondition(lambda self: self.world.state.attempts)
    @rule(which=indices, said=st.sampled_from(SAID))
    def something_is_said(self, which: int, said: Callable[..., ev.AttemptEvent]) -> None:
        """Of an agent that is there, asked or not."""
        keys = sorted(self.world.state.attempts)
        self.tell(said(self.world.now, *keys[which % len(keys)]))

    @precondition(lambda self: self.world.state.attempts)
    @rule(said=st.sampled_from([ev.WorkPublished, ev.WorkPublished, ev.AgentVanished]))
    def all_agents_end(self, said: type[ev.AttemptEvent]) -> None:
        for key in sorted(self.world.state.attempts):
            self.tell(said(self.world.now, *key))

    @rule(batch=names, job=st.integers(-1, 9), attempt=numbers, kind=st.sampled_from(NONSENSE))
    def nonsense_is_said(self, batch: str, job: int, attempt: int, kind: Callable[..., ev.AttemptEvent]) -> None:
        """Of a job or an attempt that is over, or never was. What an old verdict says counts for nothing."""
        self.tell(kind(self.world.now, batch, job, attempt))

    # --- time and the daemon

    @rule(seconds=st.sampled_from([0.0, 1.0, 10.0, 60.0, 3600.0, 40000.0, 90000.0]))
    def time_passes(self, seconds: float) -> None:
        """All at once, as on a machine that slept: much is due together."""
        self.world.now += seconds
        self.plans_unless_busy()

    @rule()
    def things_fall_due(self) -> None:
        at = next_at(self.world.state, self.world.now)
        self.world.now = max(self.world.now, at if at is not None else 0.0)
        self.plans()

    @precondition(lambda self: self.in_a_burst)
    @rule()
    def plans(self) -> None:
        self.in_a_burst = False
        self.plans_unless_busy()

    @rule(found=st.sampled_from(["alive", "half made", "nothing"]))
    def the_daemon_restarts(self, found: str) -> None:
        """What was asked may have happened, but nobody heard. Launches are looked up, all else is asked again."""
        world = self.world
        self.answered += world.asked
        world.asked.clear()
        world.record(ev.DaemonStarted(world.now))
        for key, attempt in sorted(world.state.attempts.items()):
            if attempt.stage is Stage.LAUNCHING:
                world.record(self.recovered(key, found))
        self.plans()

    def recovered(self, key: AttemptKey, found: str) -> ev.Event:
        now = self.world.now
        if found == "alive":
            return ev.LaunchSucceeded(now, *key, host_id="host", adopted=True)
        if found == "half made":
            return ev.LaunchInterrupted(now, *key, host_id="host")
        return ev.LaunchFailed(now, *key, reason="interrupted")

    def at_last(self) -> tuple[rq.Request, ...]:
        return ()

    # --- what always holds

    @invariant()
    def the_books_add_up(self) -> None:
        check_books(self.world.state)

    @invariant()
    def the_past_never_changes(self) -> None:
        if len(self.world.events) % 7 == 0:
            self.remembered.append((self.world.state, repr(self.world.state)))

    def teardown(self) -> None:
        """Everyone behaves from now on: then all that was submitted ends. And the journal tells the same story."""
        world = self.world
        for request in (*self.at_last(), rq.Resume(), rq.Configure(()), rq.Configure(POOLS)):
            self.ask(request)
        for batch in world.state.in_order():
            self.ask(rq.Resume(batch.id))
        self.plans()
        for batch in world.state.in_order():
            cancelled = batch.state is BatchState.CANCELLED
            self.ask(rq.Resume(batch.id))  # it may have been stopped while another ran
            world.run(batch.id)
            assert self.historian.integrations[batch.id] == (0 if cancelled else 1)
        assert not world.state.batches
        assert not world.state.attempts
        assert all(item[0] in ("rest", "clear", "open", "hours", "raise") for item in world.state.agenda.times)
        assert all(life.over or not life.attempts for life in self.historian.jobs.values())
        assert replayed(world.events) == world.state
        assert all(repr(state) == seen for state, seen in self.remembered)


tried = settings(
    max_examples=examples(2), stateful_step_count=80 if is_long() else 40, suppress_health_check=list(HealthCheck)
)
TestPromises = pytest.mark.timeout(1200)(Promises.TestCase)
TestPromises.settings = tried
