"""A night in which jobs end in every way there is, told to the core; and what their agents left of it."""

from dataclasses import dataclass, field, replace

from supervisor.model import event as ev
from supervisor.model.attempt import AttemptKey
from supervisor.model.batch import Batch
from supervisor.model.effect import Clear, Collect, Effect, Integrate, Launch, Release, Verify
from supervisor.model.evidence import Evidence, Necessity, Reach, Strength
from supervisor.model.ledger import Fate, LedgerRow
from supervisor.model.profile import Profile
from supervisor.model.publication import ChangeClaim, Escalation, Statement, TestRun
from supervisor.model.state import State
from supervisor.observe.report import History, Report
from supervisor.observe.report_fold import kept, report
from supervisor.observe.report_history import history, rebuilt
from tests.flow.world import World

BATCH = "b"
HEAD, ON_BRANCH = "5e1f" * 10, "b4a9" * 10
PROFILE = Profile("overnight", retries=0, keep_agents="none", on_parked="notify", verify_group=1)

FIXED, IMPROVED, CLEAN, FLAKY, BLOCKED, REFUSED, LOST, SLOW, CANCELLED, UNSTARTED = range(1, 11)
TESTS = 10

SHARED = Escalation("SHARED_PATTERN", "Every test waits for the prompt.", "They all do.", ("tests/conftest.py",))
OUTCOMES = {
    FIXED: Statement(
        (ChangeClaim("FIX_IMPL", "SUCCEEDED", "The total **was** cut."), ChangeClaim("FIX_TEST", "FAILED", "no")),
        summary="The total was cut off, so the test saw `12` instead of `120`.",
        test_runs=(TestRun("try_1", "red"), TestRun("try_2", "green")),
        escalations=(SHARED,),
    ),
    IMPROVED: Statement(
        (ChangeClaim("IMPROVE_TEST", "SUCCEEDED", "It checks the exit code."),),
        summary="It checks the exit code, too.",
        escalations=(replace(SHARED, title="every test  waits for the prompt", locations=("tests/test_it.py:3",)),),
    ),
    CLEAN: Statement(summary="Nothing to do."),
    FLAKY: Statement((ChangeClaim("FIX_TEST", "SUCCEEDED", "A longer wait."),), summary="It raced."),
    BLOCKED: Statement(blocked="There is no network here.\nSo the registry can't be asked."),
    REFUSED: Statement(
        (ChangeClaim("FIX_TEST", "SUCCEEDED", "Skipped."),),
        summary="Skipped the test.",
        escalations=(Escalation("UNCAUGHT_BUG", "Undo loses a line", "See cart.py."),),
    ),
}
#: what was shown of the one that was fixed
DOUBT = "tests/test_shop.py::test_total: expects `12` instead of 3"
EVIDENCE = Evidence(Reach(8, 9), Strength(6, 6), Necessity(("shop.py",)), runs=11, alone=True, together=True)
VERDICTS: dict[int, tuple[str, str, str, int, int]] = {
    FIXED: ("fixed", "verified", "passed 2 of 2", 2, 2),
    IMPROVED: ("improved", "verified", "passed 2 of 2", 2, 2),
    CLEAN: ("clean", "not-needed", "", 0, 0),
    FLAKY: ("failed", "flaky", "passed 1 of 2", 2, 1),
    BLOCKED: ("blocked", "not-needed", "", 0, 0),
    REFUSED: ("failed", "refused", "skip: the test is skipped", 0, 0),
}
FATES = {
    FIXED: LedgerRow(Fate.MERGED, "", (ON_BRANCH,)),
    IMPROVED: LedgerRow(Fate.CONFLICT, "conflicts in tests/test_it.py with 1234567 of job 1", (HEAD,)),
    FLAKY: LedgerRow(Fate.REJECTED, "flaky: passed 1 of 2", (HEAD,)),
    REFUSED: LedgerRow(Fate.REJECTED, "refused: skip", (HEAD,)),
    CANCELLED: LedgerRow(Fate.CANCELLED),
    UNSTARTED: LedgerRow(Fate.CANCELLED),
}


