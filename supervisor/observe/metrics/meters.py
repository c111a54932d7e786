"""Counters and histograms, updated as things happen."""

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics

from supervisor.model import event as ev
from supervisor.model.attempt import AttemptKey
from supervisor.model.effect import Collect, Effect
from supervisor.model.hindrance import FOR_A_PERSON
from supervisor.model.ledger import Fate, LedgerRow
from supervisor.model.outcome import Outcome
from supervisor.model.state import State
from supervisor.model.usage import NOTHING, Usage
from supervisor.observe.metrics.stages import Stage, Stages

PREFIX = "agent_supervisor"
#: from a script's second to an agent's whole night
STAGE_BUCKETS = (1, 5, 15, 60, 180, 600, 1800, 3600, 7200, 14400, 43200)
DEVICE_BUCKETS = (0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 1800, 7200)
LAG_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5)

#: failed calls: the event that reports the failure, and its label
_FAILED: dict[type[ev.Event], str] = {
    ev.CollectFailed: "failed",
    ev.ReleaseFailed: "failed",
    ev.IntegrationFailed: "failed",
    ev.PartialFailed: "failed",
    ev.PublicationRefused: "refused",
    ev.WorkPutBack: "put-back",
    ev.JudgementWanted: "judgement-wanted",
}

#: the possible labels of each counter
_KNOWN: tuple[tuple[str, Iterable[str]], ...] = (
    ("_events", ev.KINDS),
    ("_ended", Outcome),
    ("_fates", Fate),
    ("_verdicts", ("verified", "flaky", "unverified", "refused", "not-needed")),
    ("_runs", ("own", "common")),
    ("_tokens", ("input", "output", "cached")),
    ("_pauses", ("queue-paused", "batch-paused", "window", "budget", "breaker", "survey", *FOR_A_PERSON)),
    ("_seconds", Stage),
    ("_spans", ("told", "dropped")),
)

# The creation time of each counter would double the lines, and nobody uses it.
disable_created_metrics()  # type: ignore[no-untyped-call]


