"""Makes faults of the code that a test has reached, in a process of its own: it parses hostile code."""

import os
import sys
from pathlib import Path

import msgspec

from supervisor.verification.evidence import faults
from supervisor.verification.evidence.drastic import Code
from supervisor.verification.evidence.inquiry import Unanswered
from supervisor.verification.evidence.laying import Contents
from supervisor.verification.evidence.seen import Seen
from supervisor.verification.trials.running import environment, run

DEADLINE = 60.0
MAX_FILE = 2**19
#: each fault names its files
MOST_SAID = 2**22
_BOUNDS = 'ulimit -v 2097152 && ulimit -t 30 && ulimit -f 65536 && exec "$@"'


async def find(
    seen: Seen, texts: Contents, folder: Path, most: int, *, only: str = "", test: str = ""
) -> list[faults.Fault]:
    """Drastic faults first; at most `most` small ones, whose descriptions begin with `only`. One of the drastic ones
    is found only by `test`. Their files are in the folder. Raises Unanswered if the process ends early."""
    into = folder / f"faults-{os.urandom(4).hex()}"
    into.mkdir()
    codes = tuple(
        Code(
            path,
            content.data.decode(errors="surrogateescape"),
            seen.lines.get(path, frozenset()),
            seen.collecting.get(path, frozenset()),
        )
        for path, content in texts.items()
        if content is not None and content.kind != "link" and _is_text(content.data)
    )
    if not codes:
        return []
    asked = msgspec.json.encode(faults.Wanted(codes, most, str(into), only, test))
    program = ["sh", "-c", _BOUNDS, "sh", sys.executable, "-I", "-m", faults.__name__]
    env = environment(into, into, {})
    ended = await run(program, cwd=into, env=env, timeout=DEADLINE, stdin=asked, keep=MOST_SAID)
    try:
        if ended.code == 0:
            return msgspec.json.decode(ended.tail, type=list[faults.Fault])
    except msgspec.MsgspecError:
        pass
    raise Unanswered("nothing could be made of what it reaches in the time and memory that there are")


def _is_text(data: bytes) -> bool:
    return len(data) <= MAX_FILE and b"\0" not in data
