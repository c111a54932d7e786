"""Reads what an agent's commits change, for policy to judge. Blocking: run it in a thread."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import pygit2

from supervisor.model.change import Change
from supervisor.model.node import file_of
from supervisor.publication.changes import read_changes
from supervisor.verification.rules.judged import Base, FileChange
from supervisor.verification.rules.reading import TOO_LARGE

#: a larger file is judged by its name only; a test file of that size can't be read, and is refused
MAX_TEXT = 2**20
#: at most so many modules of a repository are listed
MOST_MODULES = 20_000


@dataclass(frozen=True, slots=True)
class Changes:
    commits: tuple[Change, ...]
    files: tuple[FileChange, ...]
    base: Base = field(default_factory=Base)


def read_work(bare: Path, base: str, head: str, job: int, test: str = "") -> Changes:
    """Reads each commit, the change of each file by all of them together, and the base."""
    repo = pygit2.Repository(str(bare))
    before, after = repo[base].peel(pygit2.Tree), repo[head].peel(pygit2.Tree)
    diff = before.diff_to_tree(after)
    paths = {path for delta in diff.deltas for path in (delta.old_file.path, delta.new_file.path)}
    files = tuple(
        FileChange(path, _text(before, path), _text(after, path), _mode(before, path), _mode(after, path))
        for path in sorted(paths)
    )
    own = _text(before, file_of(test)) if test else None
    known = frozenset(islice(_modules(before), MOST_MODULES))
    return Changes(read_changes(bare, base, head, job), files, Base(own or "", known))


def _modules(tree: pygit2.Tree, folder: str = "") -> Iterator[str]:
    for entry in tree:
        if isinstance(entry, pygit2.Tree):
            yield from _modules(entry, f"{folder}{entry.name}/")
        elif (entry.name or "").endswith(".py"):
            yield f"{folder}{entry.name}"


def _mode(tree: pygit2.Tree, path: str) -> int:
    try:
        return int(tree[path].filemode)
    except KeyError:
        return 0


def _text(tree: pygit2.Tree, path: str) -> str | None:
    try:
        found = tree[path]
    except KeyError:
        return None
    if not isinstance(found, pygit2.Blob):
        return ""
    return TOO_LARGE if found.size > MAX_TEXT else found.data.decode(errors="replace")
