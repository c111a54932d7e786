"""The selector beside the truth, for a tool of shell programs: each random edit changes what some tests see.

Programs source libraries, read files, look for ones that may be there, and start each other. Each file has a number
that all who reach it add up, so the truth is what happens: the tests that fail after the edit.
"""

import random
from dataclasses import dataclass
from pathlib import Path

import pytest

from supervisor.verification.trials.running import tracing_lacks
from tests.verification.arena import Arena, arena, write
from tests.verification.test_reached import noted
from tests.verification.test_selecting import answered, compared, run

PROGRAMS, LIBRARIES, TESTS = 9, 5, 10
#: how tests start a program
STARTS = ("sh bin/p{n}.sh", "./bin/p{n}.sh", "cd bin && exec ./p{n}.sh", "$PWD/tests/../bin/p{n}.sh", "ways/p{n}")


@dataclass
class Tool:
    """Programs that add up what they know, what others print, and what is in files."""

    chance: random.Random

    def files(self) -> dict[str, str | bytes | None]:
        made: dict[str, str | bytes | None] = {"tests/README": "", "ways/README": ""}
        for n in range(LIBRARIES):
            made[f"lib/l{n}.sh"] = f"total=$((total + {self._number()}))\n"
            made[f"data/d{n}.txt"] = f"{self._number()}\n"
            made[f"sums/s{n}.awk"] = f"{{ n += $1 }} END {{ print n + {self._number()} }}\n"
            made[f"parts/{n}/a.num"] = f"{self._number()}\n"
        for n in range(PROGRAMS):
            made[f"bin/p{n}.sh"] = self._program(n)
        made["test_tool.py"] = self._tests()
        return made

    def _number(self) -> int:
        return self.chance.randrange(1, 100)

    def _program(self, number: int) -> str:
        lines = ["#!/bin/sh", 'cd "$(dirname "$(readlink -f "$0")")" || exit 1', f"total={self._number()}"]
        lines += [self.chance.choice(self._ways()) for _ in range(self.chance.choice((1, 1, 2)))]
        later = range(number + 1, PROGRAMS)
        started = self.chance.sample(later, min(len(later), self.chance.choice((0, 1, 1))))
        lines += [f"total=$((total + $({self.chance.choice(('sh ', ''))}./p{n}.sh)))" for n in started]
        return "\n".join([*lines, "echo $total"]) + "\n"

    def _ways(self) -> list[str]:
        n = self.chance.randrange(LIBRARIES)
        return [
            f". ../lib/l{n}.sh",
            f"total=$((total + $(cat ../data/d{n}.txt)))",
            f"read -r more < ../data/d{n}.txt; total=$((total + more))",
            f"total=$((total + $(awk -f ../sums/s{n}.awk ../data/d{n}.txt)))",
            f"if [ -f ../extra/e{n}.txt ]; then total=$((total + 1)); fi",
            f"total=$((total + $(cat ../extra/e{n}.txt 2> /dev/null || echo 0)))",
            f"for part in ../parts/{n}/*.num; do total=$((total + $(cat $part))); done",
        ]

    def _tests(self) -> str:
        parts = ["import subprocess\n"]
        for number in range(TESTS):
            start = STARTS[number % len(STARTS)].format(n=self.chance.randrange(PROGRAMS))
            call = f"int(subprocess.run({start!r}, shell=True, stdout=-1).stdout)"
            parts.append(f"def test_{number}():\n    assert {call} == EXPECTED{number}\n")
        return "\n\n".join(parts)


def edited(repo: Path, chance: random.Random) -> None:
    """A file knows another number, or there is one more."""
    kind = chance.choice(("program", "program", "library", "data", "sum", "extra", "part", "more parts"))
    n = chance.randrange(LIBRARIES)
    if kind == "extra":
        place = repo / f"extra/e{n}.txt"
        place.parent.mkdir()
        place.write_text("1\n")
    elif kind == "more parts":
        (repo / f"parts/{n}/b.num").write_text("1\n")
    else:
        paths = {
            "program": f"bin/p{chance.randrange(PROGRAMS)}.sh",
            "library": f"lib/l{n}.sh",
            "data": f"data/d{n}.txt",
            "sum": f"sums/s{n}.awk",
            "part": f"parts/{n}/a.num",
        }
        increase(repo / paths[kind])


def increase(file: Path) -> None:
    """The number that the file itself has: the last one of a library, else the one after `total=`, `+` or alone."""
    text = file.read_text()
    marks = {".sh": "total=", ".awk": "print n + ", ".txt": "", ".num": ""}
    mark = "total + " if file.parent.name == "lib" else marks[file.suffix]
    begin = text.index(mark) + len(mark)
    end = next(place for place in range(begin, len(text)) if not text[place].isdigit())
    file.write_text(f"{text[:begin]}{int(text[begin:end]) + 1}{text[end:]}")


async def furnish(here: Arena) -> None:
    """With programs that can be started, also by another name, and tests that know what they see."""
    for n in range(PROGRAMS):
        (here.repo / f"bin/p{n}.sh").chmod(0o755)
        (here.repo / f"ways/p{n}").symlink_to(f"../bin/p{n}.sh")
    tests = here.repo / "test_tool.py"
    here.base = write(here.repo, {tests.name: answered(tests.read_text(), here.repo)})
    await here.store.snapshot(here.repo, here.base, "b")


@pytest.mark.timeout(900)
@pytest.mark.parametrize("edits", [10, pytest.param(100, marks=pytest.mark.proof)])
async def test_random_edits_of_a_tool_of_shell_programs(tmp_path: Path, edits: int) -> None:
    if lacks := await tracing_lacks():
        pytest.skip(f"nobody is told here what is opened: {lacks}")
    chance = random.Random(11)
    async with arena(tmp_path, Tool(chance).files()) as here:
        await furnish(here)
        assert run(here.repo) == set()
        tests = [f"test_tool.py::test_{number}" for number in range(TESTS)]
        reached = await noted(here, *tests, test_timeout_seconds=200)
        assert [each.unknown for each in reached.values()] == [""] * TESTS
        truth, chosen, missed = await compared(here, reached, edits, lambda: edited(here.repo, chance))
    print(f"{edits} edits: {truth} tests broken, {chosen} selected, {missed} missed")
    assert truth >= edits / 2, "the edits show something"
    assert missed == 0
    assert chosen <= 1.5 * truth
