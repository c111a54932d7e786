"""What the gate adds to an answer, beside going straight to the same upstream and a proxy that does nothing else.

    python -m bench.gate [--streams 100] [--rounds 1] [--pace 0.25] [--events 12]

Four processes: an upstream on loopback that streams events with the time at which it sent each, the gate, a floor,
and clients. The floor copies bytes from one connection to another and looks at none: that is what any process in
between costs, on this machine, now. The clients have the same number of streams open all the time, a new one when one
ends: now straight, now through the floor, now through the gate. Latency is measured for each event, from its sending
to its arrival, and for the first event of an answer, from when the client begins to connect. What is added is the
difference of the same percentile. On a busy machine most of it is waiting for a processor, which each process in
between does once more: so that is told as well.
"""

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from supervisor.gate.keys import Keys
from supervisor.gate.sharing import folder_of

MOST_MS = 5.0
#: as an agent's: its tools and instructions are most of it
BODY_BYTES = 60_000
ROUND_SECONDS = 5.0


# --- the clients


class Lags:
    def __init__(self) -> None:
        self.events, self.firsts = list[float](), list[float]()
        self.failed = 0


async def one(port: int, key: str, body: bytes, lags: Lags) -> None:
    """One stream, over a connection of its own, as an agent's."""
    began = time.monotonic_ns()
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
    head = f"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
    head += f"x-api-key: {key}\r\n"
    try:
        writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        if b" 200 " not in answer[:16]:
            lags.failed += 1
            return
        is_first = True
        while True:
            line = await reader.readline()
            now = time.monotonic_ns()
            if line.startswith(b"data: "):
                if is_first:
                    lags.firsts.append((now - began) / 1e6)
                    is_first = False
                else:
                    lags.events.append((now - int(line[line.rindex(b'"sent": ') + 8 : -2])) / 1e6)
                if b"message_delta" in line:
                    return
    except (asyncio.IncompleteReadError, ConnectionError):
        lags.failed += 1
    finally:
        writer.close()


@dataclass
class Side:
    """One of the two ways to the upstream."""

    port: int
    key: str
    body: bytes
    lags: Lags = field(default_factory=Lags)

    async def always(self, delay: float, until: float) -> None:
        await asyncio.sleep(delay)
        while time.monotonic() < until:
            await one(self.port, self.key, self.body, self.lags)


async def clients(said: argparse.Namespace, ports: Mapping[str, int], key: str) -> dict[str, Lags]:
    """In turns, so that all ways meet the same machine."""
    body = json.dumps({"model": "m", "max_tokens": 1000, "stream": True, "system": "x" * BODY_BYTES}).encode()
    sides = {name: Side(port, key, body) for name, port in ports.items()}
    took = said.events * said.pace
    for _ in range(said.rounds):
        for side in sides.values():
            until = time.monotonic() + ROUND_SECONDS + took / 2
            async with asyncio.TaskGroup() as tasks:
                for number in range(said.streams):
                    tasks.create_task(side.always(number * took / said.streams, until))
    return {name: side.lags for name, side in sides.items()}


# --- the whole


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values) or [float("nan")]
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


@dataclass(frozen=True, slots=True)
class Time:
    """Of a process: on a processor, and ready while others had all of them; and how often it got one."""

    ran: float
    waited: float
    times: int

    @classmethod
    def of(cls, pid: int) -> "Time":
        ran, waited, times = map(int, Path(f"/proc/{pid}/schedstat").read_text().split())
        return cls(ran / 1e6, waited / 1e6, times)


def report(found: Mapping[str, Lags], streams: int, used: Mapping[str, tuple[Time, Time]]) -> int:
    print(f"{'':>26}  {'number':>7}  {'p50 ms':>7}  {'p99 ms':>7}  {'max ms':>7}")
    worst = 0.0
    for what in ("events", "firsts"):
        at: dict[str, list[float]] = {}
        for name, lags in found.items():
            values: list[float] = getattr(lags, what)
            at[name] = [percentile(values, share) for share in (0.5, 0.99, 1.0)]
            print(f"{f'{what}, {name}':>26}  {len(values):>7}  {'  '.join(f'{each:7.2f}' for each in at[name])}")
        floor, gate = (at[name][1] - at["straight"][1] for name in ("floor", "gate"))
        print(f"added at p99 to {what}, {streams} streams: {gate:.2f} ms, and by the floor {floor:.2f} ms")
        worst = max(worst, gate)
    for name, (before, after) in used.items():
        lags = found[name]
        own, waited = after.ran - before.ran, (after.waited - before.waited) / max(1, after.times - before.times)
        took = (
            f"{own / max(1, len(lags.firsts)):.1f} ms for an answer of {len(lags.events) // max(1, len(lags.firsts))}"
        )
        print(f"the {name}'s own time: {took} events; each time it was to run, it waited {waited:.2f} ms")
    failed = {name: lags.failed for name, lags in found.items() if lags.failed}
    print(f"failed: {failed or 'none'}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"at most {MOST_MS:g} ms are aimed at")
    return int(bool(failed) or worst > MOST_MS)


GATE = """
import sys, anyio
from pathlib import Path
from supervisor.gate.accounts import Account
from supervisor.gate.server import Terms, run
account = Account("bench", "anthropic", sys.argv[2], "env:BENCH_KEY")
anyio.run(run, Terms(Path(sys.argv[1]), "127.0.0.1", int(sys.argv[3]), (account,), 60.0))
"""


@contextmanager
def running(*argv: str, **env: str) -> Iterator[subprocess.Popen[str]]:
    """In a session of its own, as services are: the kernel shares processors among sessions first."""
    process = subprocess.Popen(
        [sys.executable, *argv],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **env},
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(10)
        assert process.stdout is not None
        process.stdout.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def there(port: int) -> None:
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.05)
        else:
            writer.close()
            return


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=1, help="turns of each way; one takes some ten seconds")
    parser.add_argument("--pace", type=float, default=0.25, help="seconds between the events of a stream")
    parser.add_argument("--events", type=int, default=12, help="of a stream")
    return parser.parse_args()


@contextmanager
def listening(*argv: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """With the port that it says."""
    with running("-m", "bench.gate_servers", *argv) as process:
        assert process.stdout is not None
        yield process, int(process.stdout.readline())


def main() -> int:
    said = parsed()
    paced = (str(said.events), str(said.pace))
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(Keys(folder_of(Path(folder)))) as keys,
        listening("upstream", *paced) as (_, straight),
        listening("floor", str(straight)) as (copying, between),
    ):
        port = free_port()
        key = keys.issue(("bench", 1, 1), {"anthropic": "bench"}, ["batch bench"])
        keys.put_caps({"batch bench": 10**12})
        with running("-c", GATE, folder, f"http://127.0.0.1:{straight}", str(port), BENCH_KEY="k" * 20) as gate:
            asyncio.run(asyncio.wait_for(there(port), 30))
            pids = {"floor": copying.pid, "gate": gate.pid}
            before = {name: Time.of(pid) for name, pid in pids.items()}
            found = asyncio.run(clients(said, {"straight": straight, "floor": between, "gate": port}, key))
            used = {name: (before[name], Time.of(pid)) for name, pid in pids.items()}
    return report(found, said.streams, used)


if __name__ == "__main__":
    sys.exit(main())
