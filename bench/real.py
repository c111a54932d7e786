"""Claims on a repository that nobody here wrote, verified together and one by one: seconds from the last agent's end.

    python -m bench.real FOLDER [--package src/NAME] [--jobs 52] [--one-by-one 8] [--seed 1]

FOLDER is a source package with tests, such as `pip download --no-binary :all:` brings; it is copied. Some of its
functions are broken first, each so that a few tests fail. Then so many of the tests are claimed: those that fail as
fixed, with their function put right again; of the others one half as clean, the other half as improved, with one more
assertion. All wait to be verified at once, as when the agents are quick. `--one-by-one` takes so many of them, spread
evenly, and extrapolates.
"""

import argparse
import ast
import asyncio
import random
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pygit2

from bench.verify import one_by_one, together
from supervisor.adapters.git.store import GitStore
from supervisor.model.batch import Batch
from supervisor.model.job import Brought, Job
from supervisor.model.node import file_of
from supervisor.model.profile import Profile
from tests.agent_clone import commit, git
from tests.verification.generated import AUTHOR, Claim, Generated

#: functions that are broken, and how many tests may fail by one of them
BROKEN, MOST_FAILING = 8, 6
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--continue-on-collection-errors")
#: those of this environment are not its own
ENV = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


@dataclass(frozen=True, slots=True)
class Source:
    folder: Path
    package: str

    @property
    def python_path(self) -> str:
        return str(Path(self.package).parent)

    def failing(self) -> tuple[set[str], set[str]]:
        """The test functions that pass, and those of which a case fails; none where it hangs."""
        report = self.folder.parent / "report.xml"
        env = ENV | {"PATH": "/usr/bin:/bin", "PYTHONPATH": self.python_path, "PYTHONDONTWRITEBYTECODE": "1"}
        command = [*PYTEST, "-o", "junit_family=xunit1", f"--junit-xml={report}", "tests"]
        report.unlink(missing_ok=True)
        with suppress(subprocess.TimeoutExpired):
            subprocess.run(
                command, cwd=self.folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=90
            )
        if not report.exists():
            return set(), set()
        passed, failed = set[str](), set[str]()
        for case in ET.parse(report).iter("testcase"):
            file, inside = case.get("file", ""), case.get("classname", "")
            classes = inside.removeprefix(file.removesuffix(".py").replace("/", ".")).strip(".").split(".")
            node = "::".join([file, *filter(None, classes), case.get("name", "").partition("[")[0]])
            is_red = case.find("failure") is not None or case.find("error") is not None
            (failed if is_red else passed).add(node)
        return passed - failed, failed


