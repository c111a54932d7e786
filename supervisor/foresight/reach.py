"""What a test reached when it was last run for us, and whether any of that has changed.

The unknown counts as changed: a program that could not be watched, a file that was not there.
"""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import PurePosixPath
from typing import Protocol

from supervisor.foresight.functions import MODULE
from supervisor.foresight.functions import digest as digest_of

#: the digest of a function or file that does not exist
ABSENT = ""

#: files that decide how tests are run, or what is installed; they matter at the root and above the test
SETTINGS = (
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
    "pytest.ini",
    ".pytest.ini",
    "pytest.toml",
    "tox.ini",
    "conftest.py",
    "requirements*.txt",
    "*.lock",
    "package-lock.json",
    "pnpm-lock.yaml",
    "go.sum",
)


class Code(Protocol):
    """A commit, as far as this module needs it."""

    def functions(self, path: str) -> Mapping[str, str]:
        """The digests of a Python file's functions; none: there is no such file."""
        ...

    def file(self, path: str) -> str:
        """The digest of a file; ABSENT: there is none."""
        ...

    def look(self, path: str) -> str:
        """What a path shows without being opened: the kind and size of what is there; ABSENT: nothing is there."""
        ...

    @property
    def names(self) -> Set[str]:
        """The paths of all files."""
        ...

    def blocks(self, tutorial: str) -> Set[str]:
        """The digests of a tutorial's blocks."""
        ...


@dataclass(frozen=True, slots=True)
class Reached:
    """What one test reached in one run."""

    test: str
    #: digests of functions, by file and qualified name
    functions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    #: digests of files that were read, and of those that decide how the test runs
    files: Mapping[str, str] = field(default_factory=dict)
    #: digests of the names in folders that were listed
    listed: Mapping[str, str] = field(default_factory=dict)
    #: what was seen of files and folders that were looked for but not read
    asked: Mapping[str, str] = field(default_factory=dict)
    #: modules that were looked for
    imported: tuple[str, ...] = ()
    #: by tutorial, the digests of the blocks that the test cites
    blocks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: why not everything that it did was seen; "": everything was
    unknown: str = ""


def changed(reached: Reached, now: Code, then: Code | None = None) -> str:
    """What the test reached that has changed since it was run, in `now` or in `then`; "": nothing.

    With `then`, what was reached must be there as it was run; otherwise it is not known what is reached now."""
    if reached.unknown:
        return f"what it reaches is not known: {reached.unknown}"
    if found := _differing(reached, now):
        return f"{found} changed"
    if then is None:
        return ""
    return f"{found} changed" if (found := _differing(reached, then)) else ""


def _differing(reached: Reached, now: Code) -> str:
    for path, functions in reached.functions.items():
        found = now.functions(path)
        for name, digest in functions.items():
            if found.get(name, ABSENT) != digest:
                return f"{path}::{name}" if name != MODULE else path
    for path, digest in reached.files.items():
        if now.file(path) != digest:
            return path
    for path, seen in reached.asked.items():
        if now.look(path) != seen:
            return path
    for tutorial, blocks in reached.blocks.items():
        if not set(blocks) <= now.blocks(tutorial):
            return f"a block of {tutorial} that it cites"
    return _new(reached, now)


def _new(reached: Reached, now: Code) -> str:
    """A file that was not there when the test was run, and would have been used."""
    for folder, digest in reached.listed.items():
        if listing(folder, now.names) != digest:
            return f"what is in {folder or 'the root'}"
    known = reached.functions.keys() | reached.files.keys()
    for path in settings_of(reached.test, now.names):
        if path not in known:
            return path
    looked_for = set(reached.imported)
    for path in now.names:
        if path.endswith(".py") and path not in known and not looked_for.isdisjoint(modules_of(path)):
            return path
    return ""


def settings_of(test: str, names: Iterable[str]) -> list[str]:
    """The files that decide how the test is run."""
    above = {str(folder) for folder in PurePosixPath(test.partition("::")[0]).parents}
    return [
        path
        for path in names
        if str(PurePosixPath(path).parent) in above
        and any(fnmatch(PurePosixPath(path).name, pattern) for pattern in SETTINGS)
    ]


def modules_of(path: str) -> set[str]:
    """The names that a Python file may be imported by: of `a/b.py`, `a.b` and `b`."""
    parts = list(PurePosixPath(path).with_suffix("").parts)
    if parts[-1] == "__init__":
        parts.pop()
    return {".".join(parts[begin:]) for begin in range(len(parts))}


def listing(folder: str, names: Iterable[str]) -> str:
    """A digest of what is in a folder, by name."""
    prefix = f"{folder}/" if folder else ""
    inside = {name[len(prefix) :].partition("/")[0] for name in names if name.startswith(prefix)}
    return digest_of("\0".join(sorted(inside)).encode(errors="surrogateescape"))
