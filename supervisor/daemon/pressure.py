"""Tells the core what is left of this machine, as long as a pool follows it."""

import time
from collections.abc import Callable
from pathlib import Path

from anyio import sleep

from supervisor.adapters.box_pressure import is_news, look
from supervisor.daemon.loop import Loop
from supervisor.model.event import PressureSeen
from supervisor.model.pressure import Pressure
from supervisor.threads import in_thread

EVERY_SECONDS = 10.0


async def watch_pressure(loop: Loop, folder: Path, look: Callable[[Path], Pressure] = look) -> None:
    while True:
        if any(pool.auto for pool in loop.state.pools.values()):
            seen = await in_thread(look, folder)
            if is_news(loop.state.pressure, seen):
                loop.inbox.tell(PressureSeen(time.time(), seen))
        await sleep(EVERY_SECONDS)
