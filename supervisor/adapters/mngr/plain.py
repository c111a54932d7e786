"""One process per call: the command as it is on the machine."""

import asyncio
import contextlib
import os
import shutil
import signal
from collections.abc import Sequence
from pathlib import Path

from supervisor.adapters.mngr.calls import Running
from supervisor.adapters.mngr.settings import MngrSettings
from supervisor.errors import MngrFailed


class PlainRunning:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def wait(self) -> int:
        return await self._process.wait()

    def kill(self) -> None:
        # The event loop reaps, and this runs in it: without a return code the number is still this process's own.
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)


class PlainTransport:
    def __init__(self, settings: MngrSettings) -> None:
        self._settings = settings

    async def start(self, argv: Sequence[str], stdout: int, stderr: int) -> Running:
        command = str(resolved(self._settings))
        process = await asyncio.create_subprocess_exec(
            *DIE_WITH_US,
            command,
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            cwd=self._settings.cwd,
            env=self._settings.environment(),
            start_new_session=True,
        )
        return PlainRunning(process)

    async def close(self) -> None:
        pass


def resolved(settings: MngrSettings) -> Path:
    path = shutil.which(settings.command, path=settings.environment().get("PATH"))
    if path is None:
        raise MngrFailed(
            f"There is no command {settings.command!r}.",
            reason="missing",
            hint="Install imbue-mngr, or set `command` under [mngr].",
        )
    return Path(path)


def _die_with_us() -> tuple[str, ...]:
    """A call must not outlive the daemon: what mngr lists after a restart has to be settled."""
    setpriv = shutil.which("setpriv")
    return (setpriv, "--pdeathsig", "KILL", "--") if setpriv else ()


DIE_WITH_US = _die_with_us()
