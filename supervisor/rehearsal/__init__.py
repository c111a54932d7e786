"""The rehearsal: a small, real command-line tool with seeded defects, and generated repositories for benchmarks.

`target/` is the tool `pantry`, its tutorial and its end-to-end tests. `supervisor/agents/rehearsal.py` is the agent
that works on it without a model. Its data is `defects.json`, with an entry for each test that is not simply clean:

- `defect`: where the fault lies (implementation, test, weak, tutorial, docs, missing, none), and `passes_before`
- `attempts`: how the first, second, … agent behaves; the last entry applies to all later ones; default: they publish
- `changes`: one commit per kind, with `edits` that are made if their text is found exactly once; a change without
  edits is given up
- `identical`, `alike`: groups of jobs with the same patch, or with the same changed lines in different files
- `conflicts_with`: a job that changes the same lines; `resolution`: the edits that make this job's change on a branch
  that has the other's. An edit that changes nothing is a condition
- `expected`: the job's outcome, its row in the ledger (with an integrator), and its verification

`normalizations` are the shared fixes that the integrator names for an `alike` group. Its task is `integration.json`,
next to its prompt: `conflicts` (objects with `job`, `change`, `test`, and for people `commit`, `paths`, `with`),
`ranking` (changes, best first) and `repeated` (objects with `tests`). In addition to the contract's fields, its
outcome has `ranking` and `failed`: objects with `job`, `change` and `reason`.
"""

import os
import shutil
import subprocess
from pathlib import Path

TARGET = Path(__file__).parent / "target"
DEFECTS = Path(__file__).parent / "defects.json"
AGENT = Path(__file__).parent.parent / "agents" / "rehearsal.py"

#: independent of this machine's git configuration, so that the commit id is always the same
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
    (path / "bin" / "pantry").chmod(0o755)  # a wheel may have lost the mode
    commit_all(path, "A pantry, its tutorial and its tests")


def commit_all(path: Path, subject: str) -> None:
    """Make `path` a git repository with one commit of all its files."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    for arguments in (
        ["init", "--quiet", "--initial-branch=main", "--template="],
        ["add", "--all"],
        ["commit", "--quiet", "--message", subject],
    ):
        subprocess.run(["git", *arguments], cwd=path, env=inherited | GIT_ENVIRONMENT, check=True)
