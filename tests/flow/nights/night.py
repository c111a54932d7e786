"""A night of 300 jobs: agents make requests, are refused, wait and are woken; the daemon restarts in between.

Only the world is simulated. What is launched, paused, told and given up is decided by the product's own `plan` and
`apply`. The ways that it is compared with differ in what is told to the core: without the governor, all refusals are
one thing and slots are fixed; `Additive` raises the level by one and halves it.
"""

from collections import Counter
from dataclasses import dataclass
from heapq import heappop, heappush
from random import Random

from supervisor.flow.plan import next_at
from supervisor.flow.requests import decide
from supervisor.model import event as ev
from supervisor.model import request as rq
from supervisor.model.attempt import AttemptKey, Stage
from supervisor.model.effect import Effect, Launch, Nudge
from supervisor.model.profile import Profile
from supervisor.model.state import State
from tests.flow.nights.provider import HOUR, Provider, Span, Weather
from tests.flow.world import NOON, World

JOBS, BATCH = 300, "b"
SLOTS = 60
LAUNCH_SECONDS, QUIET_SECONDS = 8.0, 10.0
#: of one request, with what the agent does before the next one
REQUEST_SECONDS = 24.0
#: requests of a job; tokens of a request; so often usage is counted
REQUESTS, TOKENS, COUNTED = (20, 60), 9000, 2
#: what an agent sends with its first request, and how much more with each one
FIRST_CONTEXT, MORE_CONTEXT = 15_000, 1500
#: how often an agent's program tries again by itself
TRIES = 2
LONGEST_NIGHT = 40 * HOUR


@dataclass
class Agent:
    """`life` changes when it is told something or given up, so that nothing that was planned before still happens."""

    needs: int
    made: int = 0
    tries: int = 0
    life: int = 0


@dataclass(frozen=True)
class Came:
    """What a night came to."""

    hours: float
    refused: int
    launches: int
    outcomes: Counter[str]
    #: seconds in which the provider granted no window, and in which nothing worked for that reason
    closed_seconds: float
    lost_seconds: float
    #: launches inside a window that the core had been told of
    launched_closed: int
    tokens: int
    requeued_at_a_cost: int

    @property
    def jobs_per_hour(self) -> float:
        return JOBS / self.hours


