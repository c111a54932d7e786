"""Collecting runs the target's pytest in a person's checkout, and leaves nothing there."""

import sys
from pathlib import Path

from supervisor.cli.collecting import collect
from supervisor.cli.surroundings import Surroundings

#: what a run of it writes, as people have it in their configuration
CONFIGURATION = """\
[pytest]
addopts = --junitxml=reports/junit.xml
log_file = run.log
"""
TESTS = """\
from hypothesis import given, strategies
from its_library import answer

@given(strategies.text())
def test_one(text: str) -> None: ...
"""


def test_collecting_leaves_no_file(tmp_path: Path) -> None:
    """No reports, no caches, no compiled modules."""
    (tmp_path / "pytest.ini").write_text(CONFIGURATION)
    (tmp_path / "conftest.py").write_text("")
    (tmp_path / "its_library.py").write_text("answer = 42\n")
    (tmp_path / "test_it.py").write_text(TESTS)
    before = sorted(tmp_path.rglob("*"))

    collected = collect(
        tmp_path, [sys.executable, "-m", "pytest"], [], "function", timeout=60, around=Surroundings(tmp_path)
    )
    assert collected.tests == ["test_it.py::test_one"]

    assert sorted(tmp_path.rglob("*")) == before