class Files:
    """What agents have left, by attempt."""

    def __init__(self, outcomes: dict[int, Statement] | None = None) -> None:
        self.outcomes = OUTCOMES if outcomes is None else outcomes

    def outcome(self, key: AttemptKey) -> Statement | None:
        return self.outcomes.get(key.job) if key.attempt == 1 else None

    def artifacts(self, key: AttemptKey) -> tuple[str, ...]:
        return ("run.cast",)

    def excerpt(self, key: AttemptKey) -> tuple[str, ...]:
        return (f"22:00:01 say    job {key.job} says",)


@dataclass
class Night:
    world: World = field(default_factory=lambda: World(local=TESTS - 1))
    #: the batch before it left memory
    sealed: Batch | None = None

    def __post_init__(self) -> None:
        self.world.watchers.append(self._remember)
        self.world.submit(BATCH, TESTS, profile=PROFILE)

    def _remember(self, state: State, event: ev.Event) -> None:
        if isinstance(event, ev.BatchSealed):
            self.sealed = state.batches[BATCH]

    @property
    def events(self) -> list[ev.Event]:
        return [event for event in self.world.events if isinstance(event, ev.BatchEvent)]

    def report(self, files: Files | None = None) -> Report:
        batch = self.world.state.batches.get(BATCH) or rebuilt(BATCH, self.events)
        found = kept(files or Files(), batch)
        return report(batch, history(self.events, self.world.now), found, self.world.now)

    def work(self) -> "Night":
        """All but the last have an agent, and ten minutes pass; then each goes its way."""
        world = self.world
        world.wait(60).do(Launch).wait(600)
        for number in VERDICTS:
            used = ev.UsageCounted(world.now, BATCH, number, 1, input=1000, output=100, cached=10_000, model="m-1")
            world.happens(replace(used, tool_calls=7))
            world.publish(number, BATCH)
        world.vanish(LOST, BATCH)
        world.happens(ev.AgentHindered(world.now, BATCH, SLOW, 1, problem="limit", detail="429"))
        return self

    def end(self) -> "Night":
        """Two are cancelled, one of them before it had an agent; the rest is judged, integrated and sealed."""
        world = self.world
        world.cancel(UNSTARTED, BATCH).cancel(CANCELLED, BATCH)
        world.wait(300).happens(ev.AgentHindered(world.now, BATCH, SLOW, 1, problem=""))
        world.happens(ev.TimeRanOut(world.now, BATCH, SLOW, 1))
        for _ in range(TESTS):
            for effect in list(world.asked):
                world.answer(effect, self._said(effect))
        return self

    def _said(self, effect: Effect) -> ev.Event:
        now = self.world.now
        match effect:
            case Collect(attempt=attempt, rescue=False) if attempt.key.job in (CLEAN, BLOCKED):
                return ev.WorkCollected(now, *attempt.key, claim="clean")
            case Collect(attempt=attempt, rescue=False):
                return ev.WorkCollected(now, *attempt.key, claim="fixed", head=HEAD, commits=1)
            case Verify(keys=((_, job, attempt),)):
                outcome, verdict, reason, runs, passed = VERDICTS[job]
                return ev.WorkVerified(
                    now,
                    BATCH,
                    job,
                    attempt,
                    outcome=outcome,
                    detail="as judged",
                    verification=verdict,  # type: ignore[arg-type]
                    reason=reason,
                    runs=runs,
                    passed=passed,
                    failed_before=True if runs else None,
                    doubts=(DOUBT,) if job == FIXED else (),
                    evidence=EVIDENCE if job == FIXED else None,
                )
            case Integrate(number=number):
                ledger = {n: FATES.get(n, LedgerRow(Fate.EMPTY)) for n in range(1, TESTS + 1)}
                url = "https://github.example/shop/pull/7"
                return ev.IntegrationEnded(
                    now, BATCH, number, ledger, "supervisor/b", pull_request=url, problems=("the push was slow.",)
                )
            case Launch() | Release() | Collect() | Clear():
                return self.world.success(effect)
        raise AssertionError(effect)


def a_night() -> Night:
    return Night().work().end()


def bare(batch: Batch) -> Report:
    """With nothing but the batch: no events, no files."""
    return report(batch, History(), {}, batch.finished_at or batch.created_at)
