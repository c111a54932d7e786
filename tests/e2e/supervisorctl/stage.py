"""What a test of the tutorial acts on: a place of its own, or the daemon of another one."""

import json
import shlex
import shutil
from typing import Any

from supervisor.e2e import E2e, expect
from supervisor.e2e.spawned import Spawned
from supervisor.rehearsal import lay_out
from tests.e2e.supervisorctl.place import PATIENCE_SECONDS, Place
from tests.zygote import mngr, programs


class Stage(Place):
    """The place of one test, in which it runs commands."""

    def __init__(self, e2e: E2e) -> None:
        super().__init__(e2e.home.parent)
        self.e2e = e2e
        e2e.keep_background = True  # an agent that the daemon starts meanwhile is no leftover of a command
        self._daemons: list[Spawned] = []
        self.furnish()
        e2e.cwd = self.repo
        e2e.env |= self.environment(e2e.env["PATH"])

    def visit(self, other: Place) -> None:
        """From now on the daemon is that one; the checkout stays this one."""
        self.state, self.socket = other.state, other.socket
        self.e2e.env |= {"SUPERVISOR_STATE_DIR": str(self.state), "SUPERVISOR_SOCKET": str(self.socket)}

    def use_installed(self) -> None:
        """From now on the installed programs, as a person starts them; else they are forks (`tests/zygote`)."""
        self.e2e.env["PATH"] = self.e2e.env["PATH"].replace(f"{programs()}:", "")

    def profiles(self, **more: Any) -> None:
        """Beside the default one."""
        known = json.loads(self.e2e.env["SUPERVISOR_PROFILES"])
        self.e2e.env["SUPERVISOR_PROFILES"] = json.dumps(known | more)

    def uninstall_mngr(self) -> None:
        self.e2e.env["SUPERVISOR_MNGR"] = json.dumps({"command": "mngr-is-not-installed"})

    def rehearse(self, *, with_stub: bool = True, **profile: Any) -> None:
        """The checkout is the rehearsal's tool, and its agents know what to do there, on the real mngr or not."""
        shutil.rmtree(self.repo)
        lay_out(self.repo)
        if not with_stub:
            (self.bin / "mngr").unlink()
            self.e2e.env["SUPERVISOR_MNGR"] = json.dumps({"command": str(mngr())})
        words = ["python", "-m", "pytest", "-q", "-p", "supervisor.e2e.plugin"]
        settings = {
            "agent": "rehearsal",
            "keep_agents": "none",
            "pytest": words,
            "integrator": False,
            "verify_runs": 1,
        }
        settings |= {"env": {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, **profile}
        self.e2e.env["SUPERVISOR_PROFILES"] = json.dumps({"default": settings})

    def newest(self) -> str:
        """The id of the batch that was submitted last."""
        return str(self.get("/v1/batches", limit=1)["rows"][0]["id"])

    def start(self) -> Spawned:
        """A daemon in the background; `$daemon` is its process."""
        command = "exec supervisord --config ~/supervisor.toml --log-format console"
        daemon = self.e2e.spawn(command, comment="the daemon", env={"NO_COLOR": "1"}, keep_background=True)
        self._daemons.append(daemon)
        daemon.wait_for(r"\bready\b", timeout=PATIENCE_SECONDS)
        self.e2e.env["daemon"] = str(daemon.pid)
        return daemon

    def answers(self) -> None:
        """Wait for a daemon that was started in the background."""
        self.until("the daemon answers", self.has_daemon)
        expect(self.e2e.run("supervisorctl version", comment="is it there?")).stdout.to_contain("daemon 0.")

    def submit(self, *words: str) -> str:
        """`$batch` is its id from now on."""
        command = f"supervisorctl submit tests/e2e {shlex.join(words)}".rstrip()
        batch = self.e2e.run(command, comment="a batch to look at").stdout.strip()
        self.e2e.env["batch"] = batch
        return batch

    def clear(self) -> None:
        for daemon in self._daemons:
            daemon.stop(grace=PATIENCE_SECONDS / 6)  # it detaches, and that is a good end
        super().clear()
