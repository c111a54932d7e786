"""Looks whether what was picked is still there at the end, and whether it can be taken back. Blocking."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

import pygit2

from supervisor.adapters.git.merging import Merger
from supervisor.adapters.git.trees import Edit, edits_between
from supervisor.model.change import Change

MOST_PATHS, MOST_NAMED, MOST_LINE = 5, 3, 80
#: what stands where a package begins
MARKERS = ("pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini", "package.json", "Cargo.toml", "go.mod")


def replaced(
    merger: Merger, base: pygit2.Tree, brought: pygit2.Tree, final: pygit2.Tree, others: Sequence[Change]
) -> Iterator[str]:
    """Sentences on what work brings to the base and the final tree has not; none if picking it changes nothing more.
    `others` touch the same files."""
    if merger.holds(base, final, brought):
        return
    edits = list(edits_between(base, brought))
    gone = [edit for edit in edits if not merger.holds(base, final, merger.with_paths(base, brought, [edit.path]))]
    for edit in (gone or edits)[:MOST_PATHS]:
        rivals = [f"{each.sha[:12]} of job {each.job}" for each in others if edit.path in each.paths]
        whose = f", because of {', '.join(rivals[:MOST_NAMED])}" if rivals else ""
        yield f"not all of its work on {edit.path} is on the branch as it was{whose}: {_what(merger, edit, final)}"


def _what(merger: Merger, edit: Edit, final: pygit2.Tree) -> str:
    there = _text(merger, final, edit.path)
    if edit.new is None:
        return "the file is there again"
    if there is None:
        return "the file has gone, or has another name"
    known = set(there)
    missing = [line for line in added(merger, edit) if line not in known]
    if not missing:
        return "what it takes away is there again, or its lines stand elsewhere"
    more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
    return f"`{shown(missing[0])}`{more} {'are' if more else 'is'} missing"


def added(merger: Merger, edit: Edit) -> list[bytes]:
    """The lines that an edit adds, without their indentation; blank ones don't count."""
    old, new = (merger.repo.get(entry.id) if entry else None for entry in (edit.old, edit.new))
    if not isinstance(new, pygit2.Blob) or new.is_binary:
        return []
    if not isinstance(old, pygit2.Blob) or old.is_binary:
        return [line.strip() for line in new.data.splitlines() if line.strip()]
    lines = [line.raw_content for hunk in old.diff(new).hunks for line in hunk.lines if line.origin == "+"]
    return [line.strip() for line in lines if line.strip()]


def shown(line: bytes) -> str:
    text = "".join(char if char.isprintable() and char != "`" else "?" for char in line.decode(errors="replace"))
    return text if len(text) <= MOST_LINE else text[: MOST_LINE - 1] + "…"


def _text(merger: Merger, tree: pygit2.Tree, path: str) -> list[bytes] | None:
    try:
        found = tree[path]
    except KeyError:
        return None
    return [line.strip() for line in found.data.splitlines()] if isinstance(found, pygit2.Blob) else None


def packages(bare: Path, sha: str, paths: Iterable[str]) -> tuple[str, ...]:
    """The folders of the packages that these files are of; () where one is of the repository as a whole."""
    tree = pygit2.Repository(str(bare))[sha].peel(pygit2.Tree)
    found = dict.fromkeys(_package(tree, path) for path in sorted(paths))
    return () if "" in found else tuple(found)


def _package(tree: pygit2.Tree, path: str) -> str:
    folders = [str(folder) for folder in PurePosixPath(path).parents if str(folder) != "."]
    return next((each for each in folders if any(f"{each}/{marker}" in tree for marker in MARKERS)), "")


def held_back(bare: Path, commits: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Of the commits of a branch, in their order: those that can't be reverted alone, with the paths where what came
    later stands on them."""
    if not commits:
        return {}
    merger = Merger(pygit2.Repository(str(bare)))
    head = merger.commit_of(commits[-1]).tree
    found = {}
    for sha in commits:
        commit = merger.commit_of(sha)
        undone = merger.merged(commit.tree, head, commit.parents[0].tree)
        if undone.conflicts:
            found[sha] = undone.conflicts
    return found
