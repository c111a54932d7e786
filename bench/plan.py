"""The cost of the core: `plan` with growing queues, `apply` of each event, and the replay of a long journal.

The floor of each is the same call with minimal input: one queued job, or an event that changes nothing.
"""

import statistics
import time
from collections.abc import Callable
from functools import partial, reduce

from supervisor.flow.batches import unmerged
from supervisor.flow.history import apply
from supervisor.flow.plan import plan
from supervisor.model import event as ev
from supervisor.model.attempt import AttemptKey
from supervisor.model.effect import Launch
from supervisor.model.profile import Profile
from supervisor.model.state import State

AGENTS = 300
ROUNDS = 1000
REPLAYED = 80_000
#: jobs of one batch in the replay; each has the events of `LIFE`
JOBS = 10_000


def begun(jobs: int, slots: int) -> State:
    """A batch of this many queued jobs, with an agent in every slot, one of which has just published."""
    tests = tuple(f"tests/test_it.py::test_{number}" for number in range(slots + jobs))
    state = apply(State("bench"), ev.PoolsConfigured(0.0, (ev.PoolSpec("local", "local", slots),)))
    state = apply(state, ev.BatchSubmitted(0.0, "b", "/repo", "base", tests, Profile(agent="command")))
    while launches := plan(state, 0.0):
        for effect in launches:
            state = apply(state, effect.began)
            assert isinstance(effect, Launch)
            state = apply(state, ev.LaunchSucceeded(0.0, *effect.attempt.key, host_id="here"))
    return state


def timings(action: Callable[[], object], rounds: int = ROUNDS) -> list[float]:
    """The microseconds of each round, sorted."""
    taken = []
    for _ in range(rounds):
        start = time.perf_counter_ns()
        action()
        taken.append((time.perf_counter_ns() - start) / 1000)
    return sorted(taken)


def p99(taken: list[float]) -> float:
    return taken[len(taken) * 99 // 100]


def bench_plan() -> None:
    """Plan with a free slot, so that the next launch is selected; and without one, as most of the time."""
    floor: float | None = None
    for jobs in (1, 1_000, 100_000):
        full = begun(jobs, AGENTS)
        free = apply(full, ev.SlotsChanged(0.0, "local", AGENTS + 1))
        assert len(plan(free, 0.0)) == 1
        assert plan(full, 0.0) == []
        launching, idle = timings(partial(plan, free, 0.0)), timings(partial(plan, full, 0.0))
        median = statistics.median(launching)
        floor = floor or median
        print(
            f"plan, {AGENTS} agents, {jobs:>7,} queued: p50 {median:6.1f} µs, p99 {p99(launching):6.1f} µs "
            f"({5000 / p99(launching):4.0f} times under 5 ms), {median / floor:4.2f} of the floor (1 queued); "
            f"nothing to do: p50 {statistics.median(idle):4.1f} µs"
        )


def life(key: AttemptKey) -> list[ev.Event]:
    """All events of a job that ends well."""
    return [
        ev.LaunchStarted(0.0, *key, agent_id="i", agent_name="n", pool="local", provider="local"),
        ev.LaunchSucceeded(0.0, *key, host_id="here"),
        ev.WorkPublished(0.0, *key),
        ev.CollectStarted(0.0, *key),
        ev.WorkCollected(0.0, *key, claim="fixed", head="c0de", commits=1),
        ev.VerifyStarted(0.0, *key),
        ev.ReleaseStarted(0.0, *key),
        ev.AgentReleased(0.0, *key),
        ev.WorkVerified(0.0, *key, outcome="fixed"),
        ev.JobEnded(0.0, key.batch, key.job, outcome="fixed"),
    ]


def bench_apply() -> None:
    """Apply all events of a job one by one, while 300 other agents run."""
    state = begun(100_000, AGENTS)
    state = apply(state, ev.SlotsChanged(0.0, "local", AGENTS + 1))
    floor = statistics.median(timings(partial(apply, state, ev.OrphanDestroyed(0.0, "i"))))
    taken = {}
    for event in life(AttemptKey("b", AGENTS + 1, 1)):
        taken[event.kind] = statistics.median(timings(partial(apply, state, event)))
        state = apply(state, event)
    worst = max(taken, key=lambda kind: taken[kind])
    print(
        f"apply: {statistics.mean(taken.values()):.1f} µs an event, at most {taken[worst]:.1f} µs ({worst}); "
        f"{statistics.mean(taken.values()) / floor:.0f} times the floor (an event that changes nothing)"
    )


def bench_replay() -> None:
    """Replay a batch of 10,000 jobs, most of them over, as at a restart in the middle of a long night."""
    tests = tuple(f"tests/test_it.py::test_{number}" for number in range(JOBS))
    events: list[ev.Event] = [
        ev.PoolsConfigured(0.0, (ev.PoolSpec("local", "local", 4),)),
        ev.BatchSubmitted(0.0, "b", "/repo", "base", tests, Profile()),
    ]
    events += [event for job in range(1, REPLAYED // 10 + 1) for event in life(AttemptKey("b", job, 1))]
    start = time.process_time()
    state = reduce(apply, events, State("bench"))
    taken = time.process_time() - start
    assert len(unmerged(state.batches["b"])) == JOBS
    print(f"replay: {len(events):,} events in {taken:.2f} CPU-seconds, {taken / len(events) * 1e6:.1f} µs an event")


def main() -> None:
    bench_plan()
    bench_apply()
    bench_replay()


if __name__ == "__main__":
    main()
