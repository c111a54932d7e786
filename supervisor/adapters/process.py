"""Runs programs with a limit on their time and on their output, and leaves none of their processes behind.

A program leads a session and process group of its own. It is started synchronously, so no cancellation can interrupt
the start, and watched through a pidfd, so its group is killed before its process id can be reused. Its output comes
through our pipes, which are read continuously and kept up to a limit. Nobody waits for the pipes to close, because a
process that the program leaves running on purpose may hold them: once the program has ended, all that it wrote is in
the pipe. Its input is a file in memory, so nobody has to feed it.

All of this runs on the event loop's thread: with `setpriv --pdeathsig`, the kernel signals a child when the thread
that started it ends, and threads of a pool come and go.
"""

import os
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

import structlog
from anyio import (
    CancelScope,
    create_task_group,
    move_on_after,
    wait_readable,
)

from supervisor.adapters.pipes import Lines, Pipe, pipes

#: between SIGTERM and SIGKILL
GRACE_SECONDS = 1.0
#: how long a killed process may take to end: the kernel may wait for a disk first, but not for ever
GONE_SECONDS = 10.0
MAX_OUTPUT = 64 * 2**20

log = structlog.get_logger(__name__)

type Source = int | IO[bytes]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended, and what it printed; output over the limit is cut at its end."""

    #: negative for a signal
    code: int
    out: bytes = b""
    err: bytes = b""
    #: it printed more than the limit, and was killed for that
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Printing:
    program: "Program"
    lines: Lines


class Running(Protocol):
    async def wait(self) -> int:
        """The exit code; negative for a signal."""
        ...

    def kill(self) -> None:
        """Kill its whole group with SIGKILL; does nothing if it has ended."""
        ...


class Program:
    """A started program. Wait for it in one place only; always `end` it."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path | None = None,
        stdin: Source = subprocess.DEVNULL,
        stdout: Source = subprocess.DEVNULL,
        stderr: Source = subprocess.DEVNULL,
        pass_fds: Sequence[int] = (),
        may_leave: bool = False,
    ) -> None:
        """Raises OSError if it can't be started. `may_leave`: processes that it started may outlive it."""
        self.code: int | None = None
        self._may_leave = may_leave
        self._process = subprocess.Popen(
            argv,
            env=dict(env),
            cwd=cwd,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            pass_fds=pass_fds,
            start_new_session=True,
        )
        self.pid = self._process.pid
        try:
            self._watched = os.pidfd_open(self.pid)
        except OSError:
            self.kill()
            self._process.wait()
            raise

    async def wait(self) -> int:
        if self.code is None:
            await wait_readable(self._watched)
        return self._buried()

    @property
    def has_ended(self) -> bool:
        if self.code is None and os.waitid(os.P_PIDFD, self._watched, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            self._buried()
        return self.code is not None

    def kill(self) -> None:
        self.tell(signal.SIGKILL)

    def tell(self, number: signal.Signals) -> None:
        """Send a signal to the whole group."""
        if self.code is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    async def end(self, grace: float = 0.0) -> None:
        """No process of its group is left when this returns or raises; cancellation does not interrupt it."""
        if self.code is not None:
            return
        with CancelScope(shield=True):
            self.tell(signal.SIGTERM if grace else signal.SIGKILL)
            with move_on_after(grace or GONE_SECONDS):
                await self._gone()
            if grace and self.code is None:
                await self.end()
            elif self.code is None:
                log.warning("a killed process does not end", pid=self.pid)

    async def _gone(self) -> None:
        try:
            await self.wait()
        finally:  # the end of the event loop interrupts even a shielded scope
            self.kill()

    def _buried(self) -> int:
        """It has ended but is not reaped, so its process id is still its own: kill the rest of its group first."""
        if self.code is None:
            if not self._may_leave:
                self.kill()
            self.code = self._process.wait()
            os.close(self._watched)
        return self.code


async def ended(running: Running, pipes: Sequence[Pipe], timeout: float) -> int | None:
    """The exit code, or None after the timeout. Its output is read meanwhile."""
    code = None
    async with create_task_group() as hearing:
        for pipe in pipes:
            pipe.given()
            pipe.on_overflow = running.kill
            hearing.start_soon(pipe.hear)
        with move_on_after(timeout):
            code = await running.wait()
        hearing.cancel_scope.cancel()
    return code


async def run(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    timeout: float,
    cwd: Path | None = None,
    stdin: bytes | IO[bytes] = b"",
    most: int = MAX_OUTPUT,
    grace: float = GRACE_SECONDS,
) -> Ended:
    """Raises OSError if it can't be started, TimeoutError if it does not end in time."""
    with pipes(most) as (out, err):
        with source(stdin) as given:
            program = Program(argv, env=env, cwd=cwd, stdin=given, stdout=out.into, stderr=err.into)
        try:
            code = await ended(program, (out, err), timeout)
        finally:
            await program.end(grace)
        if code is None:
            raise TimeoutError
        return Ended(code, out.all(), err.all(), is_cut=out.has_overflown or err.has_overflown)


@contextmanager
def source(given: bytes | IO[bytes]) -> Iterator[Source]:
    """A program's standard input, open until the program is started."""
    if not given:
        yield subprocess.DEVNULL
    elif not isinstance(given, bytes):
        yield given
    else:
        with open(os.memfd_create("input"), "r+b") as file:  # noqa: PTH123 -- a descriptor
            file.write(given)
            file.seek(0)
            yield file


@asynccontextmanager
async def printing(
    argv: Sequence[str], *, env: Mapping[str, str], cwd: Path | None = None
) -> AsyncIterator[Printing]:
    """A program that runs for as long as its lines are read. Raises OSError if it can't be started."""
    with closing(Lines()) as lines:
        program = Program(argv, env=env, cwd=cwd, stdout=lines.into)
        try:
            lines.given()
            yield Printing(program, lines)
        finally:
            await program.end()
