"""Many faults in one run: pytest forks for each, so that a test finds its own fault and nothing that others left.

`probes/forking.py` is the plugin that does it, with `probes/imported.py`. A fault that it can't try in a fork is not
in its report.
"""

from collections.abc import Iterable
from typing import NamedTuple

from supervisor.verification.evidence.laying import Contents
from supervisor.verification.evidence.probes import source

_FORKING, _IMPORTED = "_forking_probe", "_imported_probe"
#: larger plans take too long to read
MOST_BYTES = 2**23
_NONE, _NEVER = "FAULTS: Any = ()", "SECONDS = 0.0"
_MODES = {"file": 0o644, "program": 0o755}


class InFork(NamedTuple):
    """A test with a fault."""

    node: str
    #: its time limit
    seconds: float
    contents: Contents


def can_be_forked(contents: Contents) -> bool:
    return bool(contents) and all(each is None or each.kind in _MODES for each in contents.values())


def size_of(contents: Contents) -> int:
    return sum(len(each.data) for each in contents.values() if each is not None)


def forking(faults: Iterable[InFork], seconds: float) -> dict[str, str]:
    """The plugins that try them, and report each by its number; `seconds`: the time limit of them all."""
    told = [
        (number, node, limit, {path: each and (each.data, _MODES[each.kind]) for path, each in contents.items()})
        for number, (node, limit, contents) in enumerate(faults)
    ]
    plugin = source("forking").replace(_NONE, f"FAULTS: Any = {told!r}").replace(_NEVER, f"SECONDS = {seconds!r}")
    return {_FORKING: plugin, _IMPORTED: source("imported")}
