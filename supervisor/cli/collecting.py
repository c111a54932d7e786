"""What pytest collects, in the target's own environment and with the rights of whoever submits.

A plugin of a few lines, put on the path of that one run, writes down what was collected: pytest's screen output
depends on the target's options, its items do not.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from supervisor.errors import Refused

PLUGIN = """\
import json, os

def pytest_collection_finish(session):
    root = os.environ["SUPERVISOR_COLLECT_ROOT"]
    found = []
    for item in session.items:
        path = str(getattr(item, "path", None) or item.fspath)
        inside = item.nodeid.partition("::")[2]
        found.append([os.path.relpath(path, root), inside])
    with open(os.environ["SUPERVISOR_COLLECT_INTO"], "w") as file:
        json.dump(found, file)
"""
MODULE = "supervisor_collects"
NOTHING_COLLECTED = 5
SHOWN_LINES = 40


def collect(root: Path, pytest: Sequence[str], args: Sequence[str], *, timeout: float) -> list[str]:
    """Node ids, their paths relative to the repository. pytest's own words go to stderr when it fails."""
    with tempfile.TemporaryDirectory(prefix="supervisor-collect-") as folder:
        (Path(folder) / f"{MODULE}.py").write_text(PLUGIN)
        into = Path(folder) / "collected.json"
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")])),
            "PYTHONDONTWRITEBYTECODE": "1",  # the checkout stays as clean as it was
            "SUPERVISOR_COLLECT_ROOT": str(root),
            "SUPERVISOR_COLLECT_INTO": str(into),
        }
        argv = [*pytest, "-p", MODULE, "-p", "no:cacheprovider", "--collect-only", "-q", *args]
        returned, said = _run(argv, root, environment, timeout)
        if returned == NOTHING_COLLECTED or (returned == 0 and not into.exists()):
            raise Refused("pytest collects no test there", hint=f"see what `{' '.join(pytest)} --collect-only` says")
        if returned != 0:
            print("\n".join(said.splitlines()[-SHOWN_LINES:]), file=sys.stderr)
            hint = "its own words are above; put right what they say"
            raise Refused(f"pytest can't collect (exit {returned})", hint=hint)
        collected = json.loads(into.read_text())
    ids = [f"{path}::{inside}" if inside else path for path, inside in collected]
    if outside := next((path for path, _ in collected if path.startswith("..")), None):
        hint = "submit tests of one repository at a time"
        raise Refused(f"{outside} is outside the repository {root}", hint=hint)
    return list(dict.fromkeys(ids))


def _run(argv: list[str], root: Path, environment: dict[str, str], timeout: float) -> tuple[int, str]:
    hint = '`pytest` of the profile says how it runs there, such as ["uv", "run", "pytest"]'
    try:
        ended = subprocess.run(
            argv,
            cwd=root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        why = "raise `test_timeout_seconds` of the profile, or see what its conftest waits for"
        raise Refused(f"pytest has not collected within {timeout:g} seconds", hint=why) from None
    except OSError as error:
        raise Refused(f"{argv[0]} can't be run: {error.strerror}", hint=hint) from None
    said = ended.stdout.decode(errors="replace")
    if "No module named pytest" in said:
        raise Refused(f"there is no pytest for {argv[0]}", hint=hint)
    return ended.returncode, said
