"""Measures the lag of the event loop: how late it wakes a sleeping task, and so every other one."""

import time
from collections.abc import Callable

from anyio import sleep

EVERY_SECONDS = 0.25


async def watch_lag(tell: Callable[[float], None]) -> None:
    while True:
        before = time.monotonic()
        await sleep(EVERY_SECONDS)
        tell(max(0.0, time.monotonic() - before - EVERY_SECONDS))
