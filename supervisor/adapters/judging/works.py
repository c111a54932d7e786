"""Reads what an agent's commits change, for policy to judge. Blocking: run it in a thread."""

from dataclasses import dataclass
from pathlib import Path

import pygit2

from supervisor.adapters.git.changes import read_changes
from supervisor.flow.integration.work import Change
from supervisor.flow.policy import FileChange

#: a larger text is judged by its name only; as a file of tests it can't be read, and is refused
MAX_TEXT = 2**20
TOO_LARGE = "(too large to be judged"


@dataclass(frozen=True, slots=True)
class Changes:
    commits: tuple[Change, ...]
    files: tuple[FileChange, ...]


def read_work(bare: Path, base: str, head: str, job: int) -> Changes:
    """Each commit, and what all of them together make of each file."""
    repo = pygit2.Repository(str(bare))
    before, after = repo[base].peel(pygit2.Tree), repo[head].peel(pygit2.Tree)
    diff = before.diff_to_tree(after)
    paths = {path for delta in diff.deltas for path in (delta.old_file.path, delta.new_file.path)}
    files = (FileChange(path, _text(before, path), _text(after, path)) for path in sorted(paths))
    return Changes(read_changes(bare, base, head, job), tuple(files))


def _text(tree: pygit2.Tree, path: str) -> str | None:
    try:
        found = tree[path]
    except KeyError:
        return None
    if not isinstance(found, pygit2.Blob):
        return ""
    return TOO_LARGE if found.size > MAX_TEXT else found.data.decode(errors="replace")
