"""A world for the core to live in: it plays the shell and its devices, and remembers all that happened."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import reduce
from typing import Self

from supervisor.errors import ImpossibleTransition
from supervisor.flow import batches, breaker, history, surveying, verifying
from supervisor.flow.plan import next_at, plan
from supervisor.model import event as ev
from supervisor.model.account import AccountSpec
from supervisor.model.attempt import Attempt, AttemptKey, Stage
from supervisor.model.batch import Batch
from supervisor.model.effect import (
    Abandon,
    Clear,
    Collect,
    Effect,
    Integrate,
    IntegrateSoFar,
    Launch,
    LeaveBase,
    Note,
    Nudge,
    Release,
    Revise,
    RunAtBase,
    Verify,
)
from supervisor.model.job import Job
from supervisor.model.pool import Pool
from supervisor.model.profile import Profile
from supervisor.model.state import State
from supervisor.model.survey import Surveyed
from supervisor.observe.why import explain
from tests.flow.families import surveyed, verified

#: 2025-01-15, a Wednesday, at noon UTC
NOON = 1736942400.0
INSTALLATION = "c0ffee"
RETRY_SECONDS = 10.0
#: limits nothing by itself
AMPLE = (AccountSpec("claude", first=1000),)


def numbered(count: int, files: int = 1) -> tuple[str, ...]:
    if files == 1:
        return tuple(f"tests/test_it.py::test_{n}" for n in range(1, count + 1))
    return tuple(f"tests/test_{(n - 1) * files // count + 1}.py::test_{n}" for n in range(1, count + 1))


class World:
    """`World(local=2)` has one pool of two slots, and an account without a level that matters.

    Whatever happens in it is followed by what is then due."""

    def __init__(self, *pools: ev.PoolSpec, verify_slots: int = 1000, **slots: int) -> None:
        self.state = State(installation=INSTALLATION)
        self.now = NOON
        #: all that was accepted, in order: the journal
        self.events: list[ev.Event] = []
        #: what was asked of the devices and not answered yet
        self.asked: list[Effect] = []
        #: whoever wants to know of each accepted event, with the state before it
        self.watchers: list[Callable[[State, ev.Event], None]] = []
        named = tuple(ev.PoolSpec(name, name, count) for name, count in slots.items())
        self.happens(ev.PoolsConfigured(self.now, (*pools, *named), verify_slots))
        self.happens(ev.AccountsConfigured(self.now, AMPLE))

    # --- what happens

    def happens(self, *events: ev.Event) -> Self:
        for event in events:
            self.record(event)
        return self.catch_up()

    def record(self, event: ev.Event) -> None:
        before, self.state = self.state, history.apply(self.state, event)
        self.events.append(event)
        for watch in self.watchers:
            watch(before, event)

    def hear(self, event: ev.Event) -> None:
        """Devices repeat themselves and speak late: what the state does not allow did not happen."""
        with suppress(ImpossibleTransition):
            self.record(event)

    def refuses(self, event: ev.Event) -> bool:
        """Whether the core calls this event impossible. It leaves no trace then."""
        try:
            history.apply(self.state, event)
        except ImpossibleTransition:
            return True
        return False

    def catch_up(self) -> Self:
        """Begin all that is due, as the shell does: apply each beginning, and ask again until nothing is."""
        rounds = 0
        while effects := plan(self.state, self.now):
            rounds += 1
            assert rounds <= self.most_rounds, f"never comes to rest: {effects}"
            for effect in effects:
                self.record(effect.began)
                if isinstance(effect, Abandon):
                    self.asked = [each for each in self.asked if getattr(each, "keys", [None])[0] != effect.key]
                elif isinstance(effect, LeaveBase):
                    self.asked = [each for each in self.asked if not _is_group(each, effect)]
                elif not isinstance(effect, Note):
                    self.asked.append(effect)
        return self

    @property
    def most_rounds(self) -> int:
        """A generous bound: each job has a few things due at most, and each slot is filled once."""
        jobs = sum(len(batch.tests) for batch in self.state.batches.values())
        return 10 + 10 * (jobs + len(self.state.batches))

    def wait(self, seconds: float) -> Self:
        """Let time pass, with all that falls due on the way at its own time."""
        until = self.now + seconds
        while (at := next_at(self.state, self.now)) is not None and at <= until:
            self.now = max(self.now, at)
            self.catch_up()
        self.now = until
        return self

    # --- what people do

    def submit(
        self,
        batch: str = "b",
        tests: int = 1,
        *,
        priority: int = 0,
        profile: Profile | None = None,
        cases: tuple[int, ...] = (),
        files: int = 1,
    ) -> Self:
        named = numbered(tests, files)
        submitted = ev.BatchSubmitted(
            self.now, batch, "/repo", "base", named, profile or Profile(), priority, cases=cases
        )
        return self.happens(submitted)

    def cancel(self, job: int, batch: str = "b") -> Self:
        return self.happens(ev.JobCancelled(self.now, batch, job, author="ann"))

    def retry(self, job: int, batch: str = "b") -> Self:
        return self.happens(ev.JobRetried(self.now, batch, job))

    # --- what agents and devices do

    def publish(self, job: int = 1, batch: str = "b") -> Self:
        return self.happens(ev.WorkPublished(self.now, *self.last_attempt(job, batch).key))

    def vanish(self, job: int = 1, batch: str = "b") -> Self:
        return self.happens(ev.AgentVanished(self.now, *self.last_attempt(job, batch).key, detail="gone"))

    def pending[E: Effect](self, kind: type[E]) -> list[E]:
        return [effect for effect in self.asked if isinstance(effect, kind)]

    def do(self, *kinds: type[Effect]) -> Self:
        """The devices succeed in all that was asked of each kind, in turn."""
        for kind in kinds:
            if kind is Verify:
                self.gather()
            for effect in self.pending(kind):
                self.answer(effect, self.success(effect))
        return self

    def gather(self) -> Self:
        """Time passes until claims that wait for others wait no longer."""
        while (at := verifying.gathered_at(self.state, self.now)) is not None:
            self.wait(at - self.now)
        return self

    def fail(self, kind: type[Effect], reason: str = "timeout") -> Self:
        for effect in self.pending(kind):
            self.answer(effect, self.failure(effect, reason))
        return self

    def answer(self, effect: Effect, answer: ev.Event) -> Self:
        self.asked.remove(effect)
        self.hear(answer)
        return self.catch_up()

    def restart(self) -> Self:
        """The daemon dies, and with it all that was under way; the next one finds the journal."""
        self.asked.clear()
        return self.happens(ev.DaemonStarted(self.now))

    def run(self, batch: str = "b") -> Self:
        """Every device and agent succeeds, and a person resumes what was stopped for one, until it is sealed."""
        for _ in range(1000):
            if batch not in self.state.batches:
                return self
            for attempt in list(self.state.attempts_of(batch)):
                if attempt.stage is Stage.LIVE and attempt.key in self.state.attempts:
                    self.publish(attempt.key.job, batch)
            self.do(Launch, Nudge, Collect, Verify, RunAtBase, Release, IntegrateSoFar, Integrate, Clear)
            if batch in self.state.batches and self.batch(batch).stop.reason in (breaker.TRIPPED, surveying.STOPPED):
                self.happens(ev.BatchResumed(self.now, batch))
            if not self.asked and not self._lives(batch) and (at := next_at(self.state, self.now)) is not None:
                self.wait(at - self.now)
        raise AssertionError(f"{batch} never ends: {explain(self.state, batch, self.now).text}")

    def _lives(self, batch: str) -> bool:
        return any(attempt.stage is Stage.LIVE for attempt in self.state.attempts_of(batch))

    def success(self, effect: Effect) -> ev.Event:
        match effect:
            case Launch(attempt=attempt):
                return ev.LaunchSucceeded(self.now, *attempt.key, host_id=f"host-of-{attempt.host or 'here'}")
            case Nudge(began=began, attempt=attempt):
                return ev.AgentNudged(self.now, *attempt.key, reason=began.reason)
            case Collect(attempt=attempt, rescue=True):
                return ev.WorkRescued(self.now, *attempt.key)
            case Collect(attempt=attempt):
                return ev.WorkCollected(self.now, *attempt.key, claim="fixed", head="c0de", commits=1)
            case Verify(keys=keys):
                return self._last(verified(self.state.batches.get(key.batch), key, self.now) for key in keys)
            case Release(attempt=attempt):
                return ev.AgentReleased(self.now, *attempt.key, kept=attempt.keep)
            case Integrate(batch=batch, number=number):
                ledger = batches.unmerged(self.state.batches[batch]) if batch in self.state.batches else {}
                return ev.IntegrationEnded(self.now, batch, number, ledger, f"supervisor/{batch}")
            case IntegrateSoFar(batch=batch, number=number, jobs=jobs):
                return ev.PartialEnded(self.now, batch, number, f"supervisor/{batch}", merged=len(jobs))
            case RunAtBase(batch=batch, number=number, files=files):
                return ev.SurveyEnded(self.now, batch, number, surveyed(self.state.batches.get(batch), files))
            case Revise(batch=batch, number=number):
                due = self.state.reviews[batch].due
                out, back = ({each.commit: "" for each in due if each.is_back is kind} for kind in (False, True))
                return ev.RevisionEnded(self.now, batch, number, out, back)
            case Clear():
                return ev.ClearingEnded(self.now)
        raise AssertionError(f"nothing answers {effect}")

    def failure(self, effect: Effect, reason: str = "timeout") -> ev.Event:
        later = self.now + RETRY_SECONDS
        match effect:
            case Launch(attempt=attempt):
                return ev.LaunchFailed(self.now, *attempt.key, reason=reason)
            case Nudge(began=began, attempt=attempt):
                return ev.AgentNudged(self.now, *attempt.key, delivered=False, detail=reason, reason=began.reason)
            case Collect(attempt=attempt):
                return ev.CollectFailed(self.now, *attempt.key, detail=reason, retry_at=later)
            case Verify(keys=(key,)):
                return ev.WorkVerified(self.now, *key, outcome="failed", detail=reason)
            case Verify(keys=keys):
                return self._last(ev.WorkPutBack(self.now, *key, most=len(keys) // 2, detail=reason) for key in keys)
            case Release(attempt=attempt):
                return ev.ReleaseFailed(self.now, *attempt.key, detail=reason, retry_at=later)
            case Integrate(batch=batch, number=number):
                return ev.IntegrationFailed(self.now, batch, number, detail=reason, retry_at=later)
            case IntegrateSoFar(batch=batch, number=number):
                return ev.PartialFailed(self.now, batch, number, detail=reason, retry_at=later)
            case RunAtBase(batch=batch, number=number, files=files):
                found = Surveyed(unrun=len(files), problem=reason, cause=reason, sample=reason)
                return ev.SurveyEnded(self.now, batch, number, found)
            case Revise(batch=batch, number=number):
                return ev.RevisionFailed(self.now, batch, number, detail=reason, retry_at=later)
            case Clear():
                return ev.ClearingEnded(self.now, problems=(reason,), again_at=later)
        raise AssertionError(f"nothing answers {effect}")

    def _last(self, events: Iterable[ev.Event]) -> ev.Event:
        """A device that has much to say tells it all, and the last of it is its answer."""
        *others, last = events
        for event in others:
            self.hear(event)
        return last

    # --- what there is to see

    def batch(self, batch: str = "b") -> Batch:
        return self.state.batches[batch]

    def job(self, job: int = 1, batch: str = "b") -> Job:
        return self.batch(batch).job(job)

    def pool(self, name: str = "local") -> Pool:
        return self.state.pools[name]

    def last_attempt(self, job: int = 1, batch: str = "b") -> Attempt:
        return self.state.attempts[AttemptKey(batch, job, self.job(job, batch).attempts)]

    def told[E: ev.Event](self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]


def replayed(events: Sequence[ev.Event]) -> State:
    return reduce(history.apply, events, State(installation=INSTALLATION))


def _is_group(effect: Effect, left: LeaveBase) -> bool:
    return isinstance(effect, RunAtBase) and (effect.batch, effect.number) == (left.batch, left.number)
