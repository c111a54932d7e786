"""Runs a program of an agent's making: for so long and no longer, seeing nothing of ours, leaving nothing behind.

Between the daemon and the program stands a keeper (`keeper.py`), which ends all that comes of it by means that no
process can shed. It does so when the program has ended, its time is up, nobody waits for it any more, or the daemon
is gone; and not before all of it is gone does `run` return.
"""

import os
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from anyio import CancelScope

from supervisor.adapters.pipes import Pipe
from supervisor.adapters.process import Program, Source, ended, source

type Means = Literal["namespace", "subreaper"]

#: of what a program prints, the end is kept
MAX_TAIL = 16 * 2**10
_DETECTION_SECONDS = 20.0
_KEEPER = Path(__file__).with_name("keeper.py")

#: What passes of the daemon's own environment; no secret is ever under these names.
PASSED_ON = ("PATH", "LANG", "LC_ALL", "TZ", "USER", "LOGNAME", "SHELL", "SSL_CERT_FILE", "SSL_CERT_DIR")


def environment(home: Path, temporary: Path, more: Mapping[str, str]) -> dict[str, str]:
    passed = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    own = {"HOME": str(home), "TMPDIR": str(temporary), "PYTHONNOUSERSITE": "1"}
    return {"LANG": "C.UTF-8", **passed, **own, **more}


@dataclass(frozen=True, slots=True)
class Ended:
    #: None: it was killed at its deadline, or its keeper was
    code: int | None
    tail: str
    #: whether its keeper was killed, so that nobody knows what became of it
    is_lost: bool = False


async def means_here() -> Means:
    """By what processes are ended on this machine, found out by trying, once."""
    if not _found:
        path = {"PATH": os.environ.get("PATH", os.defpath)}
        try:
            ended = await run(["true"], cwd=Path("/"), env=path, timeout=_DETECTION_SECONDS, means="namespace")
            _found.append("namespace" if ended.code == 0 else "subreaper")
        except OSError:
            return "subreaper"
    return _found[0]


_found: list[Means] = []


async def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout: float,
    stdin: bytes = b"",
    means: Means | None = None,
    keep: int = MAX_TAIL,
) -> Ended:
    """Raises OSError where it can't be started. So much of its output is kept, from the end."""
    by = await means_here() if means is None else means
    with closing(Pipe(keep, keeps_end=True)) as printed, closing(Pipe(MAX_TAIL)) as told:
        leash, at_keeper = socket.socketpair()
        with leash:
            with at_keeper, source(stdin) as given:
                keeper = _keeper([by, str(at_keeper.fileno()), str(told.into), *argv], cwd, env, given, printed)
            try:
                code = await ended(keeper, (printed, told), timeout)
            finally:
                leash.close()
                with CancelScope(shield=True):
                    await keeper.wait()
        said = told.all()
        is_lost = code is not None and not said
        tail = printed.all().decode(errors="replace")
        return Ended(None if code is None or is_lost else int(said), tail, is_lost)


def _keeper(argv: Sequence[str], cwd: Path, env: Mapping[str, str], given: Source, printed: Pipe) -> Program:
    """The process that keeps a program. Its arguments go before its text: what it keeps can read its command line,
    and finds nothing there."""
    with source(f"import sys; sys.argv[1:] = {argv!r}\n".encode() + _KEEPER.read_bytes()) as text:
        number = text if isinstance(text, int) else text.fileno()
        return Program(
            [sys.executable, "-I", "-S", f"/proc/self/fd/{number}"],
            env=env,
            cwd=cwd,
            stdin=given,
            stdout=printed.into,
            stderr=printed.into,
            pass_fds=(number, *map(int, argv[1:3])),
        )
