"""The rehearsal: a small, real command-line tool with seeded defects, and repositories to measure with.

`target/` is the tool `pantry`, its tutorial and its end-to-end tests; `defects.json` says what is wrong with it and
what becomes of each test's job. The agent that knows it is `supervisor/agents/rehearsal.py`.
"""

import os
import shutil
import subprocess
from pathlib import Path

TARGET = Path(__file__).parent / "target"
DEFECTS = Path(__file__).parent / "defects.json"
AGENT = Path(__file__).parent.parent / "agents" / "rehearsal.py"

#: nothing of this machine's git configuration, and always the same commit id
GIT_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "Rehearsal",
    "GIT_AUTHOR_EMAIL": "rehearsal@example.invalid",
    "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
    "GIT_COMMITTER_NAME": "Rehearsal",
    "GIT_COMMITTER_EMAIL": "rehearsal@example.invalid",
    "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
}


def lay_out(path: Path) -> None:
    """Write the target to `path`, as a git repository with one commit on `main`."""
    shutil.copytree(TARGET, path, ignore=shutil.ignore_patterns("__pycache__", ".*cache", ".test_output"))
    (path / "bin" / "pantry").chmod(0o755)  # a wheel may have lost it
    commit_all(path, "A pantry, its tutorial and its tests")


def commit_all(path: Path, subject: str) -> None:
    """Make `path` a git repository whose one commit holds all of it."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    for arguments in (
        ["init", "--quiet", "--initial-branch=main", "--template="],
        ["add", "--all"],
        ["commit", "--quiet", "--message", subject],
    ):
        subprocess.run(["git", *arguments], cwd=path, env=inherited | GIT_ENVIRONMENT, check=True)
