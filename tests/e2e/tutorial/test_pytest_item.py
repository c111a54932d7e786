"""The check as a pytest item: there when all the tests that cite the tutorial are collected, and not otherwise."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = """
import pytest
from supervisor.e2e.tutorial import pytest_item

pytest_addoption = pytest_item.add_options
pytest_configure = pytest_item.add_marker
pytest_collect_file = pytest_item.collect_file
pytest_collection_modifyitems = pytest.hookimpl(tryfirst=True)(pytest_item.collect)
"""
CONFIGURATION = """
[pytest]
addopts = --strict-markers
tutorial = tutorial/tutorial.sh
tutorial_tests = tests/e2e
"""
CITES = "import pytest\n\n@pytest.mark.tutorial('tool-make')\ndef test_make(): ...\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    files = {
        "conftest.py": CONFTEST,
        "pytest.ini": CONFIGURATION,
        "tutorial/tutorial.sh": "tool make\n",
        "tests/e2e/test_make.py": CITES,
        "tests/test_unit.py": "def test_unit(): ...\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def run(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-v", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3]), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        command, cwd=project, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize(
    ("arguments", "runs"),
    [
        ((), True),
        (("tests",), True),
        (("tests/e2e",), True),
        (("tutorial/tutorial.sh",), True),
        (("tutorial/tutorial.sh::cited",), True),
        (("tests/e2e/test_make.py",), False),
        (("tests/e2e/test_make.py::test_make",), False),
        (("tests/test_unit.py",), False),
        (("-k", "unit"), False),
    ],
)
def test_the_item_is_part_of_a_run_of_all_citing_tests(project: Path, arguments: tuple[str, ...], runs: bool) -> None:
    done = run(project, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ("tutorial/tutorial.sh::cited PASSED" in done.stdout) is runs


def test_a_gap_fails_the_run_and_the_report_is_all_that_is_shown(project: Path) -> None:
    with (project / "tutorial/tutorial.sh").open("a") as script:
        script.write("\ntool forget\n")
    done = run(project)
    assert done.returncode == 1
    assert "tutorial.sh:3: uncited: tool forget" in done.stdout
    assert "Traceback" not in done.stdout