def returns(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a file whose `return` can be broken, and what they are then."""
    lines = text.splitlines(keepends=True)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Return) and node.value is not None and node.lineno == node.end_lineno:
            line = lines[node.lineno - 1]
            if line.strip().startswith("return ") and line.strip() != "return None":
                yield node.lineno, line[: len(line) - len(line.lstrip())] + "return None\n"


def broken(source: Source, chance: random.Random) -> dict[str, tuple[str, set[str]]]:
    """Lines that were broken, as `path:line`: the line as it was, and the tests that fail by it."""
    green, _ = source.failing()
    places = [
        (path, number, line)
        for path in sorted((source.folder / source.package).rglob("*.py"))
        for number, line in returns(path.read_text())
    ]
    chance.shuffle(places)
    found: dict[str, tuple[str, set[str]]] = {}
    for path, number, line in places:
        text = path.read_text()
        lines = text.splitlines(keepends=True)
        was, lines[number - 1] = lines[number - 1], line
        path.write_text("".join(lines))
        still, failed = source.failing()
        failed &= green
        if 0 < len(failed) <= MOST_FAILING and len(still) > len(green) // 2:
            found[f"{path.relative_to(source.folder)}:{number}"] = was, failed
            green -= failed
        else:
            path.write_text(text)
        if len(found) == BROKEN:
            break
    return found


def improved(text: str, test: str) -> str | None:
    """With one more assertion in that test, beside one that compares with a constant."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.name == test.split("::")[-1]:
            for each in node.body:
                if (
                    isinstance(each, ast.Assert)
                    and isinstance(each.test, ast.Compare)
                    and isinstance(each.test.left, ast.Name | ast.Attribute)
                    and isinstance(each.test.comparators[0], ast.Constant)
                    and each.test.comparators[0].value is not None
                ):
                    kind = type(each.test.comparators[0].value).__name__
                    lines = text.splitlines(keepends=True)
                    more = f"{' ' * each.col_offset}assert isinstance({ast.unparse(each.test.left)}, {kind})\n"
                    return "".join([*lines[: each.end_lineno], more, *lines[each.end_lineno :]])
    return None


@dataclass(frozen=True, slots=True)
class Work:
    """Of one job."""

    test: str
    said: str
    path: str = ""
    #: the file as the job left it
    text: str = ""

    def committed(self, bare: pygit2.Repository, base: str, number: int) -> Job:
        head = base
        if self.path:
            index = pygit2.Index()
            index.read_tree(bare[base].peel(pygit2.Tree))
            blob = bare.create_blob(self.text.encode())
            index.add(pygit2.IndexEntry(self.path, blob, pygit2.enums.FileMode.BLOB))
            subject = f"[{'FIX_IMPL' if self.said == 'fixed' else 'IMPROVE_TEST'}] {self.said}"
            name, tree = f"refs/supervisor/b/{number}/1", index.write_tree(bare)
            head = str(bare.create_commit(name, AUTHOR, AUTHOR, subject, tree, [base]))
        return Job(number, self.test, brought=Brought(self.said, head, int(bool(self.path))), detail="", attempts=1)


def worked_on(source: Source, jobs: int, chance: random.Random) -> list[Work]:
    """What so many agents leave behind, in a source that is broken first."""
    work: list[Work] = []
    for place, (was, tests) in broken(source, chance).items():
        path, _, number = place.rpartition(":")
        lines = (source.folder / path).read_text().splitlines(keepends=True)
        lines[int(number) - 1] = was
        work += [Work(test, "fixed", path, "".join(lines)) for test in sorted(tests)]
    green, _ = source.failing()
    for test in chance.sample(sorted(green), max(0, jobs - len(work))):
        path = test.partition("::")[0]
        more = improved((source.folder / path).read_text(), test) if chance.random() < 0.5 else None
        work.append(Work(test, "improved", path, more) if more else Work(test, "clean"))
    chance.shuffle(work)
    return work[:jobs]


async def claimed(source: Source, folder: Path, jobs: int, chance: random.Random) -> Generated:
    work = worked_on(source, jobs, chance)
    git(source.folder, "init", "-q", "-b", "main")
    base = commit(source.folder, "base")
    store = GitStore(folder / "state")
    await store.snapshot(source.folder, base, "b")
    bare = pygit2.Repository(str(store.bare(source.folder)))
    found = [each.committed(bare, base, number) for number, each in enumerate(work, 1)]
    profile = Profile(pytest=PYTEST, env=ENV, python_path=(source.python_path,), test_timeout_seconds=60)
    batch = Batch("b", 1, str(source.folder), base, tuple(each.test for each in work), profile, 0.0)
    claims = [Claim(number, each.said, 0, number) for number, each in enumerate(work, 1)]
    return Generated(source.folder, batch, claims, found)


async def measured(asked: argparse.Namespace, folder: Path) -> None:
    source = Source(folder / "repo", asked.package)
    shutil.copytree(asked.folder, source.folder)
    made = await claimed(source, folder, asked.jobs, random.Random(asked.seed))
    kinds = Counter(claim.kind for claim in made.claims)
    print(f"{len(made.jobs)} claims in {len({file_of(job.test) for job in made.jobs})} files:", end=" ")
    print(", ".join(f"{count} {kind}" for kind, count in kinds.items()))
    cost, verdicts = await together(folder, made)
    alone, others = await one_by_one(folder, made, asked.one_by_one)
    told = Counter((made.claims[number - 1].kind, said.verification) for number, said in verdicts.items())
    print("  " + ", ".join(f"{kind} {verdict}: {count}" for (kind, verdict), count in sorted(told.items())))
    print(f"  together: {cost}")
    print(f"  one by one: {alone}")
    print(
        f"  together takes {cost.starts / alone.starts:.2f} of the starts, {cost.seconds / alone.seconds:.2f} of",
        end="",
    )
    print(f" the time, {cost.work / alone.work:.2f} of the CPU")
    for number, said in others.items():
        if said.verification != verdicts[number].verification:
            print(
                f"  UNLIKE: {made.jobs[number - 1].test}: {verdicts[number].verification}, alone {said.verification}"
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--package", default="", help="the folder of its package; default: the only one below src/")
    parser.add_argument("--jobs", type=int, default=52)
    parser.add_argument("--one-by-one", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    if not asked.package:
        [package] = (each for each in (asked.folder / "src").iterdir() if (each / "__init__.py").exists())
        asked.package = str(package.relative_to(asked.folder))
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measured(asked, Path(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
