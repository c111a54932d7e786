"""Makes films of recordings, in a process of its own: the emulator of the terminal obeys what somebody else wrote."""

import os
import sys

from anyio import CapacityLimiter
from anyio.lowlevel import RunVar

from supervisor.adapters.process import run
from supervisor.errors import DeviceFailed

PROGRAM = "supervisor.e2e.view.filming"
SECONDS = 60.0
MOST_BYTES = 32 * 2**20
#: at a time
MOST = 2
_BOUNDS = 'ulimit -v 1048576 && ulimit -t 20 && exec "$@"'

_at_once: RunVar[CapacityLimiter] = RunVar("films")


async def filmed(recording: bytes) -> bytes:
    """What the page's player shows, as JSON. Raises DeviceFailed."""
    argv = ["sh", "-c", _BOUNDS, "sh", sys.executable, "-I", "-m", PROGRAM]
    env = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"}
    async with _limiter():
        try:
            done = await run(argv, env=env, timeout=SECONDS, stdin=recording, most=MOST_BYTES)
        except (OSError, TimeoutError):
            raise DeviceFailed("the recording can't be shown: making a film of it takes too long") from None
    if done.code or done.is_cut:
        why = "it is too large" if done.is_cut else "its terminal can't be emulated"
        raise DeviceFailed(f"the recording can't be shown: {why}")
    return done.out


def _limiter() -> CapacityLimiter:
    try:
        return _at_once.get()
    except LookupError:
        _at_once.set(made := CapacityLimiter(MOST))
        return made
