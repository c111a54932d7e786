"""Runs a program of an agent's making: for so long and no longer, seeing nothing of ours, leaving nothing behind.

Between the daemon and the program stands a keeper (`keeper.py`), which ends all that comes of it by means that no
process can shed. It does so when the program has ended, its time is up, nobody waits for it any more, or the daemon
is gone; and not before all of it is gone does `run` return.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from supervisor.adapters.to_the_end import to_the_end

type Means = Literal["namespace", "subreaper"]

#: of what a program prints, the end is kept
MAX_TAIL = 16 * 2**10
_DRAIN_SECONDS = 1.0
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


@cache
def means_here() -> Means:
    """By what processes are ended on this machine, found out by trying. Blocking: call it in a thread."""
    keeper, pipes = _Keeper("namespace"), [os.pipe(), os.pipe()]
    (control, _), (told, telling) = pipes
    try:
        keeper.start(["true"], Path("/"), {"PATH": os.environ.get("PATH", os.defpath)}, (control, telling), None)
        keeper.process.wait(_DETECTION_SECONDS)
        os.close(telling)
        pipes[1] = (told, -1)
        return "namespace" if os.read(told, 20) == b"0" else "subreaper"
    except (OSError, subprocess.TimeoutExpired):
        return "subreaper"
    finally:
        for each in (*pipes[0], *pipes[1]):
            with suppress(OSError):
                os.close(each)


async def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout: float,
    stdin: bytes = b"",
    means: Means | None = None,
) -> Ended:
    by = await asyncio.to_thread(means_here) if means is None else means
    async with _Reading() as output, _Reading() as report:
        keeper, (control, controls) = _Keeper(by, stdin), os.pipe()
        try:
            ends = (control, report.into)
            await to_the_end(asyncio.to_thread(keeper.start, argv, cwd, env, ends, output.into))
            output.opened()
            report.opened()
            async with asyncio.timeout(timeout):
                await report.closed.wait()
            code, lost = (int(report.kept), False) if report.kept else (None, True)
        except TimeoutError:
            code, lost = None, False
        finally:
            os.close(control)
            os.close(controls)
            output.opened()
            report.opened()
            await to_the_end(keeper.gone(report))
        with suppress(TimeoutError):
            async with asyncio.timeout(_DRAIN_SECONDS):
                await output.closed.wait()
        return Ended(code, output.kept.decode(errors="replace"), lost)


class _Keeper:
    """The process that keeps a program."""

    process: subprocess.Popen[bytes]

    def __init__(self, means: Means, stdin: bytes = b"") -> None:
        self._means, self._stdin = means, stdin

    def start(
        self,
        argv: Sequence[str],
        cwd: Path,
        env: Mapping[str, str],
        ends: tuple[int, int],
        output: int | None,
    ) -> None:
        """Blocking: call it in a thread. `ends`: of the pipe that ends all, and of the one that tells."""
        # Its arguments go before its text: what it keeps can read its command line, and finds nothing there.
        given_argv = [self._means, *map(str, ends), *argv]
        source = _in_memory(f"import sys; sys.argv[1:] = {given_argv!r}\n".encode() + _KEEPER.read_bytes())
        given = _in_memory(self._stdin) if self._stdin else os.open(os.devnull, os.O_RDONLY)
        into = subprocess.DEVNULL if output is None else output
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-S", f"/proc/self/fd/{source}"],
                cwd=cwd,
                env=dict(env),
                stdin=given,
                stdout=into,
                stderr=into,
                pass_fds=(source, *ends),
                start_new_session=True,
            )
        finally:
            os.close(source)
            os.close(given)

    async def gone(self, report: "_Reading") -> None:
        """With all that it kept."""
        if hasattr(self, "process"):
            await report.closed.wait()
            await asyncio.to_thread(self.process.wait)


def _in_memory(content: bytes) -> int:
    made = os.memfd_create("input")
    with open(made, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(made, 0, os.SEEK_SET)
    return made


class _Reading(asyncio.Protocol):
    """The end of what is written into a pipe."""

    def __init__(self) -> None:
        self.kept = bytearray()
        self.closed = asyncio.Event()

    async def __aenter__(self) -> "_Reading":
        self._from, self.into = os.pipe()
        reading = os.fdopen(self._from, "rb", 0)
        self._transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: self, reading)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.opened()
        self._transport.close()
        await to_the_end(self.closed.wait())

    def opened(self) -> None:
        """The program has its end of the pipe: ours is closed."""
        if self.into >= 0:
            os.close(self.into)
            self.into = -1

    def data_received(self, data: bytes) -> None:
        self.kept += data
        del self.kept[:-MAX_TAIL]

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed.set()
