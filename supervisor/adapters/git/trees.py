"""Compares and edits trees in memory; equal subtrees, and those that no path leads through, cost nothing."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pygit2
from pygit2.enums import FileMode

_RAW_ENTRY = re.compile(rb"(\d+) ([^\0]+)\0(.{20})", re.DOTALL)


class Entry(NamedTuple):
    id: pygit2.Oid
    mode: int


class Edit(NamedTuple):
    """The change of one path; None on a side where it does not exist."""

    path: str
    old: Entry | None
    new: Entry | None


class Blocked(Exception):
    """A file stands where a path needs a folder."""


def entry_at(tree: pygit2.Tree, path: str) -> Entry | None:
    *folders, name = path.split("/")
    for folder in folders:
        if folder not in tree:
            return None
        below = tree[folder]
        if not isinstance(below, pygit2.Tree):
            raise Blocked
        tree = below
    return Entry(tree[name].id, tree[name].filemode) if name in tree else None


def edits_between(old: pygit2.Tree | None, new: pygit2.Tree | None, folder: str = "") -> Iterator[Edit]:
    """The files that differ, by path. A rename is a removal and an addition; so is a file that becomes a folder."""
    differing = {name for _, name, _ in _lines(old) ^ _lines(new)}
    for name in sorted(raw.decode(errors="surrogateescape") for raw in differing):
        path = f"{folder}{name}"
        one, other = (tree[name] if tree is not None and name in tree else None for tree in (old, new))
        if (was := _file(one)) != (becomes := _file(other)):
            yield Edit(path, was, becomes)
        before, after = (found if isinstance(found, pygit2.Tree) else None for found in (one, other))
        if before is not None or after is not None:
            yield from edits_between(before, after, f"{path}/")


def _lines(tree: pygit2.Tree | None) -> set[tuple[bytes, bytes, bytes]]:
    """Mode, name and id of each entry, without creating objects: most entries are equal on both sides."""
    return set(_RAW_ENTRY.findall(tree.read_raw())) if tree is not None else set()


def _file(found: pygit2.Object | None) -> Entry | None:
    return None if found is None or isinstance(found, pygit2.Tree) else Entry(found.id, found.filemode)


def edited(repo: pygit2.Repository, tree: pygit2.Tree, edits: Mapping[str, Entry | None]) -> pygit2.Tree:
    """The tree with these files set or removed. Folders that become empty are removed."""
    changed = _edit(repo, tree, {tuple(path.split("/")): entry for path, entry in edits.items()})
    found = repo[changed]
    assert isinstance(found, pygit2.Tree)
    return found


def _edit(
    repo: pygit2.Repository, tree: pygit2.Tree | None, edits: Mapping[tuple[str, ...], Entry | None]
) -> pygit2.Oid:
    builder = repo.TreeBuilder(tree) if tree is not None else repo.TreeBuilder()
    below: dict[str, dict[tuple[str, ...], Entry | None]] = {}
    files: dict[str, Entry] = {}
    for (name, *rest), entry in edits.items():
        if rest:
            below.setdefault(name, {})[tuple(rest)] = entry
        elif entry is not None:
            files[name] = entry
        elif tree is not None and name in tree and not isinstance(tree[name], pygit2.Tree):
            builder.remove(name)
    # A file may replace a folder, or a folder a file: removals come first.
    for name, inner in below.items():
        folder = tree[name] if tree is not None and name in tree else None
        changed = _edit(repo, folder if isinstance(folder, pygit2.Tree) else None, inner)
        if len(repo[changed]):  # type: ignore[arg-type]
            builder.insert(name, changed, FileMode.TREE)
        elif builder.get(name) is not None:
            builder.remove(name)
    for name, entry in files.items():
        builder.insert(name, entry.id, FileMode(entry.mode))
    return builder.write()
