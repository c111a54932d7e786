"""The installed service and its gate, as units, with agents that ask a provider outside of the machine."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.gate.box import free_port
from tests.gate.gates import REAL_KEY
from tests.gate.provider import Scripted
from tests.systemd.service import (
    CONFIG,
    GATE_UNIT,
    MAKE_REPO,
    PATIENCE_SECONDS,
    REPO,
    ROOT,
    STATE,
    UNIT,
    Service,
    agents,
)
from tests.waiting import until_sync

JOBS = 4
AGENT, ANSWERS = "/opt/agent/asking", f"{STATE}/answers"
GATE_SOCKET = "agent-supervisor-gate.socket"
CREDENTIAL = "/etc/agent-supervisor/credentials/the-key"


@dataclass
class Gated(Service):
    provider: Scripted
    port: int = 0

    def set_up(self) -> None:
        self.port = free_port()  # of this machine: both have one loopback
        self.machine.run("install", "-D", ROOT / "tests" / "gate" / "agent", AGENT)
        self.machine.run(sys.executable, "-c", MAKE_REPO, REPO, str(JOBS), PYTHONPATH=str(ROOT))
        self.machine.write(CREDENTIAL, REAL_KEY)
        self.machine.path(CREDENTIAL).chmod(0o600)
        drop_in = f"[Service]\nLoadCredential=the-key:{CREDENTIAL}\n"
        self.machine.write(f"/etc/systemd/system/{GATE_UNIT}.d/test.conf", drop_in)
        listens = f"[Socket]\nListenStream=\nListenStream=127.0.0.1:{self.port}\n"
        self.machine.write(f"/etc/systemd/system/{GATE_SOCKET}.d/test.conf", listens)
        self.machine.write(CONFIG, self._configuration())
        self.machine.run("install", "-d", "-m", "0777", ANSWERS)
        self.machine.run("systemctl", "daemon-reload")
        self.machine.run("systemctl", "start", GATE_SOCKET, GATE_UNIT, UNIT)

    def _configuration(self) -> str:
        return f"""
[mngr]
list_seconds = 2

[gate]
on = true
listen = "127.0.0.1:{self.port}"

[[gate.upstreams]]
api = "anthropic"
url = "{self.provider.url}"
key = "credential:the-key"

{agents(AGENT, JOBS)}
env = {{ ANSWERS = "{ANSWERS}", REQUESTS = "10000", PERSISTENT = "yes", ANTHROPIC_API_KEY = "credential:of-nobody" }}
"""

    @contextmanager
    def asking(self) -> Iterator[None]:
        """A batch whose agents are answered as long as this lasts; then it ends well."""
        self.machine.run("sh", "-c", f"rm -f {ANSWERS}/*")
        batch = self.ctl("submit", "--repo", REPO)["batch"]
        self.more_are_answered(JOBS)
        yield
        self.machine.write(f"{ANSWERS}/enough", "")
        self.machine.run("supervisorctl", "wait", batch, timeout=2 * PATIENCE_SECONDS)
        rows = self.ctl("jobs", batch)["rows"]
        assert [(row["outcome"], row["attempts"]) for row in rows] == [("improved", 1)] * JOBS

    def answers(self) -> list[str]:
        """The status of each, and whether it was whole."""
        path = self.machine.path(f"{ANSWERS}/answers")
        return [line.split(maxsplit=2)[2] for line in path.read_text().splitlines()] if path.exists() else []

    def more_are_answered(self, number: int = 1) -> None:
        many = len(self.answers()) + number
        until_sync("more are answered", lambda: len(self.answers()) >= many, PATIENCE_SECONDS)

    def is_another(self, unit: str, pid: int) -> bool:
        found = self.main(unit)
        return found not in (0, pid) and self.machine.show(unit, "ActiveState") == "active"

    def main(self, unit: str) -> int:
        return int(self.machine.show(unit, "MainPID"))

    def kill(self, unit: str) -> None:
        """And wait for the next one."""
        pid = self.main(unit)
        self.machine.run("kill", "-KILL", str(pid))
        until_sync("there is another one", lambda: self.is_another(unit, pid), PATIENCE_SECONDS)

    def environments(self) -> list[dict[str, Any]]:
        """Of all agents."""
        found = self.machine.path(ANSWERS).glob("env-*")
        return [dict(line.partition("=")[::2] for line in path.read_text().splitlines()) for path in found]
