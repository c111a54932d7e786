"""The check as a pytest item, so that it runs along with the tests that cite the tutorial.

The plugin calls `add_options` and `collect` from its hooks. With `tutorial = "tutorial/tutorial.sh"` and
`tutorial_tests = "tests/e2e"` in the pytest configuration, a run that collects all of `tests/e2e` also has the item
`tutorial/tutorial.sh::cited`. A run of single tests (`file.py::test_x`) does not. Its node id runs it alone.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from supervisor.e2e.tutorial.check import Report, check
from supervisor.e2e.tutorial.report import as_text

MARKER = "tutorial(*ids): the tutorial blocks that this test covers, by id (`supervisorctl tutorial blocks FILE`)"


def add_options(parser: pytest.Parser) -> None:
    """For `pytest_addoption`."""
    parser.addini("tutorial", "the tutorial script that the tests cite", type="string", default="")
    parser.addini("tutorial_tests", "the folders of the tests that cite it", type="args", default=[])
    parser.addini("tutorial_baseline", "gaps that are allowed for now", type="string", default="")


def add_marker(config: pytest.Config) -> None:
    """For `pytest_configure`: the decorator form of a citation passes --strict-markers."""
    config.addinivalue_line("markers", MARKER)


def collect(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """For `pytest_collection_modifyitems`, tried first so that `-k` can still deselect the item."""
    script = _script(config)
    if script is None or any("::" in argument for argument in config.args):
        return
    roots = _roots(config)
    is_covered = any(item.path.is_relative_to(root) for item in items for root in roots)
    is_there = any(isinstance(item, TutorialItem) for item in items)
    if is_covered and not is_there and all(_is_whole(root, config) for root in roots):
        items.extend(TutorialFile.from_parent(session, path=script).collect())


def collect_file(file_path: Path, parent: pytest.Collector) -> "TutorialFile | None":
    """For `pytest_collect_file`: the item by its own node id."""
    return TutorialFile.from_parent(parent, path=file_path) if file_path == _script(parent.config) else None


def _script(config: pytest.Config) -> Path | None:
    name = str(config.getini("tutorial"))
    return (config.rootpath / name).resolve() if name else None


def _roots(config: pytest.Config) -> list[Path]:
    return [(config.rootpath / name).resolve() for name in config.getini("tutorial_tests")]


def _is_whole(root: Path, config: pytest.Config) -> bool:
    """Whether the run collects the folder or one above it, not only a part of it."""
    asked = [(config.invocation_params.dir / argument).resolve() for argument in config.args]
    return any(root.is_relative_to(path) for path in asked)


class TutorialGap(Exception):
    """Raised by the item, with the report as its text."""


class TutorialFile(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        yield TutorialItem.from_parent(self, name="cited")


class TutorialItem(pytest.Item):
    def runtest(self) -> None:
        report = self._check()
        if report.exit_code:
            raise TutorialGap(as_text(report))

    def _check(self) -> Report:
        from supervisor.e2e.tutorial.baseline import load

        report = check(self.path, _roots(self.config), today=datetime.now(UTC).date())
        baseline = str(self.config.getini("tutorial_baseline"))
        return report.allowing(load(self.config.rootpath / baseline)) if baseline else report

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *arguments: Any, **options: Any) -> Any:
        if isinstance(excinfo.value, TutorialGap):
            return str(excinfo.value)
        return super().repr_failure(excinfo, *arguments, **options)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"{self.path.name}: blocks and tests cite each other"
