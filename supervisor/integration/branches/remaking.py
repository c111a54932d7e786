"""Compares an integrator's branch with what it may be, by content, and takes its resolutions from it. Blocking.

Each of its commits is made again here, from the machine's own commits: what it has made is only looked at, and what
it has made of a conflict is all that is taken.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pygit2

from supervisor.adapters.git.merging import Merger
from supervisor.adapters.git.trees import Blocked, Entry, edits_between, entry_at
from supervisor.integration.branches.picking import Resolution
from supervisor.integration.branches.standing import shown
from supervisor.integration.rules.checking import BranchCommit, Objection, Placed
from supervisor.integration.rules.work import Unit
from supervisor.publication.changes import commits_since, edits_of, kind_and_subject

MOST_PATHS = 5
_MARKS = re.compile(rb"^(<{7}|>{7}|\|{7})( |$)", re.MULTILINE)
#: a conflict as git shows it
_REGION = re.compile(rb"^(<{7} .*?^>{7} [^\n]*\n?)", re.MULTILINE | re.DOTALL)


@dataclass
class Remade:
    objections: list[Objection] = field(default_factory=list)
    resolutions: list[Resolution] = field(default_factory=list)


def remade(bare: Path, base: str, commits: Sequence[Placed]) -> Remade:
    """`commits` in their order, each as what it claims to be."""
    merger, found = Merger(pygit2.Repository(str(bare))), Remade()
    tree = merger.commit_of(base).tree
    for each in commits:
        commit = merger.commit_of(each.commit.sha)
        if each.resolves is None:
            tree = _again(merger, each, commit, tree, found)
        else:
            tree = _resolved(merger, (each.resolves, merger.commit_of(base).tree), commit, tree, found)
    return found


def _again(merger: Merger, each: Placed, commit: pygit2.Commit, tree: pygit2.Tree, found: Remade) -> pygit2.Tree:
    """One of the machine's own, wherever it stands now."""
    own = merger.commit_of(each.machine)
    if (own.raw_message, _who(own)) != (commit.raw_message, _who(commit)):
        found.objections.append(
            Objection("rewritten-commit", f"{commit.id} is the machine's {own.id} under other words or another name")
        )
    done = merger.merged(own.parents[0].tree, tree, own.tree)
    if done.conflicts:
        detail = f"the machine's {own.id} can't stand there: it collides in {_named(done.conflicts)}"
        found.objections.append(Objection("altered-content", detail))
        return commit.tree
    if paths := [edit.path for edit in edits_between(done.tree, commit.tree)]:
        detail = f"{commit.id} is not what the machine's {own.id} is in {_named(paths)}"
        found.objections.append(Objection("altered-content", detail))
    return done.tree


def _resolved(
    merger: Merger, conflict: tuple[Unit, pygit2.Tree], commit: pygit2.Commit, tree: pygit2.Tree, found: Remade
) -> pygit2.Tree:
    """Of the files that collide what it has made of them; of all else what the machine makes of it."""
    unit, base = conflict
    brought = merger.with_paths(base, merger.commit_of(unit.head).tree, unit.paths)
    done = merger.merged(base, tree, brought)
    own = merger.with_paths(done.tree, commit.tree, done.conflicts)
    lies = list(_lies(unit, commit, tree, done.tree, done.conflicts))
    if all(_entry(own, path) == _entry(tree, path) for path in done.conflicts or unit.paths):
        lies.append(Objection("empty-resolution", f"{commit.id} resolves nothing of job {unit.job}"))
    for path in done.conflicts:
        modes = {entry.mode for side in (tree, brought) if (entry := _entry(side, path))}
        if (entry := _entry(own, path)) and entry.mode not in modes:
            lies.append(Objection("altered-content", f"{commit.id} makes another kind of file of {path}"))
        if _MARKS.search(_text(merger, own, path)):
            lies.append(Objection("left-marks", f"{commit.id} leaves the marks of a conflict in {path}"))
    if lies:
        found.objections += lies
        return commit.tree
    doubts = tuple(_told(merger, (tree, brought), done.tree, own, path) for path in done.conflicts[:MOST_PATHS])
    found.resolutions.append(Resolution(unit.job, str(tree.id), str(own.id), doubts))
    return own


