"""Signs of life for the service manager: one line of status, and the watchdog.

The watchdog is notified only after a round of watching was completed and the loop has journalled what it was told. An
API that still answers is no sign of life.
"""

from contextlib import suppress
from typing import Protocol

from anyio import sleep

from supervisor.daemon.service import Daemon
from supervisor.errors import DeviceFailed, Refused
from supervisor.model.job import JobState
from supervisor.model.state import State

EVERY_SECONDS = 1.0


class Minder(Protocol):
    watchdog_seconds: float

    def status(self, status: str) -> None: ...

    def alive(self) -> None: ...


def status_line(state: State) -> str:
    batches = state.batches.values()
    running = sum(pool.busy for pool in state.pools.values())
    queued = sum(batch.count(JobState.QUEUED) for batch in batches)
    paused = f", paused{': ' * bool(state.pause_reason)}{state.pause_reason}" if state.paused else ""
    return f"{running} running, {queued} queued, {len(state.batches)} open batches{paused}"


async def beat(daemon: Daemon, minder: Minder) -> None:
    told, rounds = "", -1
    while True:
        if (line := status_line(daemon.loop.state)) != told:
            told = line
            minder.status(line)
        if minder.watchdog_seconds and daemon.watch.rounds != rounds:
            rounds = daemon.watch.rounds
            with suppress(DeviceFailed, Refused):  # a disk that fails for a moment must not end this loop
                await daemon.settled()
                minder.alive()
        await sleep(EVERY_SECONDS)
