"""The rehearsal: a small, real command-line tool with seeded defects, and repositories to measure with.

`target/` is the tool `pantry`, its tutorial and its end-to-end tests. The agent that works on it without a model is
`supervisor/agents/rehearsal.py`; all that it knows is in `defects.json`, for each test that is not simply clean:

- `defect`: where the fault lies (implementation, test, weak, tutorial, docs, missing, none), and `passes_before`
- `attempts`: how the first, second … agent behaves, the last of them ever after; without it, they publish
- `changes`: a commit each, of its kind, with `edits` that are found once or not made; one without is given up
- `identical`, `alike`: groups of jobs that bring the same patch, or the same lines in files of their own
- `conflicts_with`: a job that changes the same lines; `resolution`: the edits that bring this job's change onto a
  branch that has the other's. An edit that changes nothing is a condition
- `expected`: the job's outcome, its row in the ledger (with an integrator), and what verification says

`normalizations` are the shared fixes that the integrator names for an `alike` group. It finds its task beside its
prompt, in `integration.json`: `conflicts` (objects with `job`, `change`, `test`, and for people `commit`, `paths`,
`with`), `ranking` (changes, best first) and `repeated` (objects with `tests`). Its outcome has, beyond what the
contract wants, `ranking` and `failed`: objects with `job`, `change` and `reason`.
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
