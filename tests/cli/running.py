"""The real `supervisorctl`, as a person runs it, against an API that is served beside it."""

import asyncio
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.zygote import programs

BIN = Path(sys.executable).parent


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def refused(self, code: int, says: str) -> None:
        """One sentence and a hint, and never a traceback."""
        assert (self.code, says in self.err) == (code, True), self
        error, hint = self.err.splitlines()[-2:]
        assert "Traceback" not in self.out + (error if "printed above" in hint else self.err)
        assert error.startswith("error: "), self.err
        assert hint.startswith("hint: "), self.err


def environment(home: Path, **more: str) -> dict[str, str]:
    """Nothing of the machine's: paths of our own, no colours asked for, no pytest plugins that are here by chance."""
    base = {"PATH": f"{programs()}:{BIN}:{os.environ['PATH']}", "HOME": str(home), "LANG": "C.UTF-8"}
    base |= {"COLUMNS": "100", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return base | {"XDG_CONFIG_HOME": str(home), "XDG_STATE_HOME": str(home)} | more


async def ctl(
    home: Path, *args: str, cwd: Path | None = None, program: str | Path = "supervisorctl", **env: str
) -> Ran:
    """`program` may be a path; else it is started by a fork."""
    socket = {"SUPERVISOR_SOCKET": str(home / "ctl.sock")}
    running = await asyncio.create_subprocess_exec(
        str(programs() / program),
        *args,
        cwd=cwd or home,
        env=environment(home, **socket | env),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await running.communicate()
    assert running.returncode is not None
    return Ran(running.returncode, out.decode(), err.decode())
