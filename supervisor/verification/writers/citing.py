"""Asks the citation check about work, in a process of its own: it parses what agents have written.

Run as a program in a checkout it reads a question on stdin and prints its answer, as JSON.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import msgspec

from supervisor.e2e.tutorial.check import Report, check
from supervisor.e2e.tutorial.writing import Task
from supervisor.verification.trials.running import run

DEADLINE = 120.0
#: so many tests of one block are run
MOST_TESTS = 20
_BOUNDS = 'ulimit -v 2097152 && ulimit -t 60 && exec "$@"'


@dataclass(frozen=True, slots=True)
class Answer:
    #: why the work does not do what its task wants, in a sentence
    problem: str = ""
    #: the tests that prove the block, or the one whose citation was stale
    tests: tuple[str, ...] = ()
    #: one of them expects a failure
    has_unhappy: bool = False


async def ask(task: Task, checkout: Path, env: Mapping[str, str]) -> Answer:
    argv = ["sh", "-c", _BOUNDS, "sh", sys.executable, "-I", "-m", __name__]
    ended = await run(argv, cwd=checkout, env=env, timeout=DEADLINE, stdin=msgspec.json.encode(task))
    try:
        if ended.code == 0:
            return msgspec.json.decode(ended.tail, type=Answer)
    except msgspec.MsgspecError:
        pass
    return Answer("its tests are too much to be read")


def answer(task: Task, report: Report) -> Answer:
    """Problems: an unreadable test, its own citation still stale, too many others stale, no proof of the block."""
    if report.unreadable:
        return Answer(f"{report.unreadable[0].path} can't be read")
    own = [cited for cited in report.cited if cited.test.id == task.test]
    still = [stale for stale in report.stale if stale.test.id == task.test]
    allowed = task.stale_before - (task.kind == "stale")
    if task.kind == "stale" and (still or not own):
        return Answer(f"{task.test} still cites what the tutorial does not say")
    if len(report.stale) > allowed:
        return Answer(f"it leaves {len(report.stale)} stale citations, where {allowed} may be")
    proofs = own if task.kind == "stale" else report.by_block.get(task.block, [])
    if not proofs:
        return Answer(f"no test cites {task.block}")
    if all(cited.fidelity == "none" for cited in proofs):
        return Answer("what cites the block runs none of its commands")
    tests = tuple(dict.fromkeys(cited.test.id for cited in proofs))[:MOST_TESTS]
    return Answer(tests=tests, has_unhappy=any(cited.test.conduct.is_unhappy for cited in proofs))


def main() -> None:
    task = msgspec.json.decode(sys.stdin.buffer.read(), type=Task)
    found = answer(task, check(Path(task.tutorial), [Path(task.tests)], today=date.min))
    sys.stdout.write(msgspec.json.encode(found).decode())


if __name__ == "__main__":
    main()
