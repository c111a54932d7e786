"""Submits a batch as a person would: `supervisorctl submit`, in the repository and with its own tools."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from supervisor.adapters.process import run
from supervisor.errors import DeviceFailed
from supervisor.model.schedule import Schedule

#: tests are collected, and the repository is copied
DEADLINE_SECONDS = 3600.0
MAX_OUTPUT = 2**20
LONGEST_SAID = 500
#: `-P`: a module of the repository is not taken for one of ours
_COMMAND = (sys.executable, "-P", "-c", "from supervisor.cli.main import main; main()")
#: nothing else of the daemon's environment is for the repository's code
_PASSED = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "USER", "LOGNAME", "SHELL", "TMPDIR")


async def submit(schedule: Schedule, socket: Path) -> str:
    """The id of the batch; "": no test needs an agent. Raises DeviceFailed with what the command said."""
    options = ["--json", "--profile", schedule.profile, "--priority", str(schedule.priority), "--carry-over"]
    argv = [*_COMMAND, "submit", *options, *schedule.paths]
    try:
        ended = await run(
            argv, env=_environment(socket), cwd=Path(schedule.repo), timeout=DEADLINE_SECONDS, most=MAX_OUTPUT
        )
    except TimeoutError:
        raise _failed(f"it was not done within {DEADLINE_SECONDS:g} s") from None
    except OSError as error:
        raise _failed(f"{schedule.repo}: {error.strerror or error}") from None
    return _batch(ended.out, ended.err)


def _environment(socket: Path) -> Mapping[str, str]:
    return {name: os.environ[name] for name in _PASSED if name in os.environ} | {"SUPERVISOR_SOCKET": str(socket)}


def _batch(out: bytes, err: bytes) -> str:
    lines = out.decode(errors="replace").strip().splitlines()
    try:
        said = json.loads(lines[-1])
        if error := said.get("error"):
            raise _failed(str(error["message"]))
        return str(said["batch"] or "")
    except (IndexError, KeyError, TypeError, ValueError, AttributeError):
        last = err.decode(errors="replace").strip().splitlines()[-1:] or ["it said nothing"]
        raise _failed(last[0]) from None


def _failed(said: str) -> DeviceFailed:
    printable = "".join(char if char.isprintable() else "�" for char in said)[:LONGEST_SAID]
    return DeviceFailed(printable, hint="submit it by hand to see more")
