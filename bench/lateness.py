"""Measures the event loop's lag: how much too late a sleeping task wakes up."""

import asyncio
import time


async def loop_lags(lags: list[float], every: float) -> None:
    """Add a sample every `every` seconds, until cancelled."""
    while True:
        before = time.monotonic()
        await asyncio.sleep(every)
        lags.append(time.monotonic() - before - every)
