"""A machine without the repository: a home, the programs of the system, and what is installed into that home."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from supervisor.adapters.private_tmux import PrivateTmux
from tests.install.building import BIN, run
from tests.shape.sources import ROOT
from tests.waiting import until_sync

#: git, tmux, rsync and jq; no environment of ours
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
#: what says something of this machine's own installation of us
OURS = ("SUPERVISOR_", "UV_", "PIPX_", "VIRTUAL_ENV", "PYTHON", "TMUX", "XDG_")


class Machine:
    def __init__(self, root: Path) -> None:
        self.root, self.home = root, root / "home"
        self.bin, self.state = self.home / ".local" / "bin", self.home / ".local" / "state" / "agent-supervisor"
        self.bin.mkdir(parents=True)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
        # What was fetched once is not fetched for every home.
        cache = run(BIN / "uv", "cache", "dir").strip()
        self.env = {**kept, "HOME": str(self.home), "PATH": f"{self.bin}:{SYSTEM_PATH}", "UV_CACHE_DIR": cache}
        self.env |= {
            "XDG_STATE_HOME": str(self.state.parent),
            "XDG_RUNTIME_DIR": str(root),
            "XDG_CONFIG_HOME": str(root),
        }
        self.env |= {"SUPERVISOR_STATE_DIR": str(self.state), "SUPERVISOR_SOCKET": str(root / "ctl.sock")}

    def run(self, *words: str | Path, cwd: Path | None = None, code: int = 0) -> str:
        return run(*words, cwd=cwd or self.home, env=self.env, code=code)

    def install(self, installer: str, wheel: Path) -> None:
        """As a person does: `uv tool install`, or `pipx install`."""
        uv = BIN / "uv"
        match installer:
            case "uv":
                self.run(uv, "tool", "install", "--quiet", "--python", sys.executable, wheel)
            case _:
                self.run(uv, "tool", "run", "--quiet", "pipx", "install", "--python", sys.executable, wheel)

    def type(self, command: str) -> str:
        """Into a shell, where there are `uv` and a Python that is new enough."""
        path = f"{self.env['PATH']}:{BIN}:{Path(sys.base_prefix) / 'bin'}"
        shell = ["bash", "-ec", command]
        done = subprocess.run(shell, cwd=self.home, env={**self.env, "PATH": path}, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def lend_mngr(self) -> None:
        """The repository's own, which is in an environment of its own as well."""
        (self.bin / "mngr").symlink_to(ROOT / ".venv-mngr" / "bin" / "mngr")

    def finding(self, name: str, *, code: int) -> dict[str, Any]:
        """The first of `doctor` that has this name."""
        found = json.loads(self.run("supervisorctl", "doctor", "--json", code=code))["findings"]
        first: dict[str, Any] = next(each for each in found if each["name"] == name)
        return first

    def python(self) -> Path:
        """Of the environment that the commands are in."""
        return (self.bin / "supervisorctl").resolve().with_name("python")

    @contextmanager
    def daemon(self, config: Path) -> Iterator[None]:
        with (self.root / "log").open("wb") as log:
            command = [str(self.bin / "supervisord"), "--config", str(config)]
            running = subprocess.Popen(command, cwd=self.home, env=self.env, stdout=log, stderr=log)
        try:
            until_sync("the daemon answers", lambda: (self.root / "ctl.sock").exists() or running.poll() is not None)
            assert running.poll() is None, (self.root / "log").read_text()
            yield
        finally:
            running.send_signal(signal.SIGTERM)
            running.wait(timeout=60)
            PrivateTmux.below(self.state / "tmux").end()


@contextmanager
def machine() -> Iterator[Machine]:
    root = Path(tempfile.mkdtemp(prefix="sv-m-", dir="/tmp"))  # a socket's path may not be long
    try:
        yield Machine(root)
    finally:
        shutil.rmtree(root, ignore_errors=True)
