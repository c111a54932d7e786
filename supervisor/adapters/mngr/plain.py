"""One process per call: runs the installed command itself."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from supervisor.adapters.mngr.settings import MngrSettings
from supervisor.adapters.process import Program
from supervisor.errors import MngrFailed


class PlainTransport:
    def __init__(self, settings: MngrSettings) -> None:
        self._settings = settings

    async def start(self, argv: Sequence[str], stdout: int, stderr: int) -> Program:
        return Program(
            [*DIE_WITH_US, str(resolved(self._settings)), *argv],
            env=self._settings.environment(),
            cwd=self._settings.cwd,
            stdout=stdout,
            stderr=stderr,
            may_leave=True,  # the tmux server, and the processes that watch agents
        )

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
    """A call must not outlive the daemon: what mngr lists after a restart must not change any more."""
    setpriv = shutil.which("setpriv")
    return (setpriv, "--pdeathsig", "KILL", "--") if setpriv else ()


DIE_WITH_US = _die_with_us()
