"""Sorts the files that a run opened, by the commit that it ran at.

Of a file that is not in the commit only its absence is known: the run itself made it, from files that it opened, or
the next commit may have it. If such a file was there before the run, a setup made it from unknown sources, unless it
belongs to an environment, such as `.venv`: lock files stand for those.
"""

from collections.abc import Set
from dataclasses import dataclass

from supervisor.verification.reached.commit import Commit
from supervisor.verification.tracing.traced import Traced

#: folders that hold what was installed
ENVIRONMENTS = frozenset((".venv", "venv", "node_modules", "site-packages", "__pycache__", ".tox", ".nox"))
_METADATA = (".egg-info", ".dist-info")
#: marks an environment of Python's, whatever its name is
_ITS_FILE = "/pyvenv.cfg"
_HISTORY = ".git"
MOST_ASKED = 20_000


@dataclass(frozen=True, slots=True)
class Files:
    #: files of the commit whose whole content matters
    read: Set[str] = frozenset()
    listed: Set[str] = frozenset()
    #: paths of which it matters whether they exist and what they look like (`Commit.look`)
    asked: Set[str] = frozenset()
    #: why they are not all known
    unknown: str = ""


def files_of(traced: Traced, commit: Commit, noted: Set[str]) -> Files:
    """`noted`: files whose executed functions are known."""
    names = commit.names
    read = (traced.opened | ((traced.loaded | traced.run) - noted)) & names | _within(traced.moved, names)
    environments = {path.removesuffix(_ITS_FILE) for path in traced.read & traced.there if path.endswith(_ITS_FILE)}
    others = {path for path in (traced.asked | traced.read) - names if not _is_other(path, environments)}
    asked = others | ((((traced.asked - read) | traced.run) - noted) & names)
    made = sorted(others & traced.read & traced.there)
    unknown = traced.unknown or ("signals kept some of its files from being noted" if traced.interrupted else "")
    unknown = unknown or (f"it uses {made[0]}, which is not in the commit" if made else "")
    if any(path == _HISTORY or path.startswith(f"{_HISTORY}/") for path in traced.read):
        unknown = unknown or "it reads the repository's history"
    if not unknown and len(asked) > MOST_ASKED:
        unknown = f"it looks for more than {MOST_ASKED} files"
    return Files(read, traced.listed, asked, unknown)


def _within(moved: Set[str], names: Set[str]) -> Set[str]:
    return {name for name in names if any(name == path or name.startswith(f"{path}/") for path in moved)}


def _is_other(path: str, environments: Set[str]) -> bool:
    """An environment, what belongs to one, or the history."""
    parts = path.split("/")
    is_known = parts[0] == _HISTORY or any(each in ENVIRONMENTS or each.endswith(_METADATA) for each in parts)
    return is_known or any(path.startswith(f"{each}/") for each in environments)
