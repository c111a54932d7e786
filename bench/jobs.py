"""Batches of scripted agents on the real mngr: how far from the floor is a whole run?

    python -m bench.jobs [--jobs 100] [--slots 10] [--work 5]

The floor is work / slots; the peer's figures for the same jobs on the same machine are printed beside ours.
"""

import argparse
import asyncio
import os
import resource
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from supervisor.boot import daemon, opened
from supervisor.model.batch import Profile
from supervisor.model.event import BatchFinished, Event, LaunchStarted, WorkCollected, WorkPublished
from supervisor.model.request import Submit
from supervisor.rehearsal.generate import generate
from supervisor.settings import Settings

AGENT = Path(__file__).with_name("agent")


def cpu_seconds() -> float:
    """Of this process and of all its children that have ended. Agents are the tmux server's, not ours."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def resident_megabytes() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


async def run(folder: Path, jobs: int, slots: int, work: float) -> dict[str, float]:
    repo = folder / "repo"
    await asyncio.to_thread(generate, repo, jobs)
    tests = tuple(f"tests/test_from_{n // 25 * 25:05}.py::test_{n:05}" for n in range(jobs))
    settings = Settings(
        state_dir=folder / "state",
        socket=folder / "ctl.sock",
        pools=[{"name": "local", "slots": slots}],  # type: ignore[arg-type]
    )
    profile = Profile(
        agent="command",
        command=(str(AGENT),),
        pytest=(sys.executable, "-m", "pytest", "-q"),
        verify_runs=0,  # the peer has no verification
        env={"BENCH_WORK_SECONDS": f"{work:g}", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )
    before = cpu_seconds()
    here = resource.getrusage(resource.RUSAGE_SELF).ru_utime + resource.getrusage(resource.RUSAGE_SELF).ru_stime
    seen: list[Event] = []
    finished = asyncio.Event()

    def watch(state: object, events: list[Event]) -> None:
        seen.extend(events)
        if any(isinstance(event, BatchFinished) for event in events):
            finished.set()

    async with opened(settings) as devices:
        supervisor = daemon(settings, devices)
        running = asyncio.create_task(supervisor.run())
        await supervisor.ready.wait()
        supervisor.loop.watch(watch)  # type: ignore[arg-type]
        facts = await devices.store.inspect(repo)
        await devices.store.snapshot(repo, facts.head_sha, "bench")
        await supervisor.loop.inbox.ask(Submit("bench", str(repo), facts.head_sha, tests, profile))
        peak = 0.0
        while not finished.is_set():
            peak = max(peak, resident_megabytes())
            await asyncio.wait(
                [asyncio.create_task(finished.wait()), running], timeout=0.5, return_when="FIRST_COMPLETED"
            )
            if running.done():
                running.result()
        lags = sorted(supervisor.lags)
        supervisor.stop()
        await running
    published = {e.job: e.at for e in seen if isinstance(e, WorkPublished)}
    waits = sorted(e.at - published[e.job] for e in seen if isinstance(e, WorkCollected))
    first = min(e.at for e in seen if isinstance(e, LaunchStarted))
    last = max(e.at for e in seen if isinstance(e, WorkCollected))
    return {
        "jobs": jobs,
        "collected": len(waits),
        "launches": sum(isinstance(e, LaunchStarted) for e in seen),
        "seconds": last - first,
        "floor": (work + 1) * jobs / slots,
        "wait p50": statistics.median(waits),
        "wait p99": waits[int(len(waits) * 0.99) - 1],
        "cpu per job": (cpu_seconds() - before) / jobs,
        "of it here": (
            resource.getrusage(resource.RUSAGE_SELF).ru_utime
            + resource.getrusage(resource.RUSAGE_SELF).ru_stime
            - here
        )
        / jobs,
        "peak MB": peak,
        "lag p99": lags[int(len(lags) * 0.99) - 1],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=100)
    parser.add_argument("--slots", type=int, default=10)
    parser.add_argument("--work", type=float, default=5)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="sv-bench-", dir="/tmp"))
    try:
        started = time.monotonic()
        found = asyncio.run(run(folder, options.jobs, options.slots, options.work))
        for name, value in found.items():
            print(f"{name:>12}  {value:.2f}")
        print(
            f"{'ratio':>12}  {found['seconds'] / found['floor']:.2f} of the floor; {time.monotonic() - started:.0f} s"
        )
    finally:
        os.system(f"TMUX_TMPDIR={folder}/state/tmux tmux kill-server 2>/dev/null")
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
