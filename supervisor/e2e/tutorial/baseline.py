"""A baseline: a file of the gaps that existed when the check was adopted. It may only shrink."""

import json
from pathlib import Path

from supervisor.e2e.tutorial.check import Allowed, Report


class BadBaseline(Exception):
    """The file is not a baseline."""


def load(path: Path) -> Allowed:
    """A missing file allows nothing."""
    if not path.exists():
        return Allowed()
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return Allowed(_names(data["uncited"]), _names(data["uncited_tests"]))
    except (ValueError, KeyError, TypeError) as problem:
        raise BadBaseline(f"{path} is not a baseline: {problem!r}") from problem


def _names(data: object) -> frozenset[str]:
    if not isinstance(data, list) or not all(isinstance(name, str) for name in data):
        raise TypeError("names must be strings")
    return frozenset(data)


def save(path: Path, allowed: Allowed) -> None:
    data = {"uncited": sorted(allowed.blocks), "uncited_tests": sorted(allowed.tests)}
    path.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")


def gaps(report: Report) -> Allowed:
    """The gaps that a baseline would have to allow for the check to pass."""
    return Allowed(
        frozenset(block.id for block in report.uncited), frozenset(test.id for test in report.uncited_tests)
    )


def shrunk(allowed: Allowed, now: Allowed) -> Allowed:
    """The entries of a baseline that are still needed."""
    return Allowed(allowed.blocks & now.blocks, allowed.tests & now.tests)
