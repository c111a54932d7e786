"""Collects tests with the target's own pytest, with the rights of the user who submits.

A small plugin, on the Python path of that one run, writes the collected items to a file. pytest's screen output
depends on the target's options, and node ids can't be split reliably: a parameter may contain brackets and colons,
and an item that is not a Python function may have any name. So the plugin reads the items themselves.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from supervisor.cli import surroundings
from supervisor.cli.surroundings import Surroundings
from supervisor.errors import Refused

PLUGIN = """\
import json, os
import pytest

def of_function(item):
    function, inside = getattr(item, "originalname", None), item.nodeid.partition("::")[2]
    begin = ("::" + inside).find("::" + function + "[") if function and hasattr(item, "callspec") else -1
    return inside if begin < 0 else inside[:begin] + function

def of_class(item):
    outermost = next((node for node in item.listchain() if isinstance(node, pytest.Class)), None)
    return outermost and outermost.nodeid.partition("::")[2]

@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    # a run that only collects must leave no report files in the checkout
    for option in ("xmlpath", "htmlpath", "json_report", "report_log"):
        if getattr(config.option, option, None):
            setattr(config.option, option, None)
    config.option.log_file = os.devnull

def pytest_collection_finish(session):
    root = os.environ["SUPERVISOR_COLLECT_ROOT"]
    found = []
    for item in session.items:
        path = str(getattr(item, "path", None) or item.fspath)
        function = of_function(item)
        units = {
            "case": item.nodeid.partition("::")[2],
            "function": function,
            "class": of_class(item) or function,
            "file": "",
        }
        found.append([os.path.relpath(path, root), units])
    with open(os.environ["SUPERVISOR_COLLECT_INTO"], "w") as file:
        json.dump(found, file)
"""
MODULE = "supervisor_collects"
NOTHING_COLLECTED = 5
SHOWN_LINES = 40


@dataclass(frozen=True, slots=True)
class Collected:
    """One node id per job, its path relative to the repository, and the number of cases of each."""

    tests: list[str]
    cases: list[int]


def collect(
    root: Path,
    pytest: Sequence[str],
    args: Sequence[str],
    per: str,
    *,
    timeout: float,
    around: Surroundings | None = None,
) -> Collected:
    """One job `per` function, case, file or class. If pytest fails, the end of its output goes to stderr."""
    around = around or Surroundings(root)
    with tempfile.TemporaryDirectory(prefix="supervisor-collect-") as folder:
        (Path(folder) / f"{MODULE}.py").write_text(PLUGIN)
        into = Path(folder) / "collected.json"
        more = {"SUPERVISOR_COLLECT_INTO": str(into), **around.environment(Path(folder))}
        looking = ["-p", MODULE, "-p", surroundings.MODULE]
        argv = [*pytest, *looking, "-p", "no:cacheprovider", "--collect-only", "-q", *args]
        returned, said = run(argv, root, environment(Path(folder), root) | more, timeout, "finish collecting")
        if returned == NOTHING_COLLECTED or (returned == 0 and not into.exists()):
            raise Refused("pytest collected no tests", hint=f"try `{' '.join(pytest)} --collect-only`")
        if returned != 0:
            print("\n".join(said.splitlines()[-SHOWN_LINES:]), file=sys.stderr)
            hint = "fix the errors that pytest printed above"
            raise Refused(f"pytest failed to collect tests (exit {returned})", hint=hint)
        collected = json.loads(into.read_text())
        around.read(Path(folder))
    if outside := next((path for path, _ in collected if path.startswith("..")), None):
        hint = "submit tests of one repository at a time"
        raise Refused(f"{outside} is outside the repository {root}", hint=hint)
    items = [{unit: _id(path, inside) for unit, inside in units.items()} for path, units in collected]
    return grouped(items, per, frozenset(args))


def grouped(items: Sequence[dict[str, str]], per: str, named: Collection[str]) -> Collected:
    """A case that was named on the command line is its own job, unless other cases of its function are collected."""
    cases = {item["case"]: item for item in items}
    shared = {item[per] for case, item in cases.items() if case not in named}
    units = Counter(item[per] if item[per] in shared else case for case, item in cases.items())
    return Collected(list(units), list(units.values()))


def _id(path: str, inside: str) -> str:
    return f"{path}::{inside}" if inside else path


def environment(folder: Path, root: Path) -> dict[str, str]:
    """Of a run in a person's checkout; `folder` is temporary, and on its Python path."""
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")])),
        # Caches go to the temporary folder, so that the checkout stays unchanged.
        "PYTHONDONTWRITEBYTECODE": "1",
        "COVERAGE_FILE": str(folder / "coverage"),
        "HYPOTHESIS_STORAGE_DIRECTORY": str(folder / "hypothesis"),
        "SUPERVISOR_COLLECT_ROOT": str(root),
    }


def run(argv: list[str], root: Path, env: dict[str, str], timeout: float, what: str) -> tuple[int, str]:
    """The exit code and the output of pytest, within this time. Raises Refused if it can't be run."""
    hint = 'set `pytest` in the profile to the command that runs it there, such as ["uv", "run", "pytest"]'
    try:
        ended = subprocess.run(
            argv,
            cwd=root,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        why = "raise `test_timeout_seconds` in the profile, or check what conftest.py waits for"
        raise Refused(f"pytest did not {what} within {timeout:g} seconds", hint=why) from None
    except OSError as error:
        raise Refused(f"{argv[0]} can't be run: {error.strerror}", hint=hint) from None
    said = ended.stdout.decode(errors="replace")
    if "No module named pytest" in said:
        raise Refused(f"{argv[0]} has no pytest installed", hint=hint)
    return ended.returncode, said
