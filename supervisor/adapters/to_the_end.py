"""Cleaning up that no cancellation interrupts, however often and whenever it comes."""

import asyncio
from collections.abc import Coroutine
from typing import Any


async def to_the_end[T](doing: Coroutine[Any, Any, T]) -> T:
    """Waits until it is done, and only then lets a cancellation through."""
    task = asyncio.ensure_future(doing)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as cancellation:
            cancelled = cancellation
    if cancelled is not None:
        raise cancelled
    return task.result()
