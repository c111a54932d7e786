"""Follows what an agent writes on another host with `mngr event`, which runs for as long as it is followed."""

import math
from collections.abc import AsyncGenerator

from anyio import current_time

from supervisor.adapters.mngr.plain import DIE_WITH_US
from supervisor.adapters.mngr.streams import Streams
from supervisor.errors import MngrFailed

#: With `--follow`, `mngr event` ends only when its agent can't be reached; without, it must end within this time.
ONCE_SECONDS = 60.0


async def followed(streams: Streams, name: str, *, forever: bool) -> AsyncGenerator[bytes]:
    until = current_time() + (math.inf if forever else ONCE_SECONDS)
    words = ("event", name, "--format", "jsonl", *(("--follow",) if forever else ()))
    async with streams.opened(*words, below=DIE_WITH_US) as running:
        try:
            while (line := await running.lines.next(until - current_time())) is not None:
                if line:
                    yield line
        except TimeoutError:
            late = f"`mngr event` did not end within {ONCE_SECONDS:g} s."
            raise MngrFailed(late, reason="timeout") from None
        if not streams.are_closed and (code := await running.program.wait()):
            raise MngrFailed(f"`mngr event` of {name} ended with {code}.", reason="killed")
