"""Runs programs: for so long and no longer, hearing so much and no more, and leaving nothing behind.

A program is the leader of a session and group of its own. It is started here and now, without a moment at which a
cancellation could come in between, and watched by a descriptor of its process, so its group is ended while its number
can't belong to anybody else. What it prints comes through pipes of ours, which are read as it comes and kept up to a
limit. Nobody waits for the pipes to close, because what a program leaves behind on purpose may hold them: once it has
ended, what it wrote is in the pipe. What it reads lies in memory, so nobody has to feed it.

All of it happens on the thread of the event loop: the kernel tells a child that its parent is gone when the thread
ends that started it (`setpriv --pdeathsig`), and threads of a pool come and go.
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

#: between the word that a program is to end, and its end without a word
GRACE_SECONDS = 1.0
#: how long one may take to be gone that was killed: the kernel waits for a disk, but not for ever
GONE_SECONDS = 10.0
MAX_OUTPUT = 64 * 2**20

log = structlog.get_logger(__name__)

type Source = int | IO[bytes]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended, and what it printed; of what was too long, the beginning."""

    #: negative for a signal
    code: int
    out: bytes = b""
    err: bytes = b""
    #: it printed more than it may, and was killed for that
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
        """With all of its group, without a word; nothing where it has ended."""
        ...


class Program:
    """One that was started. Wait for it in one place only; `end` it in any case."""

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
        """Raises OSError where it can't be started. `may_leave`: what it started may go on once it has ended."""
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
        """A signal for the whole group."""
        if self.code is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    async def end(self, grace: float = 0.0) -> None:
        """Nothing of its group is left when this returns, whatever the way out; no cancellation interrupts it."""
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
        finally:  # the end of the event loop itself interrupts also what is shielded
            self.kill()

    def _buried(self) -> int:
        """It has ended, and its number is still its own: the rest of its group ends first."""
        if self.code is None:
            if not self._may_leave:
                self.kill()
            self.code = self._process.wait()
            os.close(self._watched)
        return self.code


async def ended(running: Running, pipes: Sequence[Pipe], timeout: float) -> int | None:
    """The exit code; None: its time was up. What it prints meanwhile is read."""
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
    """Raises OSError where it can't be started, TimeoutError where it does not end in time."""
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
    """What a program reads, for the time of its start."""
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
    """A program that goes on, for as long as its lines are wanted. Raises OSError where it can't be started."""
    with closing(Lines()) as lines:
        program = Program(argv, env=env, cwd=cwd, stdout=lines.into)
        try:
            lines.given()
            yield Printing(program, lines)
        finally:
            await program.end()
