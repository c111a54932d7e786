"""Asks policy in a process of its own: parsing hostile code may take all memory, or bring an interpreter down.

Run as a program it reads a question on stdin and prints the breaches, as JSON.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import msgspec

from supervisor.adapters.judging.running import run
from supervisor.flow.policy import Allowed, Breach, FileChange, breaches

DEADLINE = 60.0
_BOUNDS = 'ulimit -v 2097152 && ulimit -t 30 && exec "$@"'


@dataclass(frozen=True, slots=True)
class Question:
    changes: tuple[FileChange, ...]
    test: str
    allowed: Allowed
    #: what the commits say they are
    kinds: tuple[str, ...] = ()


async def inspect(question: Question, env: dict[str, str]) -> list[Breach]:
    program = [sys.executable, "-I", "-m", __name__]
    argv = ["sh", "-c", _BOUNDS, "sh", *program]
    asked = msgspec.json.encode(question)
    ended = await run(argv, cwd=Path("/"), env=env, timeout=DEADLINE, stdin=asked)
    try:
        if ended.code == 0:
            return msgspec.json.decode(ended.tail, type=list[Breach])
    except msgspec.MsgspecError:
        pass
    return [Breach("unreadable", "its changes are too much to be read")]


def main() -> None:
    question = msgspec.json.decode(sys.stdin.buffer.read(), type=Question)
    found = breaches(question.changes, question.test, question.allowed, question.kinds)
    # Half characters have no JSON; a few breaches say as much as a thousand.
    shown = [Breach(each.rule, each.message[:300].encode(errors="replace").decode()) for each in found[:10]]
    sys.stdout.write(msgspec.json.encode(shown).decode())


if __name__ == "__main__":
    main()
