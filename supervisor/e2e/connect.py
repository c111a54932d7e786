"""mngr's `connect_command` in tests: records what a user would see, instead of attaching the user's terminal.

mngr runs it where `mngr create` or `mngr connect` would attach, with the agent's name in the environment, and waits
for it; so it starts a recorder in the background and exits. The recorder is asciinema 3 if that is installed, else
our own; it prints which. It attaches with `mngr conn`, outlives the command that started it, and is stopped when the
test ends, which completes the recording.
"""

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from supervisor.e2e import processes
from supervisor.e2e.casts import CastFile, new_path
from supervisor.e2e.environment import COLUMNS, LINES
from supervisor.e2e.launch import Launch
from supervisor.e2e.output import Stream
from supervisor.e2e.ptys import Size
from supervisor.e2e.redact import of_this_process
from supervisor.e2e.result import CommandResult
from supervisor.e2e.running import Running

DIRECTORY = "E2E_CASTS"  # where recordings go; the session sets it
_AGENT = "MNGR_AGENT_NAME"
_RECORD = "--record"
_FOREVER = 24 * 3600.0


def main(arguments: list[str]) -> int:
    if arguments[:1] == [_RECORD]:
        return _record(Path(arguments[1]), arguments[2])
    return _start(os.environ)


def _start(environment: Mapping[str, str]) -> int:
    agent, directory = environment.get(_AGENT, ""), environment.get(DIRECTORY, "")
    if not (agent and directory and Path(directory).is_dir()):
        _say(f"nothing is recorded: {_AGENT} must name the agent and {DIRECTORY} the directory")
        return 2
    path = new_path(Path(directory), re.sub(r"[^A-Za-z0-9_.-]", "-", agent).lstrip(".-") or "agent")
    command = f"mngr conn {shlex.quote(agent)}"
    argv = _asciinema(path, command)
    how = "asciinema"
    if argv is None:
        argv = [sys.executable, "-m", "supervisor.e2e.connect", _RECORD, str(path), command]
        how = "the built-in recorder, as asciinema 3 is not installed"
    with path.with_suffix(".log").open("wb") as log:
        subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={**environment, processes.KEEP: "1"},
        )
    _say(f"recording `{command}` to {path.name} with {how}")
    return 0


def _asciinema(path: Path, command: str) -> list[str] | None:
    """The command line of asciinema 3 or later, which can record without a terminal."""
    program = shutil.which("asciinema")
    if program is None:
        return None
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=5, check=False).stdout
        version = re.search(r"\b(\d+)\.\d+", said)
        if version and int(version[1]) >= 3:
            size = f"{COLUMNS}x{LINES}"
            return [
                *(program, "rec", "--headless", "--overwrite", "--return"),
                *("--window-size", size, "--command", command, str(path)),
            ]
    return None


def _say(text: str) -> None:
    sys.stderr.write(f"e2e: {text}\n")


# --- the built-in recorder ---------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _Unlogged:
    """The log of a command that is only recorded."""

    number: int = 0

    def start(self, command: str, comment: str, cwd: Path, at: str) -> None: ...
    def output(self, stream: Stream, text: str) -> None: ...
    def note(self, text: str) -> None: ...
    def end(self, result: CommandResult) -> None: ...
    def path(self, stream: Stream) -> Path | None: ...


def _record(path: Path, command: str) -> int:
    """Record until the program ends or this process is terminated; then write the exit event."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    size = Size(COLUMNS, LINES)
    environment = {name: value for name, value in os.environ.items() if name != processes.KEEP}
    launch = Launch(
        command=command,
        shell=("bash", "-c"),
        environment=environment | {"TERM": "xterm-256color"},
        cwd=Path.cwd(),
        timeout=_FOREVER,
        grace=0.5,
        token=environment.get(processes.TOKEN, f"record.{os.getpid()}.{time.time()}"),
        size=size,
    )
    cast = CastFile(path, size, command, of_this_process())
    exit_code = 1
    try:
        exit_code = Running(launch, _Unlogged(), lambda _, text: cast.output(text)).finish().exit_code
    except SystemExit as stop:
        exit_code = int(stop.code or 0)
    finally:
        cast.close(exit_code)
    return exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
