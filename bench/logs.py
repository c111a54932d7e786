"""Agents that write a lot: is every line read in time, and does it delay the daemon's loop?

    python -m bench.logs [--agents 100] [--rate 200] [--seconds 30]

First at the given rate, then at full speed: the same lines again from the start. The floor is a plain copy of the
files.
"""

import argparse
import asyncio
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from bench.lateness import loop_lags
from supervisor.adapters.layout import Layout
from supervisor.adapters.logs.device import AgentLogs
from supervisor.adapters.logs.panes import Panes
from supervisor.adapters.memory import MemoryAgents
from supervisor.model.attempt import Attempt, AttemptKey, Stage
from supervisor.tasks import beside
from supervisor.transcripts.redact import Redactor

WRITER = """
import json, sys, time
from pathlib import Path
files = [open(path, "a", buffering=1 << 16) for path in sys.argv[3:]]
rate, seconds = int(sys.argv[1]), float(sys.argv[2])
start, written, tick = time.time(), 0, 0.05
while (now := time.time()) < start + seconds:
    due = int((now - start) * rate)
    for number, file in enumerate(files):
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1000):03}Z"
        lines = [
            json.dumps({"type": "step", "timestamp": stamp, "event_id": f"e{n}", "source": "agent", "model_name": "m",
                        "message": f"line {n} of agent {number}: " + "what it says and does " * 5,
                        "metrics": {"prompt_tokens": 10, "completion_tokens": 1, "cached_tokens": 5},
                        "extra": {"message_id": f"m{n}"}} if n % 20 == 0 else
                       {"type": "run", "timestamp": stamp, "event_id": f"e{n}", "source": "run",
                        "message": f"line {n} of agent {number}: " + "what a program prints " * 4})
            for n in range(written, due)
        ]
        file.write("".join(line + "\\n" for line in lines))
        file.flush()
    written = due
    time.sleep(max(0.0, now + tick - time.time()))
print(written)
"""


def resident_megabytes() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def quantile(values: list[float], part: float) -> float:
    return sorted(values)[int(len(values) * part)] if values else float("nan")


def attempts(count: int, batch: str) -> dict[AttemptKey, Attempt]:
    found = {}
    for number in range(1, count + 1):
        attempt = Attempt(AttemptKey(batch, number, 1), f"agent-{number:032x}", "n", "local", "local", "", False, 0.0)
        found[attempt.key] = replace(attempt, stage=Stage.LIVE)
    return found


async def line_lags(logs: AgentLogs, keys: list[AttemptKey], lags: list[float]) -> None:
    """The age of each line of a few attempts when it can be read."""
    places = dict.fromkeys(keys, 0)
    while True:
        for key in keys:
            piece = await logs.read(key, places[key])
            places[key] = piece.next
            lags += [time.time() - datetime.fromisoformat(json.loads(line)["at"]).timestamp() for line in piece.lines]
        await asyncio.sleep(0.05)


async def ingested(logs: AgentLogs, keys: Mapping[AttemptKey, Attempt]) -> int:
    lines = 0
    for key in keys:
        place = 0
        while (piece := await logs.read(key, place)).lines:
            lines, place = lines + len(piece.lines), piece.next
    return lines


async def at_full_speed(logs: AgentLogs, files: list[Path], written: int) -> dict[str, float]:
    """Read the same lines again from the start; and copy the files."""
    again = attempts(len(files), "again")
    began, all_tokens = time.monotonic(), written // 20 * 11
    logs.watch(again)
    while sum(sight.usage.tokens for key in again if (sight := logs.sight(key))) < all_tokens:  # noqa: ASYNC110
        await asyncio.sleep(0.02)
    read = time.monotonic() - began
    began = time.monotonic()
    for file in files:
        await asyncio.to_thread(shutil.copyfile, file, file.with_suffix(".copy"))
    copied = time.monotonic() - began
    megabytes = sum(file.stat().st_size for file in files) / 2**20
    return {"at full speed": written / read, "a plain copy": written / copied, "MB": megabytes}


async def run(folder: Path, agents: int, rate: int, seconds: float) -> dict[str, float]:
    async with beside() as tasks:
        device, redactor = MemoryAgents(folder), Redactor(["the-daemon's-own-secret", "another one of its secrets"])
        logs = AgentLogs(Layout(folder), device, redactor, Panes({}), tasks)
        return await measured(folder, device, logs, agents, rate=rate, seconds=seconds)


async def measured(
    folder: Path, device: MemoryAgents, logs: AgentLogs, agents: int, *, rate: int, seconds: float
) -> dict[str, float]:
    watched = attempts(agents, "rate")
    files = [device.state_dir(a.agent_id) / "events" / "run" / "events.jsonl" for a in watched.values()]
    for file in files:
        file.parent.mkdir(parents=True)
    lags: list[float] = []
    ages: list[float] = []
    beside = [
        asyncio.create_task(loop_lags(lags, 0.02)),
        asyncio.create_task(line_lags(logs, list(watched)[:: max(1, agents // 5)], ages)),
    ]
    logs.watch(watched)
    writer = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WRITER, str(rate), f"{seconds:g}", *map(str, files), stdout=subprocess.PIPE
    )
    await asyncio.sleep(min(5.0, seconds / 2))
    early, cpu, since = resident_megabytes(), cpu_seconds(), time.monotonic()
    output, _ = await writer.communicate()
    per_second = (cpu_seconds() - cpu) / (time.monotonic() - since)
    late = resident_megabytes()
    written, ended = int(output) * agents, time.monotonic()
    while (read := await ingested(logs, watched)) < written and time.monotonic() < ended + 30:  # noqa: ASYNC110
        await asyncio.sleep(0.1)
    for task in beside:
        task.cancel()
    found = {"written": float(written), "ingested": float(read), "all read after s": time.monotonic() - ended}
    found |= {"lines/s": found["written"] / seconds, "line lag p50 s": quantile(ages, 0.5)}
    found |= {"line lag p99 s": quantile(ages, 0.99), "loop lag p99 s": quantile(lags, 0.99)}
    found |= {"CPU of a core": per_second, "RSS early MB": early, "RSS late MB": late}
    tokens = sum(sight.usage.tokens for key in watched if (sight := logs.sight(key)) is not None)
    found["tokens missed"] = agents * (-(-int(output) // 20)) * 11 - tokens

    found |= await at_full_speed(logs, files, int(found["written"]))
    await logs.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=int, default=100)
    parser.add_argument("--rate", type=int, default=200, help="lines a second of each agent")
    parser.add_argument("--seconds", type=float, default=30)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="sv-bench-", dir="/tmp"))
    try:
        for name, value in asyncio.run(run(folder, options.agents, options.rate, options.seconds)).items():
            print(f"{name:>16}  {value:,.3f}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
