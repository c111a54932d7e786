"""Runs blocking work in threads. Long work has threads of its own, so that it does not delay short work.

A stop also waits for work that has begun: nothing that it works on is removed meanwhile, and its time is bounded by
the disk. Nothing here waits for other programs or for the network.
"""

from collections.abc import Callable
from functools import partial

from anyio import CancelScope, CapacityLimiter
from anyio.lowlevel import RunVar
from anyio.to_thread import run_sync

#: looks at files, small writes
SHORT = 16
#: trees that are copied, removed, measured or merged: the disk can serve no more
LONG = 4

_short: RunVar[CapacityLimiter] = RunVar("short")
_long: RunVar[CapacityLimiter] = RunVar("long")


async def in_thread[**P, T](work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run short work and return its result."""
    return await run_sync(partial(work, *args, **kwargs), limiter=_limiter(_short, SHORT))


async def at_length[**P, T](work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run work that takes seconds or minutes, and return its result."""
    return await run_sync(partial(work, *args, **kwargs), limiter=_limiter(_long, LONG))


async def surely[**P, T](work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Like `at_length`, but also while everything is being cancelled: for cleaning up."""
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
