"""Runs a program that an agent wrote: with a deadline, without sight of anything of ours, leaving nothing behind.

A keeper (`keeper.py`) between the daemon and the program kills all the program's descendants, by means that no
process can escape. It does so when the program has ended, its deadline has passed, nobody waits for it any more, or
the daemon is gone. `run` returns only when all of them are gone.
"""

import __future__

import marshal
import os
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing, nullcontext
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from anyio import CancelScope, create_task_group, wait_readable

from supervisor.adapters.pipes import Pipe
from supervisor.adapters.process import Program, Source, ended, source
from supervisor.threads import in_thread
from supervisor.verification.tracing.traced import Told, Trace, Traced, told
from supervisor.verification.walls.walls import Walls, give

type Means = Literal["walls", "namespace", "subreaper"]

#: how much of a program's output is kept, from its end
MAX_TAIL = 16 * 2**10
_DETECTION_SECONDS = 20.0
_HERE = Path(__file__).parent
_KEEPER = ("walls/enclosing", "walls/watching", "trials/ending", "trials/keeper")
#: goes before the keeper if the files that the program opens are noted
_TRACER = ("tracing/filtering", "tracing/peeking", "tracing/resolving", "tracing/tracer")

#: Variables that are passed on from the daemon's own environment; none of them ever holds a secret.
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
    #: whether its keeper was killed, so that its end is unknown
    is_lost: bool = False
    #: the walls that it hit: the limit that it exceeded and was ended for, or `network`
    met: tuple[str, ...] = ()
    #: the files that it opened, if they were to be noted
    traced: Traced | None = None


class Unwalled(Exception):
    """Walls can't be built around a program, so it was not started."""


@dataclass(frozen=True, slots=True)
class Ear:
    """The socket for a reporter: its name, and the function that gets it once it listens."""

    name: str
    opened: Callable[[socket.socket], None]


async def means_here() -> Means:
    """How processes are ended on this machine without walls; tried once."""
    if not _found:
        path = {"PATH": os.environ.get("PATH", os.defpath)}
        try:
            ended = await run(["true"], cwd=Path("/"), env=path, timeout=_DETECTION_SECONDS, means="namespace")
            _found.append("namespace" if ended.code == 0 else "subreaper")
        except OSError:
            return "subreaper"
    return _found[0]


_found: list[Means] = []


async def walls_lack() -> str:
    """Why walls can't be built on this machine, tried once; "" if they can."""
    if not _lacking:
        path = {"PATH": os.environ.get("PATH", os.defpath)}
        with TemporaryDirectory() as folder:
            try:
                walls = Walls(Path(folder))
                ended = await run(["true"], cwd=Path("/"), env=path, timeout=_DETECTION_SECONDS, walls=walls)
                if ended.code is None:
                    return ""  # not known yet: a run will tell
                _lacking.append("" if ended.code == 0 else ended.tail or "a program in them does not run")
            except Unwalled as unwalled:
                _lacking.append(str(unwalled))
            except OSError as error:
                return str(error)
    return _lacking[0]


_lacking: list[str] = []


async def tracing_lacks() -> str:
    """Why the files that a program opens can't be noted on this machine, found out by a try; "" if they can."""
    path = {"PATH": os.environ.get("PATH", os.defpath)}
    with TemporaryDirectory() as folder:
        try:
            trace = Trace(Path(folder))
            ended = await run(["true"], cwd=Path("/"), env=path, timeout=_DETECTION_SECONDS, trace=trace)
        except OSError as error:
            return str(error)
    return ended.traced.lacks or ended.traced.unknown if ended.traced is not None else ""


