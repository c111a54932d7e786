"""The notes of a keeper: the files that its program and all descendants of it opened, executed or looked for.

A program without walls, with its keeper's rights, may write there as well. So the notes are bounded, and believed
only as far as the program itself, which may hide what it does in other ways.
"""

import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

#: of the notes
_MOST_BYTES = 2**26
_NOT_TOLD = "who notes its files did not say what they are"


@dataclass(frozen=True, slots=True)
class Trace:
    """What is to be noted in a run."""

    #: the checkout: only files inside it are noted
    root: Path
    #: a process that looks for this file notes by itself which code it runs
    marker: str = "/notes-for-itself"


@dataclass(frozen=True, slots=True)
class Traced:
    """Paths relative to the checkout, whether or not a file exists there: a program may read what it wrote itself."""

    #: files that were read, and links that were followed
    opened: frozenset[str] = frozenset()
    #: the same, by a process that notes which code it runs: one of them may be its script
    loaded: frozenset[str] = frozenset()
    #: programs
    run: frozenset[str] = frozenset()
    #: folders
    listed: frozenset[str] = frozenset()
    #: looked for, by name
    asked: frozenset[str] = frozenset()
    #: files and folders that were renamed or linked
    moved: frozenset[str] = frozenset()
    #: of what was read, executed or moved: what was there before the run
    there: frozenset[str] = frozenset()
    #: why the notes are incomplete; "": they are complete
    unknown: str = ""
    #: how many calls were ended by a signal before they could be noted; they may have been repeated
    interrupted: int = 0
    #: why nothing was noted at all
    lacks: str = ""

    @property
    def read(self) -> frozenset[str]:
        return self.opened | self.loaded | self.run | self.moved

    def beside(self, before: Path) -> "Traced":
        """With `there` filled in. `before`: the checkout as it was. Blocking."""
        return replace(self, there=frozenset(each for each in self.read if os.path.lexists(before / each)))


NOTHING = Traced(lacks="no files were noted")


class _Said(msgspec.Struct):
    lacks: str
    unknown: str
    interrupted: int
    notes: list[tuple[str, str]]


@dataclass(slots=True)
class Told:
    """Where a keeper writes its notes: memory of ours that no program finds."""

    trace: Trace
    number: int

    @property
    def plan(self) -> dict[str, Any]:
        """For the keeper."""
        return {"root": str(self.trace.root), "marker": self.trace.marker, "notes": self.number}

    def read(self) -> Traced:
        """Blocking."""
        return _read(os.pread(self.number, _MOST_BYTES, 0))


@contextmanager
def told(trace: Trace) -> Iterator[Told]:
    number = os.memfd_create("notes")
    try:
        yield Told(trace, number)
    finally:
        os.close(number)


def _read(data: bytes) -> Traced:
    try:
        said = msgspec.json.decode(data, type=_Said)
    except msgspec.MsgspecError:
        return Traced(lacks=_NOT_TOLD)
    by_kind: defaultdict[str, set[str]] = defaultdict(set)
    for kind, path in said.notes:
        by_kind[kind].add(path)
    return Traced(
        opened=frozenset(by_kind["open"]),
        loaded=frozenset(by_kind["loaded"]),
        run=frozenset(by_kind["run"]),
        listed=frozenset(by_kind["list"]),
        asked=frozenset(by_kind["asked"]),
        moved=frozenset(by_kind["moved"]),
        unknown=said.unknown,
        interrupted=said.interrupted,
        lacks=said.lacks,
    )
