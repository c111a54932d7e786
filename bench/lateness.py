"""How late the event loop is: what a task that only sleeps oversleeps."""

import asyncio
import time


async def loop_lags(lags: list[float], every: float) -> None:
    """Add a sample every so many seconds, until cancelled."""
    while True:
        before = time.monotonic()
        await asyncio.sleep(every)
        lags.append(time.monotonic() - before - every)
