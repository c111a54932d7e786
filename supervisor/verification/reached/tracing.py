"""What one run of one test reached, by its probes' notes, the kernel's trace of files, and the commit. Blocking.

Probes know which functions of Python code were executed. For all else the opened files count, by programs in any
language, if all of them are known; otherwise a program that is not Python makes what the test reached unknown.

The test shares its process with the probes, so a cheating test may hide what it reaches; then its own next job is
skipped once too often, and the selector's audit finds it.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from supervisor.e2e.tutorial.blocks import parse
from supervisor.e2e.tutorial.citations import read_tests
from supervisor.e2e.tutorial.matching import Matcher
from supervisor.foresight.reach import Reached, listing, settings_of
from supervisor.model.node import file_of, function_of
from supervisor.verification.evidence.seen import notes, within
from supervisor.verification.reached.commit import Commit, block_digest
from supervisor.verification.reached.files import Files, files_of
from supervisor.verification.tracing.traced import NOTHING, Traced

MOST_IMPORTS = 20_000


@dataclass(slots=True)
class _Notes:
    lines: defaultdict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    files: set[str] = field(default_factory=set)
    #: files named by the words of a command, which may be programs
    programs: set[str] = field(default_factory=set)
    folders: set[str] = field(default_factory=set)
    imports: set[str] = field(default_factory=set)
    #: interpreters that began to take notes, less those that were started
    watched: int = 0
    #: a program that takes no notes
    opaque: str = ""

    @property
    def unwatched(self) -> str:
        """Why the notes of probes alone are incomplete."""
        return self.opaque or ("a program that it starts was not watched" if self.watched < 0 else "")

    def take(self, note: list[object], *, is_begun: bool) -> None:
        match note:
            case ["line", str(path), int(line), str(), *_]:
                self.lines[path].add(line)
            case ["lines", str(path), list(spans), *_]:
                self.lines[path].update(within(spans))
            case ["open" | "source", str(path), *_]:
                self.files.add(path)
            case ["run", str(path), *_]:
                self.programs.add(path)
            case ["list", str(path)]:
                self.folders.add(path)
            case ["import", str(name)] if len(self.imports) < MOST_IMPORTS:
                self.imports.add(name)
            case ["began"] if is_begun:
                self.watched += 1
            case ["start", int(interpreters), *named]:
                self.watched -= interpreters
                if interpreters < 0:
                    self.opaque = f"it starts {named[0] if named else 'a program'}, which can't be watched"


def traced(folder: Path, test: str, commit: Commit, files: Traced = NOTHING) -> Reached:
    """`folder` has the notes of a run of this test alone; `files` are those that it opened, by the kernel's trace."""
    found, is_begun = _Notes(), False
    for note in notes(folder / "seen"):
        is_begun = is_begun or (note[:1] == ["test"] and note[1:] != [""])
        found.take(note, is_begun=is_begun)
    functions: defaultdict[str, dict[str, str]] = defaultdict(dict)
    if files.lacks:
        opened = Files((found.programs & commit.names) - found.lines.keys(), unknown=found.unwatched)
    else:
        opened = files_of(files, commit, found.lines.keys())
    unknown = opened.unknown
    if file_of(test) not in found.lines:
        unknown = "it was not seen to run"
    for path, lines in found.lines.items():
        if (code := commit.code(path)) is None:
            unknown = unknown or f"it runs {path}, which is not in the commit"
            continue
        for line in lines:
            part = code.at(line)
            functions[path][part.name] = part.digest
    names = commit.names
    read = (((found.files | set(settings_of(test, names))) & names) - functions.keys()) | opened.read
    listed = found.folders | opened.listed
    return Reached(
        test,
        {path: dict(sorted(parts.items())) for path, parts in sorted(functions.items())},
        {path: commit.file(path) for path in sorted(read)},
        {folder: listing(folder, names) for folder in sorted(listed) if _is_kept(folder, commit)},
        {path: commit.look(path) for path in sorted(opened.asked)},
        tuple(sorted(found.imports)),
        _cited(test, commit),
        unknown,
    )


def _is_kept(folder: str, commit: Commit) -> bool:
    return not folder or any(name.startswith(f"{folder}/") for name in commit.names)


def _cited(test: str, commit: Commit) -> dict[str, tuple[str, ...]]:
    """The blocks that it cites, by tutorial."""
    source = commit.read(file_of(test))
    try:
        tests = read_tests((source or b"").decode(), file_of(test))
    except (SyntaxError, ValueError, RecursionError):
        return {}
    own = [each for each in tests if function_of(test) in (each.id, file_of(test)) or each.id.startswith(f"{test}::")]
    found = {}
    for path in (
        sorted(name for name in commit.names if _is_tutorial(name)) if any(each.citations for each in own) else ()
    ):
        matcher = Matcher(parse((commit.read(path) or b"").decode(errors="replace")).blocks)
        blocks = {block.key for each in own for citation in each.citations for block in matcher.blocks_of(citation)}
        if blocks:
            found[path] = tuple(sorted(map(block_digest, blocks)))
    return found


def _is_tutorial(path: str) -> bool:
    return path.endswith(".sh") and "tutorial" in PurePosixPath(path).name
