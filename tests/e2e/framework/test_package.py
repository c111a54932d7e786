"""The framework by itself: what a repository installs beside its tool, and what comes with that."""

import os
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.install.building import BIN, PARTS, built, run

TEST = """
from supervisor.e2e import E2e, Size, expect

def test_hello(e2e: E2e) -> None:
    expect(e2e.run("a-tool hello", comment="it is beside pytest")).stdout.to_equal("hello from the tool\\n")
    terminal = e2e.terminal("stty size", size=Size(100, 30))
    expect(terminal.wait()).stdout.to_contain("30 100")
"""


def test_both_packages_have_one_version_and_the_same_plugin() -> None:
    whole, alone = (tomllib.loads((folder / "pyproject.toml").read_text())["project"] for folder in PARTS.values())
    assert alone["version"] == whole["version"]
    assert alone["entry-points"] == whole["entry-points"]
    assert alone["requires-python"] == whole["requires-python"]
    assert set(alone["dependencies"]) <= set(whole["dependencies"])


@pytest.mark.proof
def test_it_is_installed_alone_and_brings_no_daemon(tmp_path: Path) -> None:
    """A fresh environment, which is never activated: pytest's own directory is on nobody's PATH."""
    wheel, venv = built("e2e", tmp_path / "wheel"), tmp_path / "venv"
    run(BIN / "uv", "venv", "--quiet", "--python", sys.executable, venv)
    run(BIN / "uv", "pip", "install", "--quiet", "--python", venv / "bin" / "python", wheel)
    listed = run(BIN / "uv", "pip", "list", "--python", venv / "bin" / "python")
    print(listed)
    names = {line.split()[0].lower() for line in listed.splitlines()[2:]}
    assert {"agent-supervisor-e2e", "pyte", "pytest"} <= names
    assert names <= {
        "agent-supervisor-e2e",
        "jinja2",
        "markupsafe",
        "pyte",
        "pytest",
        "wcwidth",
        "iniconfig",
        "packaging",
        "pluggy",
        "pygments",
    }

    project, tool = tmp_path / "project", venv / "bin" / "a-tool"
    tool.write_text('#!/bin/sh\necho "$1 from the tool"\n')
    tool.chmod(0o755)
    project.mkdir()
    (project / "test_hello.py").write_text(TEST)
    env = {**os.environ, "PATH": "/usr/local/bin:/usr/bin:/bin"}
    assert "1 passed" in run(venv / "bin" / "pytest", "-q", "--e2e-dir=out", cwd=project, env=env)
    page = run(venv / "bin" / "python", "-m", "supervisor.e2e.view", "out", cwd=project, env=env).strip()
    assert "test_hello" in (project / page).read_text()


@pytest.mark.proof
def test_the_whole_has_the_daemon_and_the_framework(tmp_path: Path) -> None:
    with ZipFile(built("", tmp_path / "wheel")) as wheel:
        names = wheel.namelist()
        (told,) = (name for name in names if name.endswith("entry_points.txt"))
        entries = wheel.read(told).decode()
    assert {"supervisor/daemon/loop.py", "supervisor/e2e/plugin.py", "supervisor/e2e/view/assets/view.js"} <= {*names}
    assert "supervisor/e2e/pyproject.toml" not in names
    assert "supervisord = supervisor.cli.supervisord:main" in entries
    assert "supervisor_e2e = supervisor.e2e.plugin" in entries