class Additive(World):
    """One more when all agents were answered; half of them when one is refused, once in a minute.

    Everything else is the governor's: the first level, pauses, sleep. It rises without waiting for refusals."""

    EPISODE_SECONDS = 60.0

    def record(self, event: ev.Event) -> None:
        super().record(event)
        for account in self.state.accounts.values():
            self.state = self.state.drop(("raise", account.name), ("lower", account.name))
            level, name = account.level, account.name
            if isinstance(event, ev.AgentHindered) and event.problem == "rate":
                if event.at >= level.lowered_at + self.EPISODE_SECONDS:
                    super().record(ev.LevelChanged(event.at, name, max(1, level.agents // 2), "halved", refused=True))
            elif level.served >= level.agents <= account.busy and not account.pauses:
                super().record(ev.LevelChanged(event.at, name, level.agents + 1, "one more"))


class Night:
    def __init__(self, seed: int, world: World, *, is_governed: bool = True, restarts: bool = True) -> None:
        self.world, self.is_governed = world, is_governed
        self.provider: Provider = Weather(NOON, seed).provider()
        self._random = Random(seed)
        self._needs = {job: self._random.randint(*REQUESTS) for job in range(1, JOBS + 1)}
        self._agents: dict[AttemptKey, Agent] = {}
        self._heap: list[tuple[float, int, str, AttemptKey | None, int]] = []
        self._number = 0
        self._working: list[tuple[float, int]] = []
        self._told_until = 0.0
        self.launched_closed = 0
        world.watchers.append(self._watch)
        for span in self.provider.spans:
            middle = self._random.uniform(span.since, span.until)
            if restarts:
                self._at(middle, "restart")
            if span.problem == "login":
                self._at(span.until + 60, "resume")
        if restarts:
            for storm in self.provider.storms:
                self._at(self._random.uniform(storm.since, storm.until), "restart")

    def _at(self, when: float, what: str, key: AttemptKey | None = None, life: int = 0) -> None:
        self._number += 1
        heappush(self._heap, (when, self._number, what, key, life))

    def _watch(self, before: State, event: ev.Event) -> None:
        if isinstance(event, ev.LaunchStarted):
            self.launched_closed += any(
                span.problem == "window" and span.since <= event.at < span.until and self._told_until > event.at
                for span in self.provider.spans
            )

    # --- the night

    def run(self) -> Came:
        world = self.world
        world.submit(BATCH, JOBS, profile=Profile(retries=0, job_timeout_seconds=2 * HOUR, breaker_jobs=0))
        self._begin()
        lost = 0.0
        while BATCH in world.state.batches and world.now < NOON + LONGEST_NIGHT:
            times = [self._heap[0][0]] if self._heap else []
            due = next_at(world.state, world.now)
            upcoming = min([*times, *([due] if due is not None else [])])
            lost += max(0.0, upcoming - world.now) * self._is_lost()
            world.wait(max(0.0, upcoming - world.now))
            while self._heap and self._heap[0][0] <= world.now:
                _, _, what, key, life = heappop(self._heap)
                self._happens(what, key, life)
            self._begin()
        return self._came(lost)

    def _is_lost(self) -> bool:
        """Nothing works, and jobs wait."""
        states = self.world.state.attempts.values()
        works = any(each.stage in (Stage.LAUNCHING, Stage.LIVE) and each.quiet_since is None for each in states)
        span = next((s for s in self.provider.spans if s.since <= self.world.now < s.until + 300), None)
        return not works and span is not None and span.problem == "window"

    def _came(self, lost: float) -> Came:
        world = self.world
        ends = world.told(ev.JobEnded)
        return Came(
            hours=(ends[-1].at - NOON) / HOUR if len(ends) == JOBS else float("inf"),
            refused=self.provider.refused,
            launches=len(world.told(ev.LaunchStarted)),
            outcomes=Counter(event.outcome for event in ends),
            closed_seconds=self.provider.closed_seconds,
            lost_seconds=lost,
            launched_closed=self.launched_closed,
            tokens=self.provider.served * TOKENS,
            requeued_at_a_cost=sum(event.counts for event in world.told(ev.JobRequeued)),
        )

    def _begin(self) -> None:
        """Devices take their time to launch, and answer everything else at once."""
        while asked := [each for each in self.world.asked if not isinstance(each, Launch)]:
            for effect in asked:
                if effect in self.world.asked:
                    self.world.answer(effect, self.world.success(effect))
                    self._told(effect)
        for effect in self.world.pending(Launch):
            if effect.attempt.key not in self._agents:
                self._agents[effect.attempt.key] = Agent(self._needs[effect.attempt.key.job])
                self._at(self.world.now + LAUNCH_SECONDS, "launched", effect.attempt.key)

    def _told(self, effect: Effect) -> None:
        """Who is told something goes on, or publishes what it has."""
        if isinstance(effect, Nudge) and (agent := self._agents.get(effect.attempt.key)) is not None:
            agent.life, agent.tries = agent.life + 1, 0
            self.world.hear(ev.AgentStirred(self.world.now, *effect.attempt.key))
            what = "publish" if effect.began.reason in ("cap", "budget") else "request"
            self._at(self.world.now + 1, what, effect.attempt.key, agent.life)

    # --- what happens in it

    def _happens(self, what: str, key: AttemptKey | None, life: int) -> None:
        if key is None:
            self._of_the_daemon(what)
            return
        agent, attempt = self._agents[key], self.world.state.attempts.get(key)
        if what == "launched":
            for effect in self.world.pending(Launch):
                if effect.attempt.key == key:
                    self.world.answer(effect, self.world.success(effect))
            self._at(self.world.now + 1, "request", key, agent.life)
        elif attempt is None or attempt.stage is not Stage.LIVE or agent.life != life:
            return
        elif what == "request":
            self._requests(key, agent)
        elif what == "quiet":
            self.world.hear(ev.AgentFellQuiet(self.world.now, *key, since=self.world.now - QUIET_SECONDS, waits=True))
            self.world.catch_up()
        else:
            self._publishes(key, agent)

    def _of_the_daemon(self, what: str) -> None:
        world = self.world
        if what == "resume":
            for request in (rq.Resume(BATCH), rq.Resume()):
                if BATCH in world.state.batches:
                    world.happens(*decide(world.state, request, world.now))
            return
        launching = [key for key, each in world.state.attempts.items() if each.stage is Stage.LAUNCHING]
        world.restart()
        for key in launching:
            world.happens(ev.LaunchSucceeded(world.now, *key, host_id="host", adopted=True))

    def _requests(self, key: AttemptKey, agent: Agent) -> None:
        now = self.world.now
        span = self.provider.refuses(now)
        if span is None:
            agent.made, agent.tries = agent.made + 1, 0
            if agent.made % COUNTED == 0 or agent.made == agent.needs:
                self._is_counted(key, agent)
            done = agent.made >= agent.needs
            wait = REQUEST_SECONDS * self._random.uniform(0.7, 1.3)
            self._at(now + wait, "publish" if done else "request", key, agent.life)
        elif agent.tries < TRIES and span.problem in ("rate", "overload"):
            agent.tries += 1
            wait = span.until - now if span.problem == "rate" else 5.0 * agent.tries
            self._at(now + wait * self._random.uniform(1.0, 1.3), "request", key, agent.life)
        else:
            self._is_refused(key, span)
            self._at(now + QUIET_SECONDS, "quiet", key, agent.life)

    def _is_counted(self, key: AttemptKey, agent: Agent) -> None:
        attempt = self.world.state.attempts[key]
        job = self.world.state.batches[BATCH].job(key.job)
        if job.setbacks.hindrance:
            self.world.hear(ev.AgentHindered(self.world.now, *key, problem=""))
        if attempt.usage.tokens < agent.made * TOKENS:
            self.world.hear(_counted(self.world.now, key, agent.made))
        self.world.catch_up()

    def _is_refused(self, key: AttemptKey, span: Span) -> None:
        """Without the governor, whatever passes by itself is a limit, and nobody knows how long."""
        now = self.world.now
        problem, until = span.problem, span.until if span.problem in ("window", "rate") else 0.0
        if span.problem == "window":
            self._told_until = span.until
        if not self.is_governed:
            problem, until = ("login" if span.problem == "login" else "limit"), 0.0
        self.world.hear(ev.AgentHindered(now, *key, problem=problem, until=until, since=now, detail=span.problem))
        self.world.catch_up()

    def _publishes(self, key: AttemptKey, agent: Agent) -> None:
        self._is_counted(key, agent)
        if self.world.state.attempts[key].stage is Stage.LIVE:
            self.world.hear(ev.WorkPublished(self.world.now, *key))
            self.world.catch_up()


def _counted(at: float, key: AttemptKey, requests: int) -> ev.UsageCounted:
    """Most of what is sent was sent before."""
    tokens = requests * TOKENS
    new, said = tokens // 10, tokens // 20
    context = FIRST_CONTEXT + MORE_CONTEXT * requests
    read = tokens - new - said
    return ev.UsageCounted(at, *key, input=new, written=new, output=said, cached=read, model="opus", context=context)


def governed(seed: int) -> Came:
    world = World(local=SLOTS)
    return Night(seed, world.happens(ev.AccountsConfigured(world.now, ()))).run()


def fixed(seed: int, slots: int) -> Came:
    return Night(seed, World(local=slots), is_governed=False).run()


def additive(seed: int) -> Came:
    world = Additive(local=SLOTS)
    return Night(seed, world.happens(ev.AccountsConfigured(world.now, ()))).run()


WAYS = {
    "governed": governed,
    "fixed 10": lambda seed: fixed(seed, 10),
    "fixed 50": lambda seed: fixed(seed, 50),
    "additive": additive,
}
