"""What a keeper has noted of the files that its program, and all that came of it, opened, executed or looked for."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: of what is told
_MOST_BYTES = 2**26
_NOT_TOLD = "who notes its files did not say what they are"


@dataclass(frozen=True, slots=True)
class Trace:
    """What is to be noted in a run."""

    #: the checkout: only what lies in it is of interest
    root: Path
    #: a process that looks for this file notes for itself which code it runs
    marker: str = "/nonexistent/notes-for-itself"


@dataclass(frozen=True, slots=True)
class Traced:
    """Paths relative to the checkout; what is there and what is not, and what the program has made itself."""

    #: read or executed, and links that lead to such
    opened: frozenset[str] = frozenset()
    #: of these, the ones that were executed
    run: frozenset[str] = frozenset()
    #: folders
    listed: frozenset[str] = frozenset()
    #: looked for, by name
    asked: frozenset[str] = frozenset()
    #: files and folders that got another name
    moved: frozenset[str] = frozenset()
    #: of all these, the ones that were there before the run
    there: frozenset[str] = frozenset()
    #: why not all was noted; "": all was
    unknown: str = ""

    @property
    def paths(self) -> frozenset[str]:
        return self.opened | self.listed | self.asked | self.moved


NOTHING = Traced(unknown="no files were noted")


@dataclass(slots=True)
class Told:
    """Where a keeper writes what it has noted: memory of ours, that no program finds."""

    trace: Trace
    number: int
    _heard: list[Traced] = field(default_factory=list)

    @property
    def plan(self) -> dict[str, Any]:
        """For the keeper."""
        return {"root": str(self.trace.root), "marker": self.trace.marker, "notes": self.number}

    def read(self) -> Traced:
        """Blocking."""
        return _read(os.pread(self.number, _MOST_BYTES, 0))


@contextmanager
def told(trace: Trace | None) -> Iterator[Told | None]:
    if trace is None:
        yield None
        return
    number = os.memfd_create("notes")
    try:
        yield Told(trace, number)
    finally:
        os.close(number)


def _read(data: bytes) -> Traced:
    if not data:
        return Traced(unknown=_NOT_TOLD)
    said = json.loads(data)
    by_kind: dict[str, set[str]] = {}
    for kind, path in said["notes"]:
        by_kind.setdefault(kind, set()).add(path)

    def of(*kinds: str) -> frozenset[str]:
        return frozenset().union(*(by_kind.get(each, set()) for each in kinds))

    return Traced(
        opened=of("open", "run"),
        run=of("run"),
        listed=of("list"),
        asked=of("asked"),
        moved=of("moved"),
        unknown=said["unknown"],
    )
