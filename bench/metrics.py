"""The cost of one look at `/metrics`: 10,000 jobs, 300 agents at work.

The floors are taken in turn with what they are beside, so that both meet the same machine: for the text, a state of
one job, as what grows with the jobs is the difference; for the answer, a route of a few bytes. What other programs
take of the cores is in the time by the clock, of both, and not in the processor's time.
"""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import httpx

from bench.plan import AGENTS, begun, p99
from supervisor.model import event as ev
from supervisor.model.effect import Launch
from supervisor.model.evidence import Evidence
from supervisor.model.state import State
from supervisor.observe.metrics.exposition import expose
from supervisor.observe.metrics.gauges import Gauges
from supervisor.observe.metrics.meters import Meters
from tests.control.served import served

JOBS, ROUNDS, MOST_MILLISECONDS = 10_000, 200, 10.0


def counted(state: State) -> Meters:
    """Meters that have seen each kind of thing at least once."""
    meters = Meters()
    meters.begin(state)
    for attempt in state.attempts.values():
        key = attempt.key
        meters.watch(
            state,
            [
                ev.LaunchStarted(0.0, *key, agent_id="i", agent_name="n", pool="local", provider="local"),
                ev.LaunchSucceeded(1.0, *key, host_id="here"),
                ev.UsageCounted(2.0, *key, input=9, output=9),
                ev.WorkPublished(60.0, *key),
                ev.WorkCollected(61.0, *key, claim="fixed"),
                ev.WorkVerified(
                    90.0, *key, outcome="fixed", verification="verified", evidence=Evidence(runs=9, saved=3)
                ),
            ],
        )
        meters.performed(Launch(ev.LaunchStarted(0.0, *key, "i", "n", "local", "local"), attempt), None, 1.0)
    return meters


def texts(looks: list[Callable[[], object]]) -> list[list[float]]:
    """The milliseconds of the processor for each of them, sorted."""
    taken: list[list[float]] = [[] for _ in looks]
    for _ in range(ROUNDS):
        for look, mine in zip(looks, taken, strict=True):
            begun_at = time.thread_time_ns()
            look()
            mine.append((time.thread_time_ns() - begun_at) / 1e6)
    return [sorted(each) for each in taken]


async def answers(state: State, *paths: str) -> list[list[float]]:
    """The milliseconds by the clock for each of them over the daemon's socket, sorted."""
    taken: list[list[float]] = [[] for _ in paths]
    with tempfile.TemporaryDirectory() as folder:
        async with served(Path(folder)) as api:
            object.__setattr__(api.desk, "state", lambda: state)
            object.__setattr__(api.desk, "meters", counted(state))
            transport = httpx.AsyncHTTPTransport(uds=str(api.socket))
            async with httpx.AsyncClient(transport=transport, base_url="http://daemon") as client:
                for _ in range(ROUNDS):
                    for path, mine in zip(paths, taken, strict=True):
                        begun_at = time.perf_counter_ns()
                        (await client.get(path)).raise_for_status()
                        mine.append((time.perf_counter_ns() - begun_at) / 1e6)
    return [sorted(each) for each in taken]


def main() -> None:
    small, large = begun(0, 1), begun(JOBS, AGENTS)
    looks = [partial(expose, Gauges(state, 100.0, version="bench"), counted(state)) for state in (small, large)]
    floor, text = texts([*looks])
    size = len(looks[1]()[0]) / 1000
    print(
        f"/metrics, {JOBS:,} jobs, {AGENTS} agents, {size:.0f} kB of text: p50 {statistics.median(text):.2f} ms, "
        f"p99 {p99(text):.2f} ms of a processor ({MOST_MILLISECONDS / p99(text):.1f} times under "
        f"{MOST_MILLISECONDS:g} ms), {statistics.median(text) / statistics.median(floor):.2f} of the floor (1 job)"
    )
    empty, whole = asyncio.run(answers(large, "/v1/health", "/metrics"))
    print(
        f"  answered on the socket: p50 {statistics.median(whole):.2f} ms, p99 {p99(whole):.2f} ms by the clock; "
        f"an empty route: p50 {statistics.median(empty):.2f} ms, p99 {p99(empty):.2f} ms"
    )


if __name__ == "__main__":
    main()
