"""Reads what an agent's clone points at from plain files: its configuration is not trusted, and nothing is run."""

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

MAX_FILE = 64 * 2**20
MAX_REFS = 20_000
#: what git itself remembers of a rebase, a merge or a reset
MARKS = (
    *("ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"),
    *("rebase-merge/orig-head", "rebase-apply/orig-head"),
)
DEEPEST_ALTERNATE = 5

_SHA = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Clone:
    root: Path
    git_dir: Path
    #: where the refs and objects are; for a linked work tree, this is in another repository
    common_dir: Path

    @property
    def is_linked(self) -> bool:
        return self.common_dir != self.git_dir


@dataclass(slots=True)
class Tips:
    """Commits that a clone names, with the places that name them."""

    #: "" if HEAD names none
    head: str = ""
    #: what a ref or a mark names
    named: dict[str, str] = field(default_factory=dict)
    #: what only a reflog remembers
    past: dict[str, str] = field(default_factory=dict)
    #: what was fetched from somewhere else
    fetched: set[str] = field(default_factory=set)
    #: what could not be read
    problems: list[str] = field(default_factory=list)


class Unreadable(Exception):
    pass


def find(root: Path) -> Clone | None:
    """None if there is no repository, or nothing is left of it."""
    link = root / ".git"
    try:
        git_dir = link if link.is_dir() else _led(read_plain(link), root, "gitdir: ")
        git_dir = git_dir.resolve()
        common = git_dir / "commondir"
        common_dir = _led(read_plain(common), git_dir).resolve() if common.exists() else git_dir
    except (OSError, Unreadable):
        return None
    return Clone(root, git_dir, common_dir) if (common_dir / "objects").is_dir() else None


def _led(text: bytes, start: Path, mark: str = "") -> Path:
    said = os.fsdecode(text).strip("\n")
    if not said.startswith(mark) or "\0" in said:
        raise Unreadable("it leads nowhere")
    return start / said.removeprefix(mark)


def objects(clone: Clone) -> list[Path]:
    """Its object folders and those that it borrows from. git itself follows relative paths only in the first."""
    found = [clone.common_dir / "objects"]
    for folder in found:
        if len(found) > DEEPEST_ALTERNATE:
            break
        try:
            lines = read_plain(folder / "info" / "alternates").split(b"\n")
        except (OSError, Unreadable):
            continue
        more = (folder / os.fsdecode(line) for line in lines if line and not line.startswith((b"#", b'"')))
        found += [path.resolve() for path in more if path.resolve() not in found]
    return [path for path in found if path.is_dir() and not any(c in str(path) for c in '\n"')]


def tips(clone: Clone) -> Tips:
    found = Tips()
    if (clone.common_dir / "reftable").exists():
        found.problems.append("its refs are kept in a form that can't be read")
        return found
    refs = _refs(clone, found)
    found.head = _head(clone, refs, found)
    for name, sha in refs.items():
        if name.startswith("refs/remotes/"):
            found.fetched.add(sha)
        elif _is_own(clone, name):
            found.named.setdefault(sha, name)
    for place in (clone.git_dir / mark for mark in MARKS):
        for sha in _SHA.findall(_text(place, found)):
            found.named.setdefault(sha, place.name)
    if not clone.is_linked:
        for other in sorted(clone.git_dir.glob("worktrees/*/HEAD")):
            for sha in _SHA.findall(_text(other, found)):
                found.named.setdefault(sha, f"the work tree {other.parent.name}")
    for log in _logs(clone):
        for sha in _logged(_text(log, found)):
            found.past.setdefault(sha, f"the reflog of {log.name}")
    return found


def head_of(root: Path) -> str:
    """The commit that its HEAD names; "" if it is unknown."""
    clone = find(root)
    return tips(clone).head if clone is not None else ""


def _is_own(clone: Clone, name: str) -> bool:
    """A linked work tree shares its refs with the agents beside it; their own branches are theirs."""
    return not (clone.is_linked and name.startswith("refs/heads/supervisor/"))


def _head(clone: Clone, refs: dict[str, str], found: Tips) -> str:
    said = _text(clone.git_dir / "HEAD", found).strip()
    if said.startswith("ref: "):
        return refs.get(said.removeprefix("ref: ").strip(), "")
    return said if _SHA.fullmatch(said) else ""


def _refs(clone: Clone, found: Tips) -> dict[str, str]:
    refs: dict[str, str] = {}
    for line in _text(clone.common_dir / "packed-refs", found).splitlines():
        sha, _, name = line.partition(" ")
        if _SHA.fullmatch(sha) and name:
            refs[name] = sha
    for folder in dict.fromkeys((clone.common_dir, clone.git_dir)):
        for path in _files(folder / "refs", found):
            text = _text(path, found).strip()
            if _SHA.fullmatch(text):
                refs[str(path.relative_to(folder))] = text
            elif not text.startswith("ref: "):
                found.problems.append(f"{path.relative_to(folder)} can't be read")
    if len(refs) > MAX_REFS:
        found.problems.append(f"it has more than {MAX_REFS} refs")
        refs = dict(list(refs.items())[:MAX_REFS])
    return refs


def _files(folder: Path, found: Tips) -> Iterator[Path]:
    seen = 0
    # A linked work tree need not have refs of its own.
    unread = (lambda error: found.problems.append(_why(folder, error))) if folder.exists() else None
    for parent, _, names in os.walk(folder, onerror=unread):
        for name in sorted(names):
            seen += 1
            if seen > MAX_REFS:
                return
            if not name.endswith(".lock") and not (Path(parent) / name).is_symlink():
                yield Path(parent) / name


def _logs(clone: Clone) -> list[Path]:
    """The reflogs of HEAD, the stash and, unless it shares them, the branches."""
    logs = [clone.git_dir / "logs" / "HEAD", clone.common_dir / "logs" / "refs" / "stash"]
    if not clone.is_linked:
        logs += sorted(path for path in clone.common_dir.glob("logs/refs/heads/**/*") if path.is_file())[:MAX_REFS]
        logs += sorted(clone.git_dir.glob("worktrees/*/logs/HEAD"))
    return logs


def _logged(text: str) -> Iterator[str]:
    for line in text.splitlines():
        yield from (sha for sha in line.split(" ", 2)[:2] if _SHA.fullmatch(sha) and sha.strip("0"))


def _text(path: Path, found: Tips) -> str:
    """A file that does not exist is empty; a file that exists and can't be read is a problem."""
    try:
        return read_plain(path).decode(errors="surrogateescape")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, Unreadable) as error:
        found.problems.append(_why(path, error))
        return ""


def _why(path: Path, error: Exception) -> str:
    said = error.strerror if isinstance(error, OSError) else str(error)
    return f"{path.name} can't be read: {said}"


def read_plain(path: Path, most: int = MAX_FILE) -> bytes:
    """Read a plain file, never a pipe that nobody writes to."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Unreadable("it is no plain file")
        data = file.read(most + 1)
    if len(data) > most:
        raise Unreadable(f"it is larger than {most} bytes")
    return data
