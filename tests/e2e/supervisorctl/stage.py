"""A machine of the reader's own: a checkout, a mngr that needs neither tmux nor a model, and places for a daemon.

The commands are the installed ones, and so is the daemon; only mngr is a stand-in, which starts `agent` where the
tutorial's reader has claude. Where the stand-in would prove nothing, `with_real_mngr` takes it away.
"""

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from supervisor.control.client import Client
from supervisor.e2e import E2e, expect, processes
from supervisor.e2e.spawned import Spawned
from tests.e2e.supervisorctl import target
from tests.waiting import until_sync

HERE = Path(__file__).parent
STUB = HERE.parents[1] / "stubs" / "mngr"
#: each takes a second or two; the machine may be busy
PATIENCE_SECONDS = 45.0

CONFIG = """\
[[pools]]
name = "local"
slots = 4

[profiles.overnight]
inherits = "default"
window = "22:00-06:00"
slots = 1
"""


class Stage:
    def __init__(self, e2e: E2e) -> None:
        self.e2e = e2e
        self.root = e2e.home.parent
        self.repo = e2e.home / "greet"
        self.state = e2e.home / ".local" / "state" / "agent-supervisor"
        self.socket = self.root / "run" / "ctl.sock"
        e2e.cwd = self.repo
        target.lay_out(self.repo)
        (self.repo / ".git" / "info").mkdir(exist_ok=True)
        (self.repo / ".git" / "info" / "exclude").write_text("supervisor.toml\n")
        e2e.env |= {
            "PATH": f"{self.root / 'bin'}:{Path(sys.executable).parent}:{e2e.env['PATH']}",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # what else is installed here slows collecting down
            "SUPERVISOR_STATE_DIR": str(self.state),
            "SUPERVISOR_SOCKET": str(self.socket),
            "SUPERVISOR_MNGR": json.dumps({"warm": False, "list_seconds": 2}),
            "SUPERVISOR_PROFILES": json.dumps({"default": {"verify_runs": 0}}),
        }
        self._install_stub()

    def _install_stub(self) -> None:
        (self.root / "bin").mkdir()
        (self.root / "bin" / "mngr").symlink_to(STUB)
        known = {"types": {"claude": [str(HERE / "agent")]}, "providers": ["modal"]}
        folder = self.agents_home / ".mngr" / "stub"
        folder.mkdir(parents=True)
        (folder / "config.json").write_text(json.dumps(known))

    def uninstall_mngr(self) -> None:
        """What `mngr` is, is found nowhere."""
        self.e2e.env["SUPERVISOR_MNGR"] = json.dumps({"command": "mngr-is-not-installed"})

    def with_real_mngr(self, **profile: Any) -> None:
        (self.root / "bin" / "mngr").unlink()
        self.e2e.env["SUPERVISOR_PROFILES"] = json.dumps({"default": profile})

    # --- the daemon -------------------------------------------------------------------------------------------
    def start(self, config: str = CONFIG) -> Spawned:
        """A daemon in the background; `$daemon` is its process."""
        path = self.repo / "supervisor.toml"
        if not path.exists():
            path.write_text(config)
        command = "exec supervisord --config supervisor.toml --log-format json"
        daemon = self.e2e.spawn(command, comment="the daemon", keep_background=True)
        daemon.wait_for('"ready"', timeout=PATIENCE_SECONDS)
        self.e2e.env["daemon"] = str(daemon.pid)
        return daemon

    def answers(self, options: str = "") -> None:
        """Wait until a daemon that was started in the background is there."""
        version = self.e2e.run(f"supervisorctl version {options}".rstrip(), comment="is it there yet?")
        expect(version).eventually(PATIENCE_SECONDS, interval=0.3).stdout.to_contain("daemon 0.")

    # --- agents and batches -----------------------------------------------------------------------------------
    @property
    def agents_home(self) -> Path:
        return self.state / "home"

    def agents(self) -> list[int]:
        """The processes of all that the stand-in has started and still knows."""
        known = sorted((self.agents_home / ".mngr" / "agents").glob("*/data.json"))
        return [json.loads(path.read_text())["pid"] for path in known]

    def hold(self, *tests: str) -> None:
        """Let the agents of these tests do nothing, until `release`."""
        (self.agents_home / "held").write_text("\n".join(tests))

    def release(self) -> None:
        (self.agents_home / "held").unlink()

    def submit(self, *words: str) -> str:
        """`$batch` is its id from now on."""
        command = f"supervisorctl submit tests/e2e {shlex.join(words)}".rstrip()
        batch = self.e2e.run(command, comment="a batch to look at").stdout.strip()
        self.e2e.env["batch"] = batch
        return batch

    def get(self, path: str, **query: Any) -> dict[str, Any]:
        """What the daemon says, without a line in the transcript."""
        found: dict[str, Any] = Client(self.socket).get(path, **query)
        return found

    def job(self, batch: str, number: int) -> dict[str, Any]:
        known: dict[str, Any] = self.get(f"/v1/jobs/{batch}.{number}")["job"]
        return known

    def jobs(self, batch: str) -> dict[str, Any]:
        counts: dict[str, Any] = self.get(f"/v1/batches/{batch}")["batch"]["jobs"]
        return counts

    def until(self, described: str, condition: Callable[[], object]) -> None:
        until_sync(described, condition, timeout=PATIENCE_SECONDS)

    def until_running(self, batch: str, count: int) -> None:
        self.until(f"{count} agents are at work", lambda: self.jobs(batch)["running"] == count)

    def until_over(self, batch: str) -> None:
        self.until(f"{batch} is over", lambda: self.get(f"/v1/batches/{batch}")["batch"]["finished_at"])

    def outcomes(self, batch: str) -> list[str | None]:
        """Of test_hello, test_goodbye and test_shout."""
        return [row["outcome"] for row in self.get(f"/v1/batches/{batch}/jobs")["rows"]]

    # --- the end ----------------------------------------------------------------------------------------------
    def close(self) -> None:
        """Agents outlive their daemon on purpose: whatever has a place of ours in its environment is ended."""
        processes.end(self._processes, grace=1.0)

    def _processes(self) -> set[int]:
        pids = {int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()}
        return {pid for pid in pids if self._is_ours(pid) and processes.is_alive(pid)}

    def _is_ours(self, pid: int) -> bool:
        try:
            return f"={self.root}/".encode() in Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            return False
