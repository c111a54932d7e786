"""The promises hold under limits, too: whatever providers refuse, and whatever is spent.

Never are there more agents than slots, level, caps and windows allow, and whatever waits has something that ends its
wait (`laws`). When everyone behaves at last, every job comes to its end: nothing that was refused has failed a job.
"""

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from supervisor.flow.governor import shares
from supervisor.model import event as ev
from supervisor.model import request as rq
from supervisor.model.account import AccountSpec, Budget, Caps
from supervisor.model.pressure import Pressure
from supervisor.model.profile import Profile
from supervisor.model.share import WindowShare
from tests.flow.test_promises import POOLS, Promises, indices
from tests.flow.world import World, numbered
from tests.properties import examples, is_long

ACCOUNTS = (
    AccountSpec("claude", first=2),
    AccountSpec("capped", first=3, caps=Caps(day_tokens=40, week_tokens=100), leave=0.1),
    AccountSpec("paid", first=2, is_paid=True, slots=2, caps=Caps(day_dollars=0.001), pace=True),
    AccountSpec("daytime", first=2, no_use="11:00-13:00"),
)
BUDGET = Budget(Caps(day_tokens=60), guess_tokens=10, grace_seconds=20)
names = st.sampled_from([spec.name for spec in ACCOUNTS])
problems = st.sampled_from(["window", "rate", "overload", "login", "credit", "limit", ""])
profiles = st.builds(
    Profile,
    accounts=st.lists(names, max_size=3, unique=True).map(tuple),
    agent=st.sampled_from(["claude", "command"]),
    agent_args=st.sampled_from([(), ("--model", "opus"), ("--model=haiku",)]),
    retries=st.integers(0, 1),
    job_timeout_seconds=st.sampled_from([30.0, 3600.0]),
    budget_tokens=st.sampled_from([0, 0, 30]),
    budget_dollars=st.sampled_from([0.0, 0.0, 0.0005]),
    pools=st.sampled_from([("local",), ("cloud", "local")]),
)


class Governed(Promises):
    def new_world(self) -> World:
        auto = ev.PoolSpec("local", "local", 4, auto=True)
        world = World(auto, *POOLS[1:])
        return world.happens(ev.AccountsConfigured(world.now, ACCOUNTS, BUDGET))

    def at_last(self) -> tuple[rq.Request, ...]:
        return (rq.ConfigureAccounts((AccountSpec("claude", first=2),)),)

    @rule(batch=st.sampled_from(["a", "b", "c"]), tests=st.integers(1, 6), profile=profiles)
    def submits_on_accounts(self, batch: str, tests: int, profile: Profile) -> None:
        if not self.historian.finished[batch]:
            self.ask(rq.Submit(batch, "/repo", "base", numbered(tests), profile))

    @precondition(lambda self: self.world.state.attempts)
    @rule(
        which=indices,
        problem=problems,
        until=st.sampled_from([0.0, 0.0, 5.0, 300.0, 18000.0]),
        model=st.sampled_from(["", "", "opus"]),
        waits=st.booleans(),
    )
    def an_agent_is_refused(self, which: int, problem: str, until: float, model: str, *, waits: bool) -> None:
        now, keys = self.world.now, sorted(self.world.state.attempts)
        key = keys[which % len(keys)]
        said = ev.AgentHindered(now, *key, problem=problem, until=now + until if until else 0, since=now, model=model)
        self.tell(said)
        if waits:
            self.tell(ev.AgentFellQuiet(now, *key, since=now, waits=True))

    @precondition(lambda self: self.world.state.attempts)
    @rule(
        tokens=st.integers(1, 30),
        model=st.sampled_from(["claude-opus-5", "claude-haiku-5"]),
        context=st.sampled_from([0, 1, 200]),
    )
    def all_agents_are_served(self, tokens: int, model: str, context: int) -> None:
        for key, attempt in sorted(self.world.state.attempts.items()):
            told = attempt.usage.output + tokens
            self.tell(ev.UsageCounted(self.world.now, *key, output=told, model=model, context=context))

    @rule(
        name=names,
        minutes=st.sampled_from([300, 10_080]),
        used=st.sampled_from([-1.0, 0.0, 0.3, 0.9, 0.995, 1.0, 7.0]),
        left=st.sampled_from([-1.0, 60.0, 9000.0, 18_000.0, 500_000.0, 1e9]),
    )
    def a_provider_tells_of_a_window(self, name: str, minutes: int, used: float, left: float) -> None:
        now = self.world.now
        told = WindowShare(minutes, used, now + left, now)
        if (event := shares.heard(self.world.state, name, told, now)) is not None:
            self.tell(event)

    @rule(memory=st.integers(0, 9000), share=st.sampled_from([0.0, 0.0, 0.3, 0.9]))
    def the_machine_is_under_pressure(self, memory: int, share: float) -> None:
        self.tell(ev.PressureSeen(self.world.now, Pressure(memory, 10_000, 50_000, 5000, share)))

    @rule(accounts=st.sampled_from([ACCOUNTS, ACCOUNTS[:2], ()]), caps=st.sampled_from([BUDGET, Budget()]))
    def is_configured(self, accounts: tuple[AccountSpec, ...], caps: Budget) -> None:
        self.ask(rq.ConfigureAccounts(accounts, caps))


TestGoverned = pytest.mark.timeout(1200)(Governed.TestCase)
TestGoverned.settings = settings(
    max_examples=examples(2), stateful_step_count=80 if is_long() else 40, suppress_health_check=list(HealthCheck)
)