def _lies(
    unit: Unit, commit: pygit2.Commit, tree: pygit2.Tree, merged: pygit2.Tree, conflicts: Sequence[str]
) -> Iterator[Objection]:
    """Outside of what collides, a file is as it was or as the machine merges it."""
    other = [edit for edit in edits_between(tree, commit.tree) if edit.path not in conflicts]
    if foreign := [edit.path for edit in other if edit.path not in unit.paths]:
        detail = f"{commit.id} touches {_named(foreign)}, which the conflict of job {unit.job} has no part in"
        yield Objection("foreign-file", detail)
    known = [edit for edit in other if edit.path in unit.paths]
    if altered := [edit.path for edit in known if edit.new != _entry(merged, edit.path)]:
        detail = f"{commit.id} changes {_named(altered)} otherwise than job {unit.job} did, where nothing collides"
        yield Objection("altered-content", detail)


def _told(merger: Merger, sides: Sequence[pygit2.Tree], marked: pygit2.Tree, own: pygit2.Tree, path: str) -> str:
    """A sentence for the reviewer: that it was resolved, and what of it no machine can account for."""
    one, other = (_lines(_text(merger, side, path)) for side in sides)
    made = _lines(_text(merger, own, path))
    said = [f"the integrator resolved the conflict in {path}"]
    if lines := sorted(made - one - other):
        said.append(f"of its own: {_quoted(lines)}")
    if lines := sorted((one & other) - made):
        said.append(f"gone, though both sides have it: {_quoted(lines)}")
    if not _fits(_text(merger, marked, path), _text(merger, own, path)):
        said.append("the file is changed outside of the conflict, too")
    return "; ".join(said)


def _fits(marked: bytes, made: bytes) -> bool:
    """Whether all outside of the marks stands there as it was, and in its order."""
    parts = _REGION.split(marked)[::2]
    if len(parts) < 2 or not made.startswith(parts[0]) or not made.endswith(parts[-1]):
        return False
    at = len(parts[0])
    for part in parts[1:-1]:
        if (found := made.find(part, at)) < 0:
            return False
        at = found + len(part)
    return at + len(parts[-1]) <= len(made)


def _lines(text: bytes) -> set[bytes]:
    return {line.strip() for line in text.splitlines() if line.strip()}


def _quoted(lines: Sequence[bytes]) -> str:
    more = f" and {len(lines) - 1} more" if len(lines) > 1 else ""
    return f"`{shown(lines[0])}`{more}"


def _text(merger: Merger, tree: pygit2.Tree, path: str) -> bytes:
    found = merger.repo.get(entry.id) if (entry := _entry(tree, path)) else None
    return found.data if isinstance(found, pygit2.Blob) else b""


def _entry(tree: pygit2.Tree, path: str) -> Entry | None:
    try:
        return entry_at(tree, path)
    except Blocked:
        return None


def _who(commit: pygit2.Commit) -> tuple[bytes, bytes]:
    """As bytes: a commit may say that it is in an encoding that nobody knows."""
    return commit.author.raw_name, commit.author.raw_email


def _named(paths: Sequence[str]) -> str:
    return ", ".join(paths[:MOST_PATHS]) + (f" and {len(paths) - MOST_PATHS} more" if len(paths) > MOST_PATHS else "")


def read_branch(bare: Path, base: str, head: str) -> tuple[BranchCommit, ...]:
    """The commits from `base` to `head`, oldest first."""
    repo = pygit2.Repository(str(bare))
    return tuple(
        BranchCommit(
            sha=str(commit.id),
            parents=tuple(str(parent) for parent in commit.parent_ids),
            message=(message := commit.raw_message.decode(errors="replace")),
            kind=kind_and_subject(message)[0],
            paths=tuple(edit.path for edit in edits_of(commit)),
        )
        for commit in commits_since(repo, base, head)
    )
