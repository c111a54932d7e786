"""Gauges, read from the state at each scrape. The cost does not grow with the number of jobs."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from supervisor.flow.verifying import busy_of, slots_of
from supervisor.model.attempt import Stage
from supervisor.model.batch import Batch, BatchState
from supervisor.model.hindrance import Hindrance
from supervisor.model.job import AT_WORK, JobState
from supervisor.model.state import State
from supervisor.observe.metrics.accounts import of_accounts
from supervisor.observe.metrics.meters import PREFIX
from supervisor.observe.why.answer import Cause
from supervisor.observe.why.scene import Scene
from supervisor.observe.why.waiting import held

#: the reasons why a batch may launch nothing, except those of its pools
HELD = (
    Cause.QUEUE_PAUSED,
    Cause.BATCH_PAUSED,
    Cause.BUDGET,
    Cause.PROVIDER_REFUSES,
    Cause.BREAKER,
    Cause.BROKEN_BASE,
    Cause.WINDOW,
)


@dataclass(frozen=True, slots=True)
class Gauges(Collector):
    state: State
    now: float
    version: str = ""
    #: providers that can't be reached, and why
    problems: Mapping[str, str] = field(default_factory=dict)
    strays: int = 0
    disk: Mapping[str, Any] | None = None

    def collect(self) -> Iterator[Metric]:
        yield gauge("build_info", "The version of the daemon.", "version", {self.version: 1})
        yield from of_accounts(self.state.accounts.values(), self.now)
        for part in (self._batches, self._jobs, self._agents, self._pools, self._verification, self._surroundings):
            yield from part()

    def _batches(self) -> Iterator[Metric]:
        states = Counter(batch.state for batch in self.state.batches.values())
        by_state = {each.value: float(states[each]) for each in BatchState}
        yield gauge(
            "batches", "Open batches, and finished ones whose agents are not yet put away.", "state", by_state
        )
        scene = Scene(self.state, self.now)
        causes = Counter(why.cause for batch in self._waiting() for why in held(scene, batch))
        about = "Batches with jobs that wait and that may not be launched, by each cause."
        yield gauge("batches_held", about, "cause", {each.value: float(causes[each]) for each in HELD})
        yield single("queue_paused", "Whether a person paused the whole queue.", self.state.paused)

    def _waiting(self) -> Iterator[Batch]:
        return (batch for batch in self.state.batches.values() if batch.count(JobState.QUEUED))

    def _jobs(self) -> Iterator[Metric]:
        batches = self.state.batches.values()
        by_state = {each.value: float(sum(batch.count(each) for batch in batches)) for each in JobState}
        yield gauge("jobs", "Jobs of open batches.", "state", by_state)
        oldest = min((batch.created_at for batch in self._waiting()), default=self.now)
        about = "The age of the oldest open batch that has jobs which wait for a slot; 0: none waits."
        yield single("queue_oldest_age_seconds", about, max(0.0, self.now - oldest))
        hindered = Counter(self._hindrances())
        about = "Agents that the provider of their model refuses to serve."
        yield gauge("agents_hindered", about, "hindrance", {each.value: float(hindered[each]) for each in Hindrance})

    def _hindrances(self) -> Iterator[str]:
        for attempt in self.state.attempts.values():
            job = self.state.batches[attempt.key.batch].job(attempt.key.job)
            if job.state in AT_WORK and job.attempts == attempt.key.attempt and job.setbacks.hindrance:
                yield job.setbacks.hindrance

    def _agents(self) -> Iterator[Metric]:
        stages = Counter(attempt.stage for attempt in self.state.attempts.values())
        yield gauge(
            "agents",
            "Agents that are not yet put away.",
            "stage",
            {each.value: float(stages[each]) for each in Stage},
        )
        quiet = sum(attempt.quiet_since is not None for attempt in self.state.attempts.values())
        yield single("agents_quiet", "Agents that show no activity.", quiet)
        yield single(
            "agents_stray", "Agents of this installation that belong to no attempt and are left alone.", self.strays
        )

    def _pools(self) -> Iterator[Metric]:
        pools = self.state.pools.values()

        def of_pools(name: str, about: str, value: Callable[[Any], float]) -> Metric:
            return gauge(name, about, "pool", {pool.name: float(value(pool)) for pool in pools})

        yield of_pools("pool_slots", "Agents that a pool may have at once.", lambda pool: pool.slots)
        yield of_pools("pool_slots_in_use", "Slots of a pool that are in use.", lambda pool: pool.busy)
        about = "Agents whose work is safe and that are not yet put away."
        yield of_pools("pool_agents_lingering", about, lambda pool: pool.lingering)
        about = "Whether a pool rests because its provider failed to launch an agent."
        yield of_pools("pool_resting", about, lambda pool: pool.resting)
        providers = {pool.provider for pool in pools} | self.problems.keys()
        up = {name: float(name not in self.problems) for name in providers}
        yield gauge("provider_up", "Whether a provider answers when it is asked for its agents.", "provider", up)

    def _verification(self) -> Iterator[Metric]:
        found = self.state.verifying
        yield single("verify_slots", "Verifications that may run at once.", slots_of(self.state))
        yield single(
            "verify_slots_in_use", "Verify slots in use, by claims or by the survey of a base.", busy_of(self.state)
        )
        yield single("claims_waiting", "Claims that wait to be verified.", len(found.waiting))
        yield single("claims_verifying", "Claims that are being verified.", len(found.group_of))

    def _surroundings(self) -> Iterator[Metric]:
        if self.disk is not None:
            yield single("state_directory_bytes", "What the state directory takes.", self.disk["state_bytes"])
            yield single("disk_free_bytes", "What is free on its disk.", self.disk["free_bytes"])


def gauge(name: str, about: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(f"{PREFIX}_{name}", about, labels=[label])
    for key, value in sorted(values.items()):
        family.add_metric([key], value)
    return family


def single(name: str, about: str, value: float) -> Metric:
    return GaugeMetricFamily(f"{PREFIX}_{name}", about, value=float(value))
