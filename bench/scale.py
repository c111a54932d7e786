"""Ten thousand jobs: the time to submit them, their memory, and the time of a restart.

    python -m bench.scale [--jobs 10000] [--agents 100]

The floors are pytest's own collection, and a plain `mngr list` of the same number of agents.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from supervisor.adapters.private_tmux import PrivateTmux, leave_the_users_tmux
from supervisor.control.client import Client
from supervisor.errors import SupervisorError
from supervisor.rehearsal.generate import generate

BIN = Path(sys.executable).parent
CONFIG = """\
state_dir = "{folder}/state"
socket = "{folder}/ctl.sock"
[[pools]]
name = "local"
slots = {agents}
[profiles.default]
agent = "command"
command = ["{sleeper}"]
keep_agents = "none"
pytest = ["{python}", "-m", "pytest", "-q"]
"""


def timed(*command: str, cwd: Path | None = None) -> tuple[float, str]:
    started = time.monotonic()
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stdout[-500:]} {done.stderr[-2000:]}")
    return time.monotonic() - started, done.stdout


def wait(described: str, condition: object, limit: float = 300.0) -> float:
    started = time.monotonic()
    while not condition():  # type: ignore[operator]
        if time.monotonic() - started > limit:
            raise SystemExit(f"never: {described}")
        time.sleep(0.01)
    return time.monotonic() - started


class Box:
    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder, folder / "daemon.log"
        self.daemon: subprocess.Popen[bytes]

    def start(self) -> None:
        with self.log.open("wb") as log:
            command = [str(BIN / "supervisord"), "--config", str(self.folder / "config.toml"), "--log-format", "json"]
            self.daemon = subprocess.Popen(command, stdout=log, stderr=log)

    def ctl(self, *words: str, cwd: Path | None = None) -> tuple[float, str]:
        return timed(str(BIN / "supervisorctl"), "--socket", str(self.folder / "ctl.sock"), *words, cwd=cwd)

    def answers(self) -> bool:
        """Ask without starting `supervisorctl`, which would compete with the starting daemon for the CPU."""
        try:
            Client(self.folder / "ctl.sock").get("/v1/status")
        except SupervisorError:
            return False
        return True

    def counts(self, batch: str) -> dict[str, int]:
        found: dict[str, int] = json.loads(self.ctl("status", batch, "--json")[1])["batch"]["jobs"]
        return found

    def listed(self) -> int:
        """How many of the known agents the last listing found."""
        found = re.findall(r'"known": (\d+)[^\n]*"event": "listed"', self.log.read_text())
        return int(found[-1]) if found else 0

    def megabytes(self) -> float:
        pages = int(Path(f"/proc/{self.daemon.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@contextmanager
def box(agents: int) -> Iterator[Box]:
    folder = Path(tempfile.mkdtemp(prefix="sv-scale-", dir="/tmp"))
    sleeper = folder / "sleeper"
    sleeper.write_text(
        '#!/bin/bash\n: >"$MNGR_AGENT_STATE_DIR/active"  # marked as working: not nudged\nsleep 3600\n'
    )
    sleeper.chmod(0o755)
    (folder / "config.toml").write_text(
        CONFIG.format(folder=folder, agents=agents, sleeper=sleeper, python=sys.executable)
    )
    made = Box(folder)
    made.start()
    try:
        yield made
    finally:
        made.daemon.kill()
        made.daemon.wait()
        PrivateTmux.below(folder / "state" / "tmux").end()
        shutil.rmtree(folder, ignore_errors=True)


def measure(jobs: int, agents: int) -> Iterator[tuple[str, float, str]]:
    with box(agents) as here:
        repo = here.folder / "repo"
        generate(repo, jobs)
        wait("it answers", here.answers)
        here.ctl("pause")
        collecting, _ = timed(sys.executable, "-m", "pytest", "-q", "--collect-only", "tests", cwd=repo)
        submitting, out = here.ctl("submit", "tests", "--json", cwd=repo)
        batch = json.loads(out)["batch"]
        yield "submit beyond collection, s", submitting - collecting, f"at most 5; collection itself {collecting:.1f}"
        yield "resident, MB", here.megabytes(), "at most 200"
        took = sorted(here.ctl("status", batch, "--json")[0] for _ in range(7))
        bare = sorted(timed(sys.executable, "-c", "import httpx, typer")[0] for _ in range(7))
        yield "status, median s", took[3], f"python importing httpx and typer: {bare[3]:.2f}"
        yield "status, answered in s", answering(here, batch), "at most 0.1"

        here.ctl("resume")
        wait(f"{agents} agents are live", lambda: here.counts(batch)["running"] == agents, 600)
        here.daemon.send_signal(signal.SIGKILL)
        here.daemon.wait()
        started = time.monotonic()
        here.start()
        wait("it answers again", here.answers)
        yield f"restart with {agents} agents, answers in s", time.monotonic() - started, "at most 1"
        wait("all are found again", lambda: here.listed() == agents)
        yield "every agent found again in s", time.monotonic() - started, "at most 8"
        yield "resident after that, MB", here.megabytes(), "at most 200"


def answering(here: Box, batch: str) -> float:
    """The daemon's own time, without that of starting `supervisorctl`."""
    took = []
    for _ in range(7):
        started = time.monotonic()
        Client(here.folder / "ctl.sock").get(f"/v1/batches/{batch}")
        took.append(time.monotonic() - started)
    return sorted(took)[3]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--agents", type=int, default=100)
    options = parser.parse_args()
    leave_the_users_tmux()
    for name, value, beside in measure(options.jobs, options.agents):
        print(f"{name:>44}  {value:8.2f}   {beside}", flush=True)


if __name__ == "__main__":
    main()
