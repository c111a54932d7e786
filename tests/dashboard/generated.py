"""A night in the making: thousands of jobs in every state, and hostile names among them."""

import random
from dataclasses import dataclass

from supervisor.model import event as ev
from supervisor.model.attempt import AttemptKey
from supervisor.model.effect import Collect, Effect, Launch, Release, Verify
from supervisor.model.evidence import Evidence, Necessity, Reach, Strength
from supervisor.model.profile import Profile
from tests.flow.world import World

BATCH = "k3f9x"
REPO = "/srv/shop"
BASE, HEAD = "c0de" * 10, "5e1f" * 10
SCRIPT = "tests/test_<script>window.pwned=1</script>.py::test_<img src=x onerror=window.pwned=1>"
TURNED = "tests/test_\u202egnp.exe\u2066\u200b.py::test_it"
LONG = "tests/" + "very_long_name_" * 60 + ".py::test_it"
#: by the number of their jobs
HOSTILE = {3: SCRIPT, 5: TURNED, 8: LONG, 11: "tests/test_it.py::test_\"'>{{7*7}}&amp;</li></main>"}
AREAS = ("cart", "catalog", "checkout", "export", "import", "login", "profile", "report", "search", "sync")
CAUSES = (
    "no server answers at 127.0.0.1:8431 after 30 s",
    "the fixture `shop` could not be set up: no such table 'items'",
    "the change breaks tests/test_cart.py::test_total",
    "gave up after 14 runs: the prompt never appears",
)
SOMETIMES = "the test passed 3 of 4 runs"
DOUBT = "tests/test_cart.py::test_total: expects `12` instead of `120`"
EVIDENCE = Evidence(Reach(41, 44), Strength(15, 13, 9), Necessity(("shop/cart.py",)), runs=21, alone=True)
TICK = 60.0


def tests(count: int) -> tuple[str, ...]:
    named = (
        f"tests/e2e/test_{AREAS[n % len(AREAS)]}_{n // 40:03}.py::test_{AREAS[(n // 7) % len(AREAS)]}_case_{n:05}"
        for n in range(1, count + 1)
    )
    return tuple(HOSTILE.get(n, name) for n, name in enumerate(named, 1))


@dataclass
class Making:
    """Plays the devices of a night, minute by minute."""

    world: World
    chance: random.Random
    head: str

    def go(self, effect: Effect) -> None:
        self.world.answer(effect, self.said(effect))

    def said(self, effect: Effect) -> ev.Event:
        if isinstance(effect, Collect) and not effect.rescue:
            key = effect.attempt.key
            claim = self.chance.choices(("fixed", "improved", "clean", "blocked", "failed"), (47, 15, 26, 3, 9))[0]
            head = self.head if claim in ("fixed", "improved") else ""
            detail = self.chance.choice(CAUSES) if claim in ("failed", "blocked") else ""
            return ev.WorkCollected(
                self.world.now, *key, claim=claim, detail=detail, head=head, commits=1 if head else 0
            )
        if isinstance(effect, Verify):
            return self.verified(effect.keys[0])
        return self.world.success(effect)

    def verified(self, key: AttemptKey) -> ev.WorkVerified:
        job = self.world.state.batches[key.batch].job(key.job)
        now, claim = self.world.now, job.brought.claim
        if claim not in ("fixed", "improved"):
            return ev.WorkVerified(now, *key, outcome=claim, detail=job.detail, verification="not-needed")
        turn = self.chance.random()
        if turn < 0.04:
            return ev.WorkVerified(
                now,
                *key,
                outcome="failed",
                verification="flaky",
                reason=SOMETIMES,
                detail=SOMETIMES,
                runs=4,
                passed=3,
            )
        if turn < 0.09:
            reason = self.chance.choice(("skip: the test is skipped", "loosened: an assertion is weaker"))
            return ev.WorkVerified(now, *key, outcome="failed", verification="refused", reason=reason, detail=reason)
        doubts = (DOUBT,) if turn < 0.16 else ()
        return ev.WorkVerified(
            now,
            *key,
            outcome=claim,
            verification="verified",
            reason="passed 4 of 4",
            runs=4,
            passed=4,
            failed_before=claim == "fixed",
            doubts=doubts,
            evidence=EVIDENCE,
        )

    def minute(self, ends: int) -> None:
        world = self.world
        for half in range(2):
            world.wait(TICK / 2)
            self.each(Verify)
            live = [each for each in world.state.attempts.values() if each.stage == "live" and not each.usage.tokens]
            for attempt in self.chance.sample(live, min((ends + half) // 2, len(live))):
                self.ends(attempt.key)
            self.each(Collect)
            self.each(Release)
            self.each(Launch)

    def each(self, kind: type[Effect], most: int = 10_000) -> None:
        for effect in self.world.pending(kind)[:most]:
            self.go(effect)

    def ends(self, key: AttemptKey) -> None:
        self.used(key, self.chance.randint(20_000, 400_000))
        if self.chance.random() < 0.03:
            self.world.happens(ev.AgentVanished(self.world.now, *key, detail="its process ended"))
        else:
            self.world.happens(ev.WorkPublished(self.world.now, *key))

    def used(self, key: AttemptKey, tokens: int) -> None:
        count = ev.UsageCounted(
            self.world.now, *key, tokens // 10, tokens // 30, tokens, tool_calls=tokens // 9000, model="a-model-4"
        )
        self.world.happens(count)


def generated(
    now: float, *, jobs: int = 10_000, agents: int = 300, minutes: int = 320, base: str = BASE, head: str = HEAD
) -> World:
    """`agents` are at work now, some wait for a person; what came before has ended in every way there is. `head` is
    what each of them has committed."""
    world = World(
        ev.PoolSpec("local", "local", agents // 5),
        ev.PoolSpec("modal", "modal", agents - agents // 5),
        verify_slots=24,
    )
    world.now = now - (minutes + 1) * TICK
    profile = Profile(
        "overnight",
        retries=0,
        pools=("local", "modal"),
        budget_tokens=1_500_000_000,
        verify_group=1,
        breaker_jobs=0,
        breaker_share=0,
    )
    submitted = ev.BatchSubmitted(
        world.now, BATCH, REPO, base, tests(jobs), profile, author="ann", submitted_from="main"
    )
    making = Making(world, random.Random(7), head)
    world.happens(submitted)
    for effect in world.pending(Launch):
        making.go(effect)
    for minute in range(minutes):
        making.minute(round(agents / 18 * (0.7 + 0.5 * ((minute * 7) % 11) / 10)))
    _in_between(making)
    return world


def _in_between(making: Making) -> None:
    """Some are just being brought home, verified or launched, and some wait for a person."""
    world = making.world
    world.wait(5)
    live = [each.key for each in world.state.attempts.values() if each.stage == "live"]
    for key in live[:4]:
        world.happens(ev.JobParked(world.now, *key, question="May I run `rm -rf build`?"))
    for key in live[4:40]:
        world.happens(ev.WorkPublished(world.now, *key))
    alike = f"14 jobs of {BATCH} fail in the same way: no server answers at 127.0.0.1:8431 after 30 s"
    world.happens(ev.AlertRaised(world.now, "same-failure:1", "same-failure", BATCH, alike))
    for kind, count in ((Collect, 30), (Release, 24), (Launch, 18)):
        making.each(kind, count)
