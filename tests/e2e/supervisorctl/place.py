"""A machine of the reader's own: a checkout, a mngr that needs neither tmux nor a model, and room for a daemon.

The commands are the installed ones, and so is the daemon; only mngr is a stand-in, which starts `agent` where the
tutorial's reader has claude.
"""

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from supervisor.control.client import Client
from supervisor.errors import Unreachable
from tests.below import end_below
from tests.e2e.supervisorctl import target
from tests.waiting import until_sync
from tests.zygote import programs

HERE = Path(__file__).parent
BIN = Path(sys.executable).parent
STUB = HERE.parents[1] / "stubs" / "mngr"
TESTS = ("test_hello", "test_goodbye", "test_shout")
#: everything takes a second or two; the machine may be busy
PATIENCE_SECONDS = 90.0

CONFIG = """\
[[pools]]
name = "local"
slots = 4

[profiles.overnight]
inherits = "default"
window = "22:00-06:00"
slots = 1
"""


class Place:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.repo = root / "home" / "greet"
        self.state = root / "home" / ".local" / "state" / "agent-supervisor"
        self.socket = root / "run" / "ctl.sock"

    def furnish(self) -> None:
        target.lay_out(self.repo)
        self.configure(CONFIG)
        (self.bin / "mngr").parent.mkdir()
        (self.bin / "mngr").symlink_to(STUB)
        known = {"types": {"claude": [str(HERE / "agent")]}, "providers": ["modal"]}
        folder = self.agents_home / ".mngr" / "stub"
        folder.mkdir(parents=True)
        (folder / "config.json").write_text(json.dumps(known))

    def configure(self, config: str) -> None:
        (self.root / "home" / "supervisor.toml").write_text(config)

    def environment(self, path: str) -> dict[str, str]:
        return {
            "PATH": f"{self.bin}:{programs()}:{BIN}:{path}",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # what else is installed here slows collecting down
            "SUPERVISOR_STATE_DIR": str(self.state),
            "SUPERVISOR_SOCKET": str(self.socket),
            "SUPERVISOR_MNGR": json.dumps({"warm": False, "list_seconds": 2}),
            "SUPERVISOR_PROFILES": json.dumps({"default": {"verify_runs": 0, "integrator": False}}),
        }

    @property
    def bin(self) -> Path:
        return self.root / "bin"

    @property
    def agents_home(self) -> Path:
        return self.state / "home"

    # --- agents -----------------------------------------------------------------------------------------------
    def agents(self) -> list[tuple[int, int]]:
        """The processes of all that the stand-in has started and still knows, each with its start."""
        known = sorted((self.agents_home / ".mngr" / "agents").glob("*/data.json"))
        found = [json.loads(path.read_text()) for path in known]
        return [(each["pid"], int(each["started"])) for each in found]

    def hold(self, *tests: str) -> None:
        """Let the agents of these tests do nothing, until `release`."""
        (self.agents_home / "held").write_text("\n".join(tests))

    def release(self) -> None:
        (self.agents_home / "held").unlink()

    # --- what the daemon says, without a line in a transcript -------------------------------------------------
    def get(self, path: str, **query: Any) -> dict[str, Any]:
        found: dict[str, Any] = Client(self.socket).get(path, **query)
        return found

    def has_daemon(self) -> bool:
        with suppress(Unreachable):
            return bool(self.get("/v1/health"))
        return False

    def job(self, batch: str, number: int) -> dict[str, Any]:
        known: dict[str, Any] = self.get(f"/v1/jobs/{batch}.{number}")["job"]
        return known

    def jobs(self, batch: str) -> dict[str, Any]:
        counts: dict[str, Any] = self.get(f"/v1/batches/{batch}")["batch"]["jobs"]
        return counts

    def outcomes(self, batch: str) -> list[str | None]:
        """Of test_hello, test_goodbye and test_shout."""
        return [row["outcome"] for row in self.get(f"/v1/batches/{batch}/jobs")["rows"]]

    # --- waiting ----------------------------------------------------------------------------------------------
    def until(self, described: str, condition: Callable[[], object]) -> None:
        until_sync(described, condition, timeout=PATIENCE_SECONDS)

    def until_running(self, batch: str, count: int) -> None:
        self.until(f"{count} agents are at work", lambda: self.jobs(batch)["running"] == count)

    def until_over(self, batch: str) -> None:
        self.until(f"{batch} is over", lambda: self.get(f"/v1/batches/{batch}")["batch"]["finished_at"])

    # --- the end ----------------------------------------------------------------------------------------------
    def clear(self) -> None:
        """Agents outlive their daemon on purpose: whatever has a path of ours in its environment is ended."""
        end_below(self.root)
