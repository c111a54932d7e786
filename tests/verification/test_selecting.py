"""The selector beside the truth: random edits of a generated tool, each of which changes what some tests see.

The truth is what happens: the tests that fail after the edit. Half of the tests start the tool as a program.
"""

import random
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from supervisor.foresight.reach import Reached, changed
from supervisor.verification.reached.commit import committed
from tests.agent_clone import git
from tests.verification.arena import Arena, arena, write
from tests.verification.test_reached import noted

MODULES, FUNCTIONS, TESTS = 5, 4, 10
MAIN = (
    "import importlib\nimport sys\n\n\ndef main():\n    module, name = sys.argv[1].split('.')\n"
    "    print(getattr(importlib.import_module(f'tool.{module}'), name)())\n\n\nmain()\n"
)


@dataclass
class Tool:
    """Functions that add up what they know, what others return, and what is in files."""

    chance: random.Random

    def files(self) -> dict[str, str | bytes | None]:
        made: dict[str, str | bytes | None] = {"tool/__init__.py": "", "main.py": MAIN}
        for module in range(MODULES):
            made[f"tool/m{module}.py"] = self._module(module)
            made[f"tool/d{module}.txt"] = str(self.chance.randrange(100))
        made["test_tool.py"] = self._tests()
        return made

    def _module(self, module: int) -> str:
        parts = ["from pathlib import Path\n"]
        for number in range(FUNCTIONS):
            body = [f"    total = {self.chance.randrange(1000)}"]
            later = [(m, n) for m in range(module + 1, MODULES) for n in range(FUNCTIONS)]
            for m, n in self.chance.sample(later, min(len(later), self.chance.choice((1, 2, 2)))):
                body += [f"    from tool.m{m} import f{n} as other", "    total += other()"]
            if self.chance.random() < 0.2:
                body += [f"    total += int(Path(__file__).with_name('d{module}.txt').read_text())"]
            parts.append("\n".join([f"def f{number}():", *body, "    return total  # a sum\n"]))
        return "\n\n".join(parts)

    def _tests(self) -> str:
        parts = ["import importlib\nimport subprocess\nimport sys\n"]
        for number in range(TESTS):
            name = f"m{self.chance.randrange(MODULES - 2)}.f{self.chance.randrange(FUNCTIONS)}"
            module, function = name.split(".")
            inside = f"importlib.import_module('tool.{module}').{function}()"
            outside = f"int(subprocess.run([sys.executable, 'main.py', '{name}'], stdout=-1).stdout)"
            call = outside if number % 2 else inside
            parts.append(f"def test_{number}():\n    assert {call} == EXPECTED{number}\n")
        return "\n\n".join(parts)


def run(repo: Path) -> set[str]:
    """The tests that fail."""
    words = [sys.executable, "-B", "-m", "pytest", "-q", "-rf", "--tb=no", "-p", "no:cacheprovider"]
    env = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PATH": "/usr/bin:/bin"}
    done = subprocess.run([*words, "test_tool.py"], cwd=repo, env=env, capture_output=True, text=True, timeout=100)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return set(re.findall(r"^FAILED (\S+)", done.stdout, re.MULTILINE))


def expected(files: dict[str, str | bytes | None], folder: Path) -> dict[str, str | bytes | None]:
    """The same tests, each with the number that it sees."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(str(text))
    return files | {"test_tool.py": answered(str(files["test_tool.py"]), folder)}


def answered(source: str, folder: Path) -> str:
    """Tests that know what they see there."""

    def seen(found: re.Match[str]) -> str:
        code = f"import importlib, subprocess, sys; print({found[1]})"
        sees = subprocess.check_output([sys.executable, "-B", "-c", code], cwd=folder, text=True)
        return f"assert {found[1]} == {sees}"

    return re.sub(r"assert (.*) == EXPECTED\d+\n", seen, source)


def edited(repo: Path, chance: random.Random) -> str:
    """One function or file knows another number, or there is one more comment."""
    kind = chance.choices(("function", "file", "comment"), (80, 15, 5))[0]
    path = (
        repo
        / "tool"
        / f"{'d' if kind == 'file' else 'm'}{chance.randrange(MODULES)}.{'txt' if kind == 'file' else 'py'}"
    )
    text = path.read_text()
    if kind == "file":
        path.write_text(str(int(text) + 1))
    elif kind == "comment":
        path.write_text(text.replace("# a sum", "# the sum of all that is asked"))
    else:
        place = chance.choice(list(re.finditer(r"total = (\d+)", text)))
        path.write_text(f"{text[: place.start(1)]}{int(place[1]) + 1}{text[place.end(1) :]}")
    return kind


async def compared(
    here: Arena, reached: dict[str, Reached], edits: int, edit: Callable[[], object]
) -> tuple[int, int, int]:
    """How many tests the edits broke, how many were selected, and how many of the broken ones were not."""
    truth, chosen, missed = 0, 0, 0
    for _ in range(edits):
        edit()
        broken = run(here.repo)
        now = await committed(here.store, here.repo, write(here.repo, {}))
        git(here.repo, "reset", "-q", "--hard", here.base)
        selected = {test for test, each in reached.items() if changed(each, now)}
        truth, chosen, missed = truth + len(broken), chosen + len(selected), missed + len(broken - selected)
    return truth, chosen, missed


@pytest.mark.timeout(600)
@pytest.mark.parametrize("edits", [10, pytest.param(100, marks=pytest.mark.proof)])
async def test_random_edits_of_a_tool(tmp_path: Path, edits: int) -> None:
    chance = random.Random(7)
    (tmp_path / "draft").mkdir()
    files = expected(Tool(chance).files(), tmp_path / "draft")
    async with arena(tmp_path, files) as here:
        assert run(here.repo) == set()
        reached = await noted(here, *(f"test_tool.py::test_{number}" for number in range(TESTS)))
        assert [each.unknown for each in reached.values()] == [""] * TESTS
        truth, chosen, missed = await compared(here, reached, edits, lambda: edited(here.repo, chance))
    print(f"{edits} edits: {truth} tests broken, {chosen} selected, {missed} missed")
    assert truth >= edits / 2, "the edits show something"
    assert missed == 0
    assert chosen <= 1.5 * truth
