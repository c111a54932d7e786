"""Asks policy in a process of its own: parsing hostile code may take all memory, or bring an interpreter down.

Run as a program it reads a question on stdin and prints what is refused and what is doubted, as JSON.
"""

import sys
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from supervisor.verification.rules.doubts import doubts
from supervisor.verification.rules.judged import Base, Breach, Doubt, FileChange
from supervisor.verification.rules.places import Allowed
from supervisor.verification.rules.policy import breaches
from supervisor.verification.trials.running import run

DEADLINE = 60.0
_BOUNDS = 'ulimit -v 2097152 && ulimit -t 30 && exec "$@"'
#: all of it fits into the end of an output that is kept
MOST_BREACHES, MOST_DOUBTS, LONGEST = 5, 15, 180


@dataclass(frozen=True, slots=True)
class Question:
    changes: tuple[FileChange, ...]
    test: str
    allowed: Allowed
    #: what the commits say they are
    kinds: tuple[str, ...] = ()
    base: Base = field(default_factory=Base)


@dataclass(frozen=True, slots=True)
class Objections:
    """What is certain, and what a reviewer, or a run, has to decide."""

    breaches: tuple[Breach, ...] = ()
    doubts: tuple[Doubt, ...] = ()

    @property
    def refusal(self) -> str:
        more = f" (and {len(self.breaches) - 3} more)" if len(self.breaches) > 3 else ""
        return "; ".join(map(str, self.breaches[:3])) + more


async def objections(question: Question, env: dict[str, str]) -> Objections:
    program = [sys.executable, "-I", "-m", __name__]
    argv = ["sh", "-c", _BOUNDS, "sh", *program]
    asked = msgspec.json.encode(question)
    ended = await run(argv, cwd=Path("/"), env=env, timeout=DEADLINE, stdin=asked)
    try:
        if ended.code == 0:
            return msgspec.json.decode(ended.tail, type=Objections)
    except msgspec.MsgspecError:
        pass
    return Objections((Breach("unreadable", "its changes are too much to be read"),))


async def inspect(question: Question, env: dict[str, str]) -> list[Breach]:
    return list((await objections(question, env)).breaches)


def main() -> None:
    question = msgspec.json.decode(sys.stdin.buffer.read(), type=Question)
    refused = breaches(question.changes, question.test, question.allowed, question.kinds, question.base)
    doubted = [] if refused else doubts(question.changes, question.test, question.base)
    # A few say as much as a thousand.
    found = Objections(
        tuple(Breach(each.rule, _clean(each.message)) for each in refused[:MOST_BREACHES]),
        tuple(Doubt(_clean(each.sentence), each.settled_by) for each in doubted[:MOST_DOUBTS]),
    )
    sys.stdout.write(msgspec.json.encode(found).decode())


def _clean(text: str) -> str:
    """Half characters have no JSON; what can't be seen is no part of a sentence."""
    shown = "".join(each if each.isprintable() else " " for each in text[:LONGEST])
    return shown.encode(errors="replace").decode()


if __name__ == "__main__":
    main()
