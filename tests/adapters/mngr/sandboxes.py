"""Places of their own for a device under test: home, tmux, source repository; nothing of them outlives the test."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil

from supervisor.adapters.mngr import MngrSettings, open_agents
from supervisor.adapters.private_tmux import PrivateTmux
from supervisor.ports import AgentOrder, Agents, Place
from tests.waiting import until_sync

STUB = Path(__file__).parents[2] / "stubs" / "mngr"
REAL = Path(sys.executable).with_name("mngr")
#: the stub starts at once with this interpreter, and slowly through a version manager's shim
PATH = f"{Path(sys.executable).parent}:{os.environ['PATH']}"


@dataclass(frozen=True)
class Sandbox:
    root: Path
    settings: MngrSettings

    @property
    def source(self) -> Path:
        return self.root / "source"

    def order(self, **changes: Any) -> AgentOrder:
        unique = uuid4().hex
        order = AgentOrder(
            id=f"agent-{unique}",
            name=f"n-{unique[:12]}",
            place=Place("local"),
            type="command",
            args=("sleep", "600"),
            source=self.source,
            base="main",
            branch=f"run/{unique[:12]}",
        )
        return replace(order, **changes)

    def goes_wrong(self, *rules: dict[str, object]) -> None:
        self._stub_file("faults.json").write_text(json.dumps(rules))

    def configure(self, **config: object) -> None:
        self._stub_file("config.json").write_text(json.dumps(config))

    def calls(self) -> list[dict[str, Any]]:
        written = self._stub_file("calls.jsonl")
        return [json.loads(line) for line in written.read_text().splitlines()] if written.exists() else []

    def _stub_file(self, name: str) -> Path:
        folder = self.settings.host_dir / "stub"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / name


@contextlib.contextmanager
def sandbox(command: Path = STUB, **settings: Any) -> Iterator[Sandbox]:
    """Fails when anything that was started in it goes on afterwards by itself."""
    root = Path(tempfile.mkdtemp(prefix="sv-"))  # short: tmux's socket has to fit into 107 bytes
    try:
        _make_repository(root / "source")
        places = {"home": root / "home", "tmux_tmpdir": root / "tmux", "cwd": root / "cwd"}
        given = {"warm": False, "call_timeout": 30.0, "env": {"PATH": PATH}, **places, **settings}
        yield Sandbox(root, MngrSettings(command=str(command), **given))
    finally:
        until_sync(f"every process of {root} is gone", lambda: _are_gone_with_agents(root))
        shutil.rmtree(root)


@contextlib.asynccontextmanager
async def device(box: Sandbox, **changes: Any) -> AsyncIterator[Agents]:
    agents = await open_agents(replace(box.settings, **changes))
    try:
        yield agents
    finally:
        await agents.close()


def processes_of(root: Path) -> list[psutil.Process]:
    """Those that have this sandbox as their home."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get("HOME") == str(root / "home") and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def _are_gone_with_agents(root: Path) -> bool:
    """Asked again and again: one that has just been forked can't be told for an agent yet."""
    _kill_agents(root)
    return not processes_of(root)


def _kill_agents(root: Path) -> None:
    PrivateTmux.below(root / "tmux").end()
    for process in processes_of(root):
        with contextlib.suppress(psutil.Error):
            if process.environ().get("MNGR_AGENT_ID") or _is_mngrs_own(process):
                process.kill()


def _is_mngrs_own(process: psutil.Process) -> bool:
    """Whether mngr has started it to look after a pane, for as long as it likes."""
    return any(word.startswith("PANE_PID=") for word in process.cmdline())


def _make_repository(path: Path) -> None:
    def git(*args: str) -> None:
        subprocess.run(["git", "-C", str(path), *args], check=True, capture_output=True)

    path.mkdir()
    git("init", "-q", "-b", "main")
    (path / "README").write_text("hello\n")
    git("add", ".")
    git("-c", "user.name=n", "-c", "user.email=e@example.com", "commit", "-q", "-m", "first")
