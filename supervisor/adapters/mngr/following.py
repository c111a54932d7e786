"""Follows what an agent writes on another host, by `mngr event`: a process for as long as it is followed."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Literal

from supervisor.adapters.mngr.calls import end
from supervisor.adapters.mngr.plain import DIE_WITH_US, PlainRunning, resolved
from supervisor.adapters.mngr.settings import MngrSettings
from supervisor.errors import MngrFailed

#: A follower ends by itself only when its agent can't be reached; asked for what there is, it answers in this time.
ONCE_SECONDS = 60.0
LONGEST_LINE = 8 * 2**20


async def followed(
    settings: MngrSettings, name: str, closing: asyncio.Event, *, forever: bool
) -> AsyncGenerator[bytes]:
    process = await asyncio.create_subprocess_exec(
        *DIE_WITH_US,
        str(resolved(settings)),
        *("event", name, "--format", "jsonl", *(("--follow",) if forever else ())),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        cwd=settings.cwd,
        env=settings.environment(),
        start_new_session=True,
        limit=LONGEST_LINE,
    )
    assert process.stdout is not None
    closed = asyncio.create_task(closing.wait())
    try:
        async with asyncio.timeout(None if forever else ONCE_SECONDS):
            async for line in _lines(process.stdout, closed):
                yield line
            if not closed.done() and await process.wait():
                raise MngrFailed(f"`mngr event` of {name} ended with {process.returncode}.", reason="killed")
    except TimeoutError:
        raise MngrFailed(f"`mngr event` gave no end within {ONCE_SECONDS:g} s.", reason="timeout") from None
    finally:
        closed.cancel()
        await end(PlainRunning(process))


async def _lines(stream: asyncio.StreamReader, closed: asyncio.Task[Literal[True]]) -> AsyncIterator[bytes]:
    while True:
        reading = asyncio.create_task(_line(stream))
        await asyncio.wait((reading, closed), return_when=asyncio.FIRST_COMPLETED)
        if not reading.done():
            reading.cancel()
            return
        if (line := reading.result()) is None:
            return
        if line:
            yield line


async def _line(stream: asyncio.StreamReader) -> bytes | None:
    """None at the end; nothing of one that is too long."""
    try:
        return (await stream.readuntil(b"\n")).rstrip(b"\n")
    except asyncio.IncompleteReadError:
        return None
    except asyncio.LimitOverrunError as too_long:
        await stream.readexactly(too_long.consumed)
        return b""