class Meters:
    def __init__(self) -> None:
        self.registry = CollectorRegistry(auto_describe=False)
        #: the labels of each metric, by its name without `_total`
        self.labels: dict[str, tuple[str, ...]] = {}
        self._stages = Stages()
        self._usage: dict[AttemptKey, Usage] = {}
        self._events = self._counter("events", "Events that were written into the journal.", "kind")
        self._launches = self._counter("launches", "Agents that mngr was asked to create.", "pool")
        self._unlaunched = self._counter("launch_failures", "Agents that could not be created.", "pool", "reason")
        self._ended = self._counter("jobs_ended", "Jobs that are over.", "outcome")
        self._fates = self._counter("ledger_rows", "What became of the work of jobs, by the ledger.", "fate")
        self._verdicts = self._counter("verifications", "Claims that were verified.", "verdict")
        self._doubts = self._counter("doubts", "Sentences for the reviewer about what a machine can't decide.")
        self._runs = self._counter(
            "verification_runs", "Runs of tests that claims needed; `common`: saved by a run of another claim.", "by"
        )
        self._tokens = self._counter("tokens", "Tokens that agents used.", "kind")
        self._pauses = self._counter("pauses", "Times at which launching was held up.", "cause")
        self._spans = self._counter(
            "spans", "Spans of traces that a collector was told, or that were dropped.", "result"
        )
        self.lag = self._histogram("event_loop_lag", "How late the event loop wakes a sleeper.", LAG_BUCKETS)
        self._seconds = self._histogram(
            "stage_duration", "How long jobs, and integrations of batches, were in a stage.", STAGE_BUCKETS, "stage"
        )
        for counter, known in _KNOWN:
            for value in known:  # a counter that appears with its first event hides that event from `rate`
                getattr(self, counter).labels(value)
        self._calls = self._histogram(
            "device_call_duration", "Calls on devices.", DEVICE_BUCKETS, "operation", "result"
        )

    def _counter(self, name: str, about: str, *labels: str) -> Counter:
        self.labels[f"{PREFIX}_{name}"] = labels
        return Counter(f"{PREFIX}_{name}", about, labels, registry=self.registry)

    def _histogram(self, name: str, about: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        self.labels[f"{PREFIX}_{name}_seconds"] = labels
        return Histogram(f"{PREFIX}_{name}_seconds", about, labels, buckets=buckets, registry=self.registry)

    def begin(self, state: State) -> None:
        """Start from the state: stages under way continue from the last daemon, its counters do not."""
        self._stages = Stages(state)
        self._usage = {key: each.usage for key, each in state.attempts.items()}

    # --- what happens

    def watch(self, state: State, events: Iterable[ev.Event]) -> None:
        """A watcher of the loop: `state` is the state after the events."""
        for event in events:
            self._events.labels(event.kind).inc()
            for stage, seconds in self._stages.hear(state, event):
                self._seconds.labels(stage).observe(seconds)
            self._hear(state, event)

    def performed(self, effect: Effect, came: ev.Event | None, seconds: float) -> None:
        """A call on a device ended; `came` is the event of its result, None if there is none."""
        self._calls.labels(_operation(effect), _result(came)).observe(seconds)

    def traced(self, spans: int, result: str) -> None:
        """Count spans that were exported or dropped."""
        self._spans.labels(result).inc(spans)

    def _hear(self, state: State, event: ev.Event) -> None:
        match event:
            case ev.LaunchStarted():
                self._launches.labels(event.pool).inc()
            case ev.LaunchFailed():
                attempt = state.attempts.get(AttemptKey(event.batch, event.job, event.attempt))
                self._unlaunched.labels(attempt.pool if attempt is not None else "", event.reason).inc()
            case ev.JobEnded():
                self._ended.labels(event.outcome).inc()
            case ev.WorkVerified():
                self._verified(event)
            case ev.IntegrationEnded() | ev.BatchFinished():
                self._booked(event.ledger.values())
            case ev.UsageCounted():
                self._used(event)
            case ev.AgentReleased():
                self._usage.pop(AttemptKey(event.batch, event.job, event.attempt), None)
            case _:
                self._held(event)

    def _held(self, event: ev.Event) -> None:
        match event:
            case ev.QueuePaused() | ev.OlderStateAccepted():
                self._pauses.labels("queue-paused").inc()
            case ev.BatchPaused():
                self._pauses.labels("batch-paused").inc()
            case ev.BatchStopped() | ev.BreakerTripped():
                self._pauses.labels(event.reason).inc()
            case ev.WindowClosed():
                self._pauses.labels("window").inc()

    def _verified(self, event: ev.WorkVerified) -> None:
        self._verdicts.labels(event.verification or "not-needed").inc()
        self._doubts.inc(len(event.doubts))
        if (evidence := event.evidence) is not None:
            self._runs.labels("own").inc(max(0, evidence.runs - evidence.saved))
            self._runs.labels("common").inc(evidence.saved)

    def _booked(self, rows: Iterable[LedgerRow]) -> None:
        for row in rows:
            self._fates.labels(row.fate).inc()

    def _used(self, event: ev.UsageCounted) -> None:
        """The event has totals; count the increase."""
        key = AttemptKey(event.batch, event.job, event.attempt)
        told = Usage(event.input, event.output, event.cached)
        more = told - self._usage.get(key, NOTHING)
        self._usage[key] = told
        for kind, tokens in (("input", more.input), ("output", more.output), ("cached", more.cached)):
            self._tokens.labels(kind).inc(max(0, tokens))


def _operation(effect: Effect) -> str:
    if isinstance(effect, Collect) and effect.rescue:
        return "rescue"
    name = type(effect).__name__
    return "".join(f"-{char.lower()}" if char.isupper() else char for char in name).lstrip("-")


def _result(came: ev.Event | None) -> str:
    match came:
        case None:
            return "abandoned"
        case ev.LaunchFailed():
            return came.reason
        case ev.AgentNudged(delivered=False):
            return "failed"
        case _:
            return _FAILED.get(type(came), "ok")
