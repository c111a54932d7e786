"""Reads an agent's commits as changes. Blocking: run it in a thread."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import pygit2
from pygit2.enums import SortMode

from supervisor.adapters.git.trees import Edit, edits_between
from supervisor.model.change import Change
from supervisor.publication.rules.outcome import clean

_SUBJECT = re.compile(r"\[([A-Z][A-Z_/]{0,31})\]\s*(.*)")
_HUNK = re.compile(rb"^@@ [^\n]*", re.MULTILINE)


def read_changes(bare: Path, base: str, head: str, job: int) -> tuple[Change, ...]:
    """The commits from `base` to `head`, oldest first, each against its first parent."""
    repo = pygit2.Repository(str(bare))
    return tuple(_change(repo, commit, job) for commit in commits_since(repo, base, head))


def commits_since(repo: pygit2.Repository, base: str, head: str) -> Iterator[pygit2.Commit]:
    walker = repo.walk(repo[head].id, SortMode.TOPOLOGICAL | SortMode.REVERSE)
    walker.hide(repo[base].id)
    return iter(walker)


def edits_of(commit: pygit2.Commit) -> tuple[Edit, ...]:
    """Against its first parent, or against nothing."""
    return tuple(edits_between(commit.parents[0].tree if commit.parents else None, commit.tree))


def _change(repo: pygit2.Repository, commit: pygit2.Commit, job: int) -> Change:
    edits = edits_of(commit)
    kind, subject = kind_and_subject(commit.raw_message.decode(errors="replace"))
    paths = tuple(edit.path for edit in edits)
    return Change(job, str(commit.id), kind, subject, paths, _patch_id(repo, edits), _alike_id(repo, edits))


def kind_and_subject(message: str) -> tuple[str, str]:
    lines = clean(message).strip().splitlines() or [""]
    line = " ".join(lines[0].split())[:300]
    found = _SUBJECT.fullmatch(line)
    return (found[1], found[2]) if found else ("", line)


def _patch_id(repo: pygit2.Repository, edits: tuple[Edit, ...]) -> str:
    """Like `git patch-id`, but whitespace and modes count, and a binary file is its content."""
    digest = hashlib.sha256()
    for edit in edits:
        modes = [entry.mode if entry else 0 for entry in (edit.old, edit.new)]
        patch = _patch(repo, edit)
        digest.update(repr((edit.path, *modes, len(patch))).encode() + patch)
    return digest.hexdigest()


def _alike_id(repo: pygit2.Repository, edits: tuple[Edit, ...]) -> str:
    """A digest of the changed lines alone, without their indentation and position."""
    lines = [line for edit in edits for line in _edited_lines(repo, edit)]
    words = sorted(line[:1] + line[1:].strip() for line in lines if line[1:].strip())
    return hashlib.sha256(b"\n".join(words)).hexdigest() if words else ""


def _edited_lines(repo: pygit2.Repository, edit: Edit) -> list[bytes]:
    """The added and removed lines, each with its sign; none for a file without lines, or a deleted one."""
    new = repo.get(edit.new.id) if edit.new else None
    if edit.old is None and isinstance(new, pygit2.Blob) and not new.is_binary:
        return [b"+" + line for line in new.data.splitlines()]
    return [line for line in _patch(repo, edit).splitlines() if line[:1] in (b"+", b"-")]


def _patch(repo: pygit2.Repository, edit: Edit) -> bytes:
    """The changed lines with their context, without line numbers; for a file without lines, its new id."""
    blobs = [repo.get(entry.id) if entry else None for entry in (edit.old, edit.new)]
    match blobs:
        case pygit2.Blob() as old, pygit2.Blob() as new if not (old.is_binary or new.is_binary):
            text: bytes = old.diff(new).data
            return _HUNK.sub(b"@@", text[text.find(b"\n@@") + 1 :])
    return str(edit.new.id).encode() if edit.new else b""
