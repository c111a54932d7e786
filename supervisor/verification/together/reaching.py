"""What each test of a common run reached, by the notes of the probes, and whether a change matters to it.

Notes between two marks belong to the test of the first mark. What is noted before the first test, or while a fixture
of more than one test is set up, belongs to all of them.
"""

import json
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from supervisor.model.node import cases_of, file_of
from supervisor.verification.evidence.seen import MOST_BYTES, is_whole, noted, within
from supervisor.verification.evidence.seen import notes as notes_in
from supervisor.verification.together.touching import Touch
from supervisor.verification.tracing.traced import Traced

#: the name for what belongs to all tests
ALL = ""
#: in a note from which on all notes belong to another test
_MARK = b'"test"'


@dataclass(frozen=True, slots=True)
class Reached:
    #: lines of code by file, including those that only an import executes
    lines: Mapping[str, frozenset[int]] = field(default_factory=dict)
    #: files that were read, and programs of the repository that were started
    files: frozenset[str] = frozenset()
    #: folders that were listed by programs that take no notes
    folders: frozenset[str] = frozenset()
    #: its notes are incomplete: it started a program that takes none, or was itself not seen to run
    is_opaque: bool = False
    is_seen: bool = True

    def __or__(self, other: "Reached") -> "Reached":
        both = {
            path: self.lines.get(path, frozenset()) | other.lines.get(path, frozenset())
            for path in self.lines.keys() | other.lines.keys()
        }
        return Reached(
            both,
            self.files | other.files,
            self.folders | other.folders,
            self.is_opaque or other.is_opaque,
            self.is_seen and other.is_seen,
        )

    def notices(self, path: str, touched: Touch) -> bool:
        if touched.is_gone or (self.is_opaque and not _is_test_module(path)):
            return True
        if path in self.files or (touched.whole and path in self.lines):
            return True
        if path.rpartition("/")[0] in self.folders:
            return True
        return bool(touched.lines & self.lines.get(path, frozenset()))


def _is_test_module(path: str) -> bool:
    """Only pytest looks for such a file, and any test that does is seen."""
    name = path.rpartition("/")[2]
    return name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py"))


def notices(reached: Reached, change: Mapping[str, Touch]) -> bool:
    return any(reached.notices(path, touched) for path, touched in change.items())


def reached_by(notes: Mapping[str, Reached], nodes: Iterable[str]) -> Reached:
    """What these tests reach, or all tests of these files."""
    found = notes.get(ALL, Reached())
    for node in nodes:
        for each in cases_of(notes, node).values():
            found = found | each
    return found


def read_notes(folder: Path) -> dict[str, Reached]:
    """What was reached, by test. Blocking."""
    lines: defaultdict[str, defaultdict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    modules: defaultdict[str, defaultdict[str, set[frozenset[int]]]] = defaultdict(lambda: defaultdict(set))
    files: defaultdict[str, set[str]] = defaultdict(set)
    opaque: set[str] = set()
    #: interpreters that began to take notes, less those that were started
    watched: Counter[str] = Counter()
    imported: dict[tuple[int, ...], frozenset[int]] = {}
    test = ALL
    for note in notes_in(folder / "seen"):
        match note:
            case ["test", str(name)]:
                test = name
                lines[test]  # a test that reaches nothing was run, too
            case ["line", str(path), int(line), str()]:
                lines[test][path].add(line)
            case ["lines", str(path), list(spans)] if all(isinstance(each, int) for each in spans):
                # Each test imports the same modules: one set for all of them.
                if (key := tuple(spans)) not in imported:
                    imported[key] = frozenset(within(spans))
                modules[test][path].add(imported[key])
            case ["open" | "source", str(path)]:
                files[test].add(path)
            case ["run", str(path), str()]:
                files[test].add(path)
            case ["start", int(interpreters), *_]:
                watched[test] -= interpreters
                opaque |= {test} if interpreters < 0 else set()
            case ["began"]:
                watched[test] += 1
            case _:
                pass
    found = {}
    for name in lines.keys() | modules.keys() | files.keys():
        reached = _joined(lines[name], modules[name])
        is_seen = name == ALL or file_of(name) in reached
        is_opaque = name in opaque or watched[name] < 0 or not is_seen
        found[name] = Reached(reached, frozenset(files[name]), is_opaque=is_opaque, is_seen=is_seen)
    return found


def known(notes: Mapping[str, Reached], files: Traced) -> Mapping[str, Reached]:
    """With the files that programs without notes used, as the kernel reported them: any of these may have been used
    by each test that started such a program. Nothing is added if some files are unknown."""
    if files.lacks or files.unknown or files.interrupted:
        return notes
    noted = {path for each in notes.values() for path in each.lines}
    used = files.opened | files.moved | ((files.loaded | files.run | files.asked) - noted)
    return {
        test: replace(each, files=each.files | used, folders=files.listed, is_opaque=False)
        if each.is_opaque and each.is_seen
        else each
        for test, each in notes.items()
    }


def _joined(lines: Mapping[str, set[int]], modules: Mapping[str, set[frozenset[int]]]) -> dict[str, frozenset[int]]:
    found = {}
    for path in lines.keys() | modules.keys():
        own, imported = lines.get(path, ()), [*modules.get(path, ())]
        found[path] = imported[0] if len(imported) == 1 and not own else frozenset(own).union(*imported)
    return found


def split_notes(folder: Path, nodes: Iterable[str], into: Path) -> None:
    """Copies the notes of these tests into a folder of their own; none if the notes are incomplete. Blocking."""
    wanted, is_wanted = tuple(nodes), True
    into.mkdir(parents=True)
    if not is_whole(folder, MOST_BYTES):
        return
    with (into / "seen").open("wb") as written:
        for line in noted(folder / "seen"):
            if (name := _marked(line)) is not None:
                is_wanted = name == ALL or any(cases_of({name: None}, node) for node in wanted)
            elif is_wanted:
                written.write(line)
    if (folder / "asked").is_file():
        shutil.copy(folder / "asked", into)


def _marked(line: bytes) -> str | None:
    """The test whose notes follow."""
    if _MARK not in line[:64]:
        return None
    try:
        match json.loads(line):
            case ["test", str(name)]:
                return name
    except (ValueError, RecursionError):
        pass
    return None
