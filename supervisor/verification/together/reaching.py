"""What each test of a common run reached, by the notes of the probes, and whether a change matters to it.

Notes between two marks belong to the test of the first mark. What is noted before the first test, or while a fixture
of more than one test is set up, belongs to all of them.
"""

import json
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Set
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
    #: those of them that pytest itself executes, and not only programs that are started
    inside: Mapping[str, frozenset[int]] = field(default_factory=dict)
    #: files that were read, and programs of the repository that were started
    files: frozenset[str] = frozenset()
    #: folders that were listed by programs that take no notes
    folders: frozenset[str] = frozenset()
    #: its notes are incomplete: it started a program that takes none, or was itself not seen to run
    is_opaque: bool = False
    is_seen: bool = True

    def __or__(self, other: "Reached") -> "Reached":
        return Reached(
            _both(self.lines, other.lines),
            _both(self.inside, other.inside),
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

    def executes(self, path: str, touched: Touch) -> bool:
        """Whether pytest itself executes what differs there."""
        lines = self.inside.get(path, frozenset())
        return bool(lines) and (touched.is_gone or touched.whole or bool(touched.lines & lines))


def _both(one: Mapping[str, frozenset[int]], other: Mapping[str, frozenset[int]]) -> Mapping[str, frozenset[int]]:
    return {path: one.get(path, frozenset()) | other.get(path, frozenset()) for path in one.keys() | other.keys()}


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


class _Lines:
    """Lines of code, by test and file."""

    def __init__(self) -> None:
        self._lines: defaultdict[str, defaultdict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
        self._modules: defaultdict[str, defaultdict[str, set[frozenset[int]]]] = defaultdict(lambda: defaultdict(set))
        self._imported: dict[tuple[int, ...], frozenset[int]] = {}

    def add(self, test: str, path: str, line: int) -> None:
        self._lines[test][path].add(line)

    def import_(self, test: str, path: str, spans: list[int]) -> None:
        """Each test imports the same modules: one set for all of them."""
        if (key := tuple(spans)) not in self._imported:
            self._imported[key] = frozenset(within(spans))
        self._modules[test][path].add(self._imported[key])

    @property
    def tests(self) -> Set[str]:
        return self._lines.keys() | self._modules.keys()

    def of(self, test: str) -> dict[str, frozenset[int]]:
        found = {}
        lines: Mapping[str, set[int]] = self._lines.get(test, {})
        modules: Mapping[str, set[frozenset[int]]] = self._modules.get(test, {})
        for path in lines.keys() | modules.keys():
            own, imported = lines.get(path, ()), [*modules.get(path, ())]
            is_alike = len(imported) == 1 and not own
            found[path] = imported[0] if is_alike else frozenset(own).union(*imported)
        return found


def read_notes(folder: Path) -> dict[str, Reached]:
    """What was reached, by test. Blocking."""
    lines, inside = _Lines(), _Lines()
    files: defaultdict[str, set[str]] = defaultdict(set)
    opaque: set[str] = set()
    #: interpreters that began to take notes, less those that were started
    watched: Counter[str] = Counter()
    test = ALL
    for note in notes_in(folder / "seen"):
        match note:
            case ["test", str(name)]:
                test = name
                files[test]  # a test that reaches nothing was run, too
            case ["line", str(path), int(line), str(), *by]:
                for each in (lines, inside)[: 1 + bool(by)]:
                    each.add(test, path, line)
            case ["lines", str(path), list(spans), *by] if all(isinstance(each, int) for each in spans):
                for each in (lines, inside)[: 1 + bool(by)]:
                    each.import_(test, path, spans)
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
    for name in lines.tests | files.keys():
        reached = lines.of(name)
        is_seen = name == ALL or file_of(name) in reached
        is_opaque = name in opaque or watched[name] < 0 or not is_seen
        found[name] = Reached(reached, inside.of(name), frozenset(files[name]), is_opaque=is_opaque, is_seen=is_seen)
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
