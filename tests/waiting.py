"""Wait for a described condition, instead of sleeping."""

import asyncio
import time
from collections.abc import Awaitable, Callable


async def until(described: str, condition: Callable[[], object | Awaitable[object]], timeout: float = 20.0) -> None:
    """Return once `condition()` is true; after `timeout` seconds fail, saying what never came true."""
    start = time.monotonic()
    while True:
        found = condition()
        if isinstance(found, Awaitable):
            found = await found
        if found:
            return
        await asyncio.sleep(_pause(described, time.monotonic() - start, timeout))


def until_sync(described: str, condition: Callable[[], object], timeout: float = 20.0) -> None:
    start = time.monotonic()
    while not condition():
        time.sleep(_pause(described, time.monotonic() - start, timeout))


def _pause(described: str, spent: float, timeout: float) -> float:
    """What has taken long is looked at less often: many a condition asks a daemon, which costs both of them time."""
    if spent > timeout:
        raise AssertionError(f"never came true within {timeout:g} s: {described}")
    return min(0.02 + spent / 20, 0.1)
