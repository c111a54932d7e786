"""The installed service on a machine of its own, with ten live agents on the real mngr."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.lives import Life, lives
from tests.systemd.machine import Machine
from tests.waiting import until_sync

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "install"
AGENTS = 10
UNIT, AGENTS_UNIT, SOCKET_UNIT = (f"agent-supervisor{rest}" for rest in (".service", "-agents.service", ".socket"))
STATE = "/var/lib/agent-supervisor"
GATE_UNIT = "agent-supervisor-gate.service"
LIVES = f"{STATE}/lives"
CONFIG = "/etc/agent-supervisor/config.toml"
REPO = "/srv/app"
AGENT = "/opt/agent/agent"
#: of what is really asked of the machine, on one that has other things to do
PATIENCE_SECONDS = 150.0
#: shorter than what the daemon itself waits for a journal that somebody holds
WATCHDOG_SECONDS = 25
SIGN_OF_LIFE = "WatchdogTimestampMonotonic"


def agents(program: str, slots: int) -> str:
    """The configuration of a pool of programs; the table of its profile goes on after it."""
    return f"""
[[pools]]
name = "local"
slots = {slots}

[profiles.default]
agent = "command"
command = ["{program}"]
agent_args = []
pytest = ["{sys.executable}", "-m", "pytest", "-p", "no:cacheprovider"]
keep_agents = "none"
verify_runs = 0
integrator = false
"""


GOOD = f"""
[mngr]
list_seconds = 2
{agents(AGENT, AGENTS)}
env = {{ LIVES = "{LIVES}", WORK_SECONDS = "3000", GIVEN = "credential:given" }}
"""

MAKE_REPO = """
import pathlib, sys
from supervisor.rehearsal.generate import generate
generate(pathlib.Path(sys.argv[1]), int(sys.argv[2]))
"""

#: a process that has the only right to write to the journal, until its input ends
HOLD = """
import sqlite3, sys
journal = sqlite3.connect(sys.argv[1], isolation_level=None)
journal.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
"""

DROP_IN = f"""
[Service]
WatchdogSec={WATCHDOG_SECONDS}
LoadCredential=given:/etc/credentials/given
LoadCredential=withheld:/etc/credentials/withheld
"""


@dataclass
class Service:
    machine: Machine

    def install(self, **where: str) -> None:
        """As a person does it, with this machine's way to the package index."""
        # The machine has a /tmp of its own, without the folder of these tests.
        mine = {name: value for name, value in os.environ.items() if name != "TMPDIR"}
        here = mine | {"PYTHON": sys.executable, "PREFIX": "/usr/local"} | where
        self.machine.run(SCRIPT, timeout=600, **here)

    def set_up(self) -> None:
        self.machine.run("install", "-D", ROOT / "tests" / "daemon" / "agent", AGENT)
        self.machine.run(sys.executable, "-c", MAKE_REPO, REPO, str(AGENTS), PYTHONPATH=str(ROOT))
        self.machine.write("/etc/credentials/given", "this-is-given")
        self.machine.write("/etc/credentials/withheld", "this-is-withheld")
        self.machine.write(f"/etc/systemd/system/{UNIT}.d/test.conf", DROP_IN)
        self.machine.write(CONFIG, GOOD)
        self.machine.run("systemctl", "daemon-reload")

    # --- what a person does

    def ctl(self, *words: str, timeout: float = 120) -> Any:
        return json.loads(self.machine.run("supervisorctl", "--json", *words, timeout=timeout))

    def start(self) -> None:
        self.machine.run("systemctl", "start", UNIT)

    @property
    def pid(self) -> int:
        return int(self.machine.show(UNIT, "MainPID"))

    def batch(self) -> str:
        """The batch whose ten agents are live; submitted unless it is there."""
        self.start()
        open_batches = [row for row in self.ctl("status")["batches"] if row["state"] != "finished"]
        if open_batches:
            return str(open_batches[0]["id"])
        self.machine.write(LIVES, "")
        self.machine.path(LIVES).chmod(0o666)
        batch = str(self.ctl("submit", "--repo", REPO)["batch"])
        self._until("ten agents work", lambda: len(self.agents()) == AGENTS)
        self._until("they are known to be live", lambda: self.is_adopted(batch))
        return batch

    # --- what is so

    def agents(self) -> dict[str, Life]:
        """The process of every agent that was ever started for the batch, by job and attempt."""
        return {f"{life.job}/{life.attempt}": life for life in lives(self.machine.path(LIVES))}

    def is_alive(self, agent: Life) -> bool:
        return agent.is_alive(self.machine.path("/proc"))

    def is_adopted(self, batch: str) -> bool:
        rows = self.ctl("jobs", batch)["rows"]
        return [(row["state"], row["attempts"]) for row in rows] == [("running", 1)] * AGENTS

    def has_looked(self) -> None:
        """Wait until the daemon has listed its agents and judged them: only then does it give a sign of life."""
        for _ in range(2):  # a listing may be under way that was asked for before
            self._until("a sign of life", partial(self._is_news, self.machine.show(UNIT, SIGN_OF_LIFE)))

    def _is_news(self, last: str) -> bool:
        return self.machine.show(UNIT, SIGN_OF_LIFE) != last

    def is_failed(self) -> bool:
        return self.machine.show(UNIT, "ActiveState") == "failed"

    def tries(self) -> int:
        return self.machine.said(UNIT).count(f"Starting {UNIT}")

    # --- what befalls it

    def signal(self, number: int) -> None:
        self.machine.run("kill", f"-{number}", str(self.pid))

    @contextmanager
    def ended_by(self, result: str) -> Iterator[None]:
        """What is done inside ends the daemon, as systemd says it; wait for the next one."""
        before, restarts = self.pid, int(self.machine.show(UNIT, "NRestarts"))
        yield
        self._until("another daemon is ready", lambda: self.pid not in (0, before) and self._is_active())
        assert int(self.machine.show(UNIT, "NRestarts")) == restarts + 1
        said = [line for line in self.machine.said(UNIT).splitlines() if "Failed with result" in line]
        assert said[-1].endswith(f"'{result}'.")

    @contextmanager
    def journal_held(self) -> Iterator[None]:
        """Another process has the only right to write to it."""
        with self.machine.running(sys.executable, "-c", HOLD, f"{STATE}/journal.sqlite3") as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
            yield

    def answers_without_writing(self, asking: subprocess.Popen[str]) -> bool:
        """Whether it can be asked how things are, while a request that it has taken is not done."""
        return asking.poll() is None and self.ctl("status")["paused"] is False

    def let_agents_finish(self) -> None:
        """What they wait for is over: their one child is a `sleep`."""
        for agent in self.agents().values():
            self.machine.run("pkill", "-P", str(agent.pid), "-x", "sleep")

    def _is_active(self) -> bool:
        return self.machine.show(UNIT, "ActiveState") == "active"

    def _until(self, described: str, condition: Callable[[], object]) -> None:
        try:
            until_sync(described, condition, PATIENCE_SECONDS)
        except AssertionError as never:
            raise AssertionError(f"{never}\n{self.machine.said(UNIT)[-4000:]}") from None
