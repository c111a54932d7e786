"""A source package whose functions are broken, and what agents would leave behind there.

To find functions on which a few tests depend, the tests run once for each place. Where that takes too long, a file
says what is known: `{"green": ["NODE", …], "broken": {"PATH:LINE": ["NODE", …]}}`; nothing is run then.
"""

import ast
import hashlib
import json
import os
import random
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pygit2

from supervisor.model.job import Brought, Job
from supervisor.model.profile import Profile
from tests.verification.generated import AUTHOR

#: functions that are broken, and how many tests may fail by one of them
BROKEN, MOST_FAILING = 8, 6
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--continue-on-collection-errors")
#: those of this environment are not its own
ENV = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


@dataclass(frozen=True, slots=True)
class Source:
    folder: Path
    package: str
    #: files, folders or single tests, as pytest takes them
    tests: tuple[str, ...] = ("tests",)
    pytest: tuple[str, ...] = PYTEST
    env: Mapping[str, str] = field(default_factory=lambda: ENV)
    #: the folders from which it is imported; (): the one that the package is in
    paths: tuple[str, ...] = ()
    #: of one test, and of all of them
    test_seconds: float = 60
    all_seconds: float = 90
    #: what the walls show besides the tool chain
    shown: tuple[str, ...] = ()

    @property
    def python_path(self) -> tuple[str, ...]:
        return self.paths or (str(Path(self.package).parent),)

    def failing(self) -> tuple[set[str], set[str]]:
        """The test functions that pass, and those of which a case fails; none where it hangs."""
        report = self.folder.parent / "report.xml"
        paths = os.pathsep.join(str(self.folder / each) for each in self.python_path)
        env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1", **self.env}
        command = [*self.pytest, "-o", "junit_family=xunit1", f"--junit-xml={report}", *self.tests]
        report.unlink(missing_ok=True)
        with suppress(subprocess.TimeoutExpired):
            subprocess.run(
                command,
                cwd=self.folder,
                env=env,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=self.all_seconds,
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

    def profile(self, **more: Any) -> Profile:
        return Profile(
            pytest=self.pytest,
            env=self.env,
            python_path=self.python_path,
            test_timeout_seconds=self.test_seconds,
            sandbox_read=self.shown,
            **more,
        )


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


@dataclass(frozen=True, slots=True)
class Known:
    """What the search for places to break has found."""

    #: the tests that pass once all places are broken
    green: tuple[str, ...]
    #: by `path:line`: the line as it was, and the tests that fail by it
    broken: Mapping[str, tuple[str, tuple[str, ...]]]


def searched(source: Source, chance: random.Random) -> Known:
    """Breaks functions, and runs the tests for each."""
    found = {place: (was, tuple(sorted(tests))) for place, (was, tests) in broken(source, chance).items()}
    return Known(tuple(sorted(source.failing()[0])), found)


def told(source: Source, file: Path) -> Known:
    """Breaks the functions that the file names."""
    said = json.loads(file.read_text())
    found = {}
    for place, tests in said["broken"].items():
        path, _, number = place.rpartition(":")
        text = (source.folder / path).read_text()
        lines = text.splitlines(keepends=True)
        was, lines[int(number) - 1] = lines[int(number) - 1], dict(returns(text))[int(number)]
        (source.folder / path).write_text("".join(lines))
        found[place] = was, tuple(sorted(tests))
    fail = {test for _, tests in found.values() for test in tests}
    return Known(tuple(sorted(set(said["green"]) - fail)), found)


def improved(text: str, test: str) -> str | None:
    """With one more assertion in that test: beside one that compares, or on what a call returns."""
    return _compared(text, test) or _called(text, test) or _equal(text, test)


def _called(text: str, test: str) -> str | None:
    for each in _statements(text, test):
        if (
            isinstance(each, ast.Assign)
            and isinstance(each.value, ast.Call)
            and isinstance(each.targets[0], ast.Name)
        ):
            return _with_more(text, each, f"assert {each.targets[0].id} is not None")
    return None


def _equal(text: str, test: str) -> str | None:
    """As unittest compares."""
    for each in _statements(text, test):
        if isinstance(each, ast.Expr) and isinstance(each.value, ast.Call):
            call = each.value
            if ast.unparse(call.func) == "self.assertEqual" and len(call.args) == 2:
                return _with_more(text, each, f"self.assertIsNotNone({ast.unparse(call.args[0])})")
    return None


def _compared(text: str, test: str) -> str | None:
    for each in _statements(text, test):
        if (
            isinstance(each, ast.Assert)
            and isinstance(each.test, ast.Compare)
            and isinstance(each.test.left, ast.Name | ast.Attribute)
            and isinstance(each.test.comparators[0], ast.Constant)
            and each.test.comparators[0].value is not None
        ):
            kind = type(each.test.comparators[0].value).__name__
            return _with_more(text, each, f"assert isinstance({ast.unparse(each.test.left)}, {kind})")
    return None


def _statements(text: str, test: str) -> Iterator[ast.stmt]:
    """Those of the test, nested ones excluded."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.name == test.split("::")[-1]:
            yield from node.body


def _with_more(text: str, after: ast.stmt, line: str) -> str:
    lines = text.splitlines(keepends=True)
    return "".join([*lines[: after.end_lineno], f"{' ' * after.col_offset}{line}\n", *lines[after.end_lineno :]])


@dataclass(frozen=True, slots=True)
class Work:
    """Of one job."""

    test: str
    said: str
    path: str = ""
    #: the file as the job left it
    text: str = ""

    @property
    def kind(self) -> str:
        return "FIX_IMPL" if self.said == "fixed" else "IMPROVE_TEST"

    @property
    def subject(self) -> str:
        return f"[{self.kind}] {self.said}"

    def lay_out(self, folder: Path) -> None:
        """For the scripted agent, which finds it by the name of its test."""
        place = folder / hashlib.sha1(self.test.encode(), usedforsecurity=False).hexdigest()
        place.mkdir(parents=True)
        if self.path:
            (place / "path").write_text(self.path)
            (place / "text").write_text(self.text)
            (place / "subject").write_text(self.subject)
        changes = {self.kind: {"status": "SUCCEEDED", "summary_markdown": self.said}} if self.path else {}
        said = {"schema_version": 1, "changes": changes, "errored": False, "blocked": None, "test_runs": []}
        said |= {"tests_passing_before": self.said != "fixed", "tests_passing_after": True, "escalations": []}
        (place / "outcome.json").write_text(json.dumps({**said, "summary_markdown": self.said}))

    def committed(self, bare: pygit2.Repository, base: str, number: int) -> Job:
        head = base
        if self.path:
            index = pygit2.Index()
            index.read_tree(bare[base].peel(pygit2.Tree))
            blob = bare.create_blob(self.text.encode())
            index.add(pygit2.IndexEntry(self.path, blob, pygit2.enums.FileMode.BLOB))
            name, tree = f"refs/supervisor/b/{number}/1", index.write_tree(bare)
            head = str(bare.create_commit(name, AUTHOR, AUTHOR, self.subject, tree, [base]))
        return Job(number, self.test, brought=Brought(self.said, head, int(bool(self.path))), detail="", attempts=1)


def worked_on(source: Source, jobs: int, chance: random.Random, known: Path | None = None) -> list[Work]:
    """What so many agents leave behind, in a source that is broken first."""
    work: list[Work] = []
    found = told(source, known) if known is not None else searched(source, chance)
    for place, (was, tests) in found.broken.items():
        path, _, number = place.rpartition(":")
        lines = (source.folder / path).read_text().splitlines(keepends=True)
        lines[int(number) - 1] = was
        work += [Work(test, "fixed", path, "".join(lines)) for test in tests]
    for test in chance.sample(found.green, min(len(found.green), max(0, jobs - len(work)))):
        path = test.partition("::")[0]
        more = improved((source.folder / path).read_text(), test) if chance.random() < 0.5 else None
        work.append(Work(test, "improved", path, more) if more else Work(test, "clean"))
    chance.shuffle(work)
    return work[:jobs]
