"""Blocking work goes to threads. What takes long has threads of its own, so that it holds up nothing that is short.

Work that has begun is waited for also by a stop: what it works on is not cleared away under its hands, and it is
bounded by the disk. Nothing here waits for other programs or for the network.
"""

from collections.abc import Callable
from functools import partial

from anyio import CancelScope, CapacityLimiter
from anyio.lowlevel import RunVar
from anyio.to_thread import run_sync

#: looks at files, small writes
SHORT = 16
#: trees that are copied, removed, measured or merged: the disk has no more to give
LONG = 4

_short: RunVar[CapacityLimiter] = RunVar("short")
_long: RunVar[CapacityLimiter] = RunVar("long")


async def in_thread[**P, T](work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What it comes to, soon."""
    return await run_sync(partial(work, *args, **kwargs), limiter=_limiter(_short, SHORT))


async def at_length[**P, T](work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What it comes to, in seconds or minutes."""
    return await run_sync(partial(work, *args, **kwargs), limiter=_limiter(_long, LONG))


async def surely[**P, T](work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Also where everything is cancelled: for what has to be cleared away."""
    with CancelScope(shield=True):
        done = await at_length(work, *args, **kwargs)
    return done  # noqa: RET504 -- to its type a scope may swallow what is raised in it


def _limiter(known: RunVar[CapacityLimiter], most: int) -> CapacityLimiter:
    """One for each event loop."""
    try:
        return known.get()
    except LookupError:
        known.set(made := CapacityLimiter(most))
        return made
