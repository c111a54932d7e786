"""Wait for a described condition, instead of sleeping."""

import asyncio
import time
from collections.abc import Awaitable, Callable


async def until(described: str, condition: Callable[[], object | Awaitable[object]], timeout: float = 20.0) -> None:
    """Return once `condition()` is true; after `timeout` seconds fail, saying what never came true."""
    deadline = time.monotonic() + timeout
    while True:
        found = condition()
        if isinstance(found, Awaitable):
            found = await found
        if found:
            return
        if time.monotonic() > deadline:
            raise AssertionError(f"never came true within {timeout:g} s: {described}")
        await asyncio.sleep(0.02)


def until_sync(described: str, condition: Callable[[], object], timeout: float = 20.0) -> None:
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"never came true within {timeout:g} s: {described}")
        time.sleep(0.02)
