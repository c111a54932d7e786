"""Follows what an agent writes on another host, by `mngr event`: a process for as long as it is followed."""

import math
from collections.abc import AsyncGenerator

from anyio import current_time

from supervisor.adapters.mngr.plain import DIE_WITH_US
from supervisor.adapters.mngr.streams import Streams
from supervisor.errors import MngrFailed

#: A follower ends by itself only when its agent can't be reached; asked for what there is, it answers in this time.
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
