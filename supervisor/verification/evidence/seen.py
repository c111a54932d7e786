"""What the probes in a run have noted: lines, files and programs of the repository, and who looked for hidden signs.

The code under trial runs beside the probes and may write any notes: their size is bounded, and only files of the
commit count. Notes that a test reached much prove nothing; catching faults does.
"""

import json
import os
import stat
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

#: of the notes about one test, and about all tests of a run
MAX_BYTES = 8 * 2**20
MOST_BYTES = 8 * MAX_BYTES
#: of a file
MOST_LINES = 100_000
MAX_ASKED = 200


@dataclass(frozen=True, slots=True)
class Sign:
    """Code looked for something that tells a test from a user's run."""

    what: str
    path: str
    line: int
    #: it was there, and was hidden
    was_hidden: bool


@dataclass(frozen=True, slots=True)
class Seen:
    #: lines within functions, or of a program's own module, by file
    lines: Mapping[str, frozenset[int]] = field(default_factory=dict)
    #: lines within functions that run while tests are collected, by file
    collecting: Mapping[str, frozenset[int]] = field(default_factory=dict)
    #: files whose code was imported, or run
    modules: frozenset[str] = frozenset()
    #: files that were read, code excluded
    opened: frozenset[str] = frozenset()
    #: programs that were started, and by which other program, or "itself"
    programs: Mapping[str, str] = field(default_factory=dict)
    asked: tuple[Sign, ...] = ()
    #: lines where a check failed though the test passed, by file
    unheard: Mapping[str, frozenset[int]] = field(default_factory=dict)
    #: the fixtures that it gets, and the files that they come from
    fixtures: Mapping[str, str] = field(default_factory=dict)
    #: `tool/cli.py: name`, where a function of the tests stands
    replaced: frozenset[str] = frozenset()
    #: functions that answer otherwise where nothing is tested: the file, the name, both answers
    otherwise: frozenset[tuple[str, str, str, str]] = frozenset()
    #: files for which that is not known
    not_again: frozenset[str] = frozenset()
    #: the notes are incomplete: longer than what is read, or gone
    is_cut: bool = False

    @property
    def runs(self) -> bool:
        """Whether something of the repository is executed, and not only imported."""
        return any(self.lines.values()) or bool(self.programs)

    def beside(self, other: "Seen") -> "Seen":
        """The same, with the files of both."""
        return replace(
            self,
            modules=self.modules | other.modules,
            opened=self.opened | other.opened,
            programs={**other.programs, **self.programs},
        )

    def only(self, files: frozenset[str]) -> "Seen":
        """Limited to these files; a program may also be one that was built, but not an interpreter."""
        return replace(
            self,
            lines={path: lines for path, lines in self.lines.items() if path in files},
            modules=self.modules & files,
            opened=self.opened & files,
            programs={path: how for path, how in self.programs.items() if path in files or _is_built(path)},
        )


_INTERPRETERS = ("python", "pip", "pytest", "py.test", "uv", "activate", "coverage", "tox", "ruff", "mypy")


def _is_built(path: str) -> bool:
    name = path.rpartition("/")[2]
    return "/bin/" in f"/{path}" and not name.startswith(_INTERPRETERS)


def read_seen(folder: Path) -> Seen:
    """Reads the notes of probes in a folder. Blocking."""
    #: by what is noted of them
    lines: defaultdict[str, defaultdict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    programs: dict[str, str] = {}
    fixtures: dict[str, str] = {}
    found: defaultdict[str, set[Any]] = defaultdict(set)
    for note in notes(folder / "seen"):
        match note:
            case ["line", str(path), int(line), str(kind), *_] if _is_inside(path):
                found["modules"].add(path)
                lines[kind][path].add(line)
            case ["lines", str(path), list(), *_] if _is_inside(path):
                found["modules"].add(path)
            case ["open", str(path)] if _is_inside(path):
                found["opened"].add(path)
            case ["run", str(path), str(how)] if _is_inside(path):
                programs.setdefault(path, how)
            case ["loaded", str(path)] if _is_inside(path):
                found["modules"].add(path)
            case ["unheard", str(path), int(line)] if _is_inside(path):
                lines["unheard"][path].add(line)
            case ["fixture", str(name), str(place)]:
                fixtures[name[:100]] = place[:300]
            case ["replaced", str(path), str(name)] if _is_inside(path):
                found["replaced"].add(f"{path}: {name[:100]}")
            case ["otherwise", str(path), str(name), str(tested), str(other)] if _is_inside(path):
                found["otherwise"].add((path, name[:100], tested[:100], other[:100]))
            case ["not again", str(path)] if _is_inside(path):
                found["not_again"].add(path)
    return Seen(
        lines=_frozen(lines["body"]),
        collecting=_frozen(lines["collecting"]),
        programs=programs,
        asked=tuple(_asked(folder))[:MAX_ASKED],
        unheard=_frozen(lines["unheard"]),
        fixtures=fixtures,
        is_cut=not is_whole(folder),
        **{name: frozenset(each) for name, each in found.items()},
    )


def _frozen(lines: Mapping[str, set[int]]) -> dict[str, frozenset[int]]:
    return {path: frozenset(found) for path, found in lines.items()}


def _is_inside(path: str) -> bool:
    return not path.startswith("/") and ".." not in path.split("/") and "\0" not in path and len(path) < 1000


def _asked(folder: Path) -> Iterator[Sign]:
    known = set()
    for note in notes(folder / "asked"):
        match note:
            case [str(what), str(path), int(line), bool(was_hidden)]:
                sign = Sign(what[:100], path[:300], line, was_hidden)
                if sign not in known:
                    known.add(sign)
                    yield sign


def is_whole(folder: Path, most: int = MAX_BYTES) -> bool:
    """Whether the notes there are at most so long, and read completely; only `asked` may be missing. Blocking."""
    sizes = {name: _size(folder / name) for name in ("seen", "asked")}
    return sizes["seen"] > 0 and max(sizes.values()) <= most


def _size(file: Path) -> int:
    """-1: it is not a regular file."""
    try:
        found = file.lstat()
    except OSError:
        return -1
    return found.st_size if stat.S_ISREG(found.st_mode) else -1


def notes(file: Path) -> Iterator[list[Any]]:
    """Skips lines that are not notes. Blocking."""
    for line in noted(file):
        try:
            note = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(note, list):
            yield note


def noted(file: Path) -> Iterator[bytes]:
    """The lines of a file of notes. Blocking."""
    if _size(file) < 0:
        return
    left = MOST_BYTES
    try:
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as opened:
            while left > 0 and (line := opened.readline(left)):
                left -= len(line)
                yield line
    except OSError:
        return


def within(spans: list[Any]) -> Iterator[int]:
    """The lines of these spans; nothing of what is none."""
    for first, last in zip(spans[::2], spans[1::2], strict=False):
        if isinstance(first, int) and isinstance(last, int) and 0 < first <= last < MOST_LINES:
            yield from range(first, last + 1)


def ranges(path: str, lines: frozenset[int] | set[int]) -> list[str]:
    """`tool/cli.py:10-14`, as people name places."""
    found: list[list[int]] = []
    for line in sorted(lines):
        if found and line <= found[-1][1] + 1:
            found[-1][1] = line
        else:
            found.append([line, line])
    return [f"{path}:{a}" if a == b else f"{path}:{a}-{b}" for a, b in found]