async def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout: float,
    stdin: bytes = b"",
    means: Means | None = None,
    walls: Walls | None = None,
    ear: Ear | None = None,
    keep: int = MAX_TAIL,
    trace: Trace | None = None,
) -> Ended:
    """Raises OSError if it can't be started, Unwalled if its walls can't be built. `keep`: how much of its output is
    kept, from the end."""
    by = "walls" if walls is not None else await means_here() if means is None else means
    plan = await in_thread(_planned, walls, cwd) if walls is not None else {}
    notes = nullcontext() if trace is None else told(trace)
    with closing(Pipe(keep, keeps_end=True)) as printed, closing(Pipe(MAX_TAIL)) as report, notes as noted:
        leash, at_keeper = socket.socketpair()
        with leash:
            with at_keeper, source(stdin) as given:
                words = [by, str(at_keeper.fileno()), str(report.into), ear.name if ear else "", *argv]
                text, where = _Text(words, plan, noted), Path("/") if plan else cwd
                keeper = _keeper(text, cwd=where, env=env, given=given, printed=printed)
            try:
                code = await _ended(keeper, (printed, report), timeout, leash, ear)
            finally:
                leash.close()
                with CancelScope(shield=True):
                    await keeper.wait()
        outcome = _outcome(code, report.all().decode(), printed.all().decode(errors="replace"))
        return outcome if noted is None else replace(outcome, traced=await in_thread(noted.read))


def _planned(walls: Walls, cwd: Path) -> dict[str, Any]:
    for each in walls.fresh:
        give(each)
    return walls.plan(cwd)


async def _ended(
    keeper: Program, pipes: tuple[Pipe, Pipe], timeout: float, leash: socket.socket, ear: Ear | None
) -> int | None:
    if ear is None:
        return await ended(keeper, pipes, timeout)
    async with create_task_group() as opening:
        opening.start_soon(_open, leash, ear)
        code = await ended(keeper, pipes, timeout)
        opening.cancel_scope.cancel()
    return code


async def _open(leash: socket.socket, ear: Ear) -> None:
    """The keeper makes the socket, because it has to be in the program's network."""
    await wait_readable(leash)
    _, numbers, _, _ = socket.recv_fds(leash, 1, 1)
    for number in numbers:
        ear.opened(socket.socket(fileno=number))


def _outcome(code: int | None, said: str, tail: str) -> Ended:
    if said.startswith("unbuilt "):
        raise Unwalled(said.removeprefix("unbuilt "))
    if code is None or not said:
        return Ended(None, tail, is_lost=code is not None)
    number, *met = said.split()
    return Ended(int(number), tail, met=tuple(met))


@dataclass(frozen=True, slots=True)
class _Text:
    """The text that a keeper gets. Its arguments are at the head of the text, not on its command line, which the
    program can read."""

    argv: Sequence[str]
    walls: Mapping[str, Any]
    noted: Told | None

    @property
    def numbers(self) -> tuple[int, ...]:
        """The descriptors that the keeper needs."""
        return (*map(int, self.argv[1:3]), *(() if self.noted is None else (self.noted.number,)))

    def head(self, body: int) -> bytes:
        trace = self.noted.plan if self.noted is not None else {}
        head = f"import marshal, os, sys; sys.argv[1:] = {list(self.argv)!r}\n"
        head += f"WALLS = {self.walls!r}; TRACE = {trace!r}\n"
        return (head + f"exec(marshal.load(open({body}, 'rb')))\n").encode()


def _keeper(text: _Text, *, cwd: Path, env: Mapping[str, str], given: Source, printed: Pipe) -> Program:
    with source(_body(is_tracing=text.noted is not None)) as body, ExitStack() as opened:
        number = _number(body)
        main = _number(opened.enter_context(source(text.head(number))))
        return Program(
            [sys.executable, "-I", "-S", f"/proc/self/fd/{main}"],
            env=env,
            cwd=cwd,
            stdin=given,
            stdout=printed.into,
            stderr=printed.into,
            pass_fds=(main, number, *text.numbers),
        )


def _number(given: Source) -> int:
    return given if isinstance(given, int) else given.fileno()


@cache
def _body(*, is_tracing: bool) -> bytes:
    """Several modules in one, already compiled: the same Python runs it."""
    modules = (*_TRACER, *_KEEPER) if is_tracing else _KEEPER
    whole = b"\n".join((_HERE.parent / f"{each}.py").read_bytes() for each in modules)
    return marshal.dumps(compile(whole, "keeper", "exec", __future__.annotations.compiler_flag, dont_inherit=True))
