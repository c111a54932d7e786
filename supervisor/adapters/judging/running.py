"""Runs a program of an agent's making: for so long and no longer, seeing nothing of ours, leaving nothing behind.

A program is a process group, killed as a whole when it has ended, its time is up or nobody waits for it any more. A
process that left the group is known by a mark in its environment and killed as well.
"""

import asyncio
import os
import signal
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MARK = "SUPERVISOR_VERIFICATION"
#: of what a program prints, the end is kept
MAX_TAIL = 16 * 2**10
_SWEEPS = 5
_DRAIN_SECONDS = 1.0

#: What passes of the daemon's own environment; no secret is ever under these names.
PASSED_ON = ("PATH", "LANG", "LC_ALL", "TZ", "USER", "LOGNAME", "SHELL", "SSL_CERT_FILE", "SSL_CERT_DIR")


def environment(home: Path, temporary: Path, more: Mapping[str, str]) -> dict[str, str]:
    passed = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    own = {"HOME": str(home), "TMPDIR": str(temporary), "PYTHONNOUSERSITE": "1"}
    return {"LANG": "C.UTF-8", **passed, **own, **more}


@dataclass(frozen=True, slots=True)
class Ended:
    #: None: it was killed at its deadline
    code: int | None
    tail: str


async def run(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], timeout: float, stdin: bytes = b"") -> Ended:
    mark = uuid.uuid4().hex
    output = _Output()
    async with output:
        process = await asyncio.create_subprocess_exec(
            *argv,
            cwd=cwd,
            env={**env, MARK: mark},
            stdin=asyncio.subprocess.PIPE if stdin else asyncio.subprocess.DEVNULL,
            stdout=output.into,
            stderr=output.into,
            start_new_session=True,
        )
        output.opened()
        code: int | None = None
        try:
            async with asyncio.timeout(timeout):
                await _feed(process, stdin)
                code = await process.wait()
        except TimeoutError:
            code = None
        finally:
            await _end(process, mark)
        return Ended(code, await output.tail())


async def _feed(process: asyncio.subprocess.Process, data: bytes) -> None:
    if process.stdin is not None:
        with suppress(BrokenPipeError, ConnectionResetError):
            process.stdin.write(data)
            await process.stdin.drain()
        process.stdin.close()


async def _end(process: asyncio.subprocess.Process, mark: str) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await asyncio.shield(asyncio.gather(process.wait(), asyncio.to_thread(_sweep, f"{MARK}={mark}".encode())))


def _sweep(mark: bytes) -> None:
    """Kill what carries the mark, until nothing does: one that forks meanwhile does not get away."""
    for _ in range(_SWEEPS):
        if not (marked := [pid for pid in _own_pids() if _carries(pid, mark)]):
            return
        for pid in marked:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)


def _own_pids() -> list[int]:
    return [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit()]


def _carries(pid: int, mark: bytes) -> bool:
    try:
        return mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


class _Output(asyncio.Protocol):
    """The end of what is written into a pipe; its own pipe, because a process that stays behind may hold it open."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self._closed = asyncio.Event()
        self._from, self.into = os.pipe()

    async def __aenter__(self) -> None:
        reading = os.fdopen(self._from, "rb", 0)
        self._transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: self, reading)

    async def __aexit__(self, *_: object) -> None:
        self.opened()
        self._transport.close()
        await self._closed.wait()

    def opened(self) -> None:
        """The program has its end of the pipe: ours is closed."""
        if self.into >= 0:
            os.close(self.into)
            self.into = -1

    def data_received(self, data: bytes) -> None:
        self._kept += data
        del self._kept[:-MAX_TAIL]

    def connection_lost(self, exc: Exception | None) -> None:
        self._closed.set()

    async def tail(self) -> str:
        with suppress(TimeoutError):
            async with asyncio.timeout(_DRAIN_SECONDS):
                await self._closed.wait()
        return self._kept.decode(errors="replace")
