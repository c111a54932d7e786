"""Runs mngr calls: bounded in time, in output and in number, and always ended.

A transport only starts a process on two pipes; all rules are here and in `adapters/process.py`.
"""

import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Literal, Protocol

import structlog
from anyio import CapacityLimiter

from supervisor.adapters import process
from supervisor.adapters.pipes import Pipe, pipes
from supervisor.adapters.process import ended
from supervisor.errors import MngrFailed
from supervisor.flow.rates import AGENTS_AT_ONCE, HOSTS_AT_ONCE

type Lane = Literal["create", "make", "list", "steer", "copy", "run", "wait"]

#: How many calls of each kind run at once, for each provider. mngr's own lock serialises creates; no create delays
#: a list or a stop, and calls that hang at a dead provider delay no other provider's. A create that makes its host
#: waits for it, often for minutes; the provider's launch rate sets how often such a create begins.
LANES: dict[Lane, int] = {
    "create": AGENTS_AT_ONCE,
    "make": HOSTS_AT_ONCE,
    "list": 2,
    "steer": 4,
    "copy": 4,
    "run": 16,
    "wait": 32,
}

#: Calls to other hosts mostly wait and use little of this machine; and fetching one agent's work takes three.
ELSEWHERE: dict[Lane, int] = {"copy": 16}

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Answer:
    code: int
    stdout: str
    stderr: str


class Running(process.Running, Protocol):
    async def end(self) -> None:
        """Leaves no process behind, after an answer, a timeout or a cancelled caller."""
        ...


class Transport(Protocol):
    async def start(self, argv: Sequence[str], stdout: int, stderr: int) -> Running: ...

    async def close(self) -> None: ...


def _width(lane: Lane, provider: str) -> int:
    return LANES[lane] if provider == "local" else ELSEWHERE.get(lane, LANES[lane])


@contextmanager
def _pipes(limit: int, verb: str) -> Iterator[tuple[Pipe, Pipe]]:
    try:
        with pipes(limit) as both:
            yield both
    except OSError as error:
        raise _not_started(verb, error) from error


def _not_started(verb: str, error: OSError) -> MngrFailed:
    return MngrFailed(f"`mngr {verb}` can't be started: {error}", reason="provider")


class Calls:
    """All calls of one device."""

    def __init__(self, transport: Transport, max_output_bytes: int) -> None:
        self._transport, self._limit = transport, max_output_bytes
        self._lanes: dict[tuple[Lane, str], CapacityLimiter] = {}
        self._running: set[Running] = set()
        self._is_closed = False

    async def run(self, lane: Lane, argv: Sequence[str], timeout: float, provider: str) -> Answer:
        async with self._lanes.setdefault((lane, provider), CapacityLimiter(_width(lane, provider))):
            if self._is_closed:
                raise MngrFailed("mngr is not called any more: the daemon is stopping.", reason="killed")
            began = time.monotonic()
            answer = await self._run(argv, timeout)
            log.debug("mngr", verb=argv[0], code=answer.code, seconds=round(time.monotonic() - began, 3))
            return answer

    async def _run(self, argv: Sequence[str], timeout: float) -> Answer:
        with _pipes(self._limit, argv[0]) as (out, err):
            async with self._started(argv, out, err) as running:
                code = await ended(running, (out, err), timeout)
            said = [pipe.all().decode("utf-8", "replace") for pipe in (out, err)]
        if code is None:
            late = f"`mngr {argv[0]}` gave no answer within {timeout:g} s and was killed."
            raise MngrFailed(late, reason="timeout")
        if out.has_overflown or err.has_overflown:
            flood = f"`mngr {argv[0]}` printed more than {self._limit} bytes and was killed."
            raise MngrFailed(flood, reason="garbage")
        return Answer(code, *said)

    @asynccontextmanager
    async def _started(self, argv: Sequence[str], out: Pipe, err: Pipe) -> AsyncIterator[Running]:
        running = await self._transport.start(argv, out.into, err.into)
        self._running.add(running)
        try:
            yield running
        finally:
            self._running.discard(running)
            await running.end()

    async def close(self) -> None:
        self._is_closed = True
        for running in tuple(self._running):
            running.kill()
        await self._transport.close()
