"""Unpacks what an agent published. The archive is hostile: only known members are written, in a folder of its own.

Blocking: run it in a thread. All is written beside `into` and renamed at the end: a crash leaves nothing half done.
"""

import os
import shutil
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from supervisor.errors import Hostile
from supervisor.model.publication import Meta, Part, Publication, Refusal, Statement
from supervisor.publication.rules.outcome import MAX_BYTES, parse_meta, parse_outcome
from supervisor.publication.rules.tar import Member, members

MAX_REFUSALS = 20


@dataclass(frozen=True, slots=True)
class Limits:
    """In bytes, except `artifacts`."""

    archive: int = 320 * 2**20
    bundle: int = 100 * 2**20
    artifact: int = 20 * 2**20
    artifacts_total: int = 100 * 2**20
    artifacts: int = 1_000


_PARTS: dict[str, Part] = {"outcome.json": "outcome", "meta.json": "meta", "branch.bundle": "bundle"}


def unpack(tar_path: Path, into: Path, limits: Limits | None = None) -> Publication:
    """Replace the folder `into` by the usable parts of the archive; Hostile if there are none."""
    partial = into.with_name(f".{into.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(mode=0o700, parents=True)
    try:
        unpacking = _Unpacking(partial, limits or Limits())
        with _open(tar_path) as file:
            unpacking.take_all(file)
        publication = unpacking.publication(into)
        shutil.rmtree(into, ignore_errors=True)
        partial.rename(into)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return publication


def _open(path: Path) -> BinaryIO:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise Hostile(f"the archive can't be opened: {error.strerror}", reason="not-a-file") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Hostile("the archive is not a plain file", reason="not-a-file")
    return os.fdopen(descriptor, "rb")


@dataclass
class _Unpacking:
    folder: Path
    limits: Limits
    names: set[str] = field(default_factory=set)
    artifacts: list[str] = field(default_factory=list)
    artifacts_size: int = 0
    refusals: list[Refusal] = field(default_factory=list)

    def take_all(self, file: BinaryIO) -> None:
        length = os.fstat(file.fileno()).st_size
        if length > self.limits.archive:
            raise Hostile(f"the archive is larger than {self.limits.archive} bytes", reason="too-large")
        for member in members(file, length):
            if isinstance(member, Refusal):
                self.refuse(member)
                continue
            try:
                self.take(file, member)
            except Hostile as hostile:
                self.refuse(Refusal(self.part_of(hostile, member), hostile.reason, hostile.message))

    def refuse(self, refusal: Refusal) -> None:
        if len(self.refusals) < MAX_REFUSALS:
            self.refusals.append(refusal)

    def part_of(self, hostile: Hostile, member: Member) -> Part:
        """The part that a refusal concerns: for an exceeded limit, the member's part; otherwise the archive."""
        if hostile.reason not in ("member-too-large", "too-many-artifacts"):
            return "archive"
        return _PARTS.get(member.name.decode(errors="replace").removeprefix("./"), "artifacts")

    def take(self, file: BinaryIO, member: Member) -> None:
        name = checked_name(member.name)
        if name in self.names:
            raise Hostile("the archive holds the same name twice", reason="duplicate")
        self.check_size(name, member.size)
        self.write(file, member, self.folder / name)
        self.names.add(name)
        if name not in _PARTS:
            self.artifacts.append(name)
            self.artifacts_size += member.size

    def check_size(self, name: str, size: int) -> None:
        left = self.limits.artifacts_total - self.artifacts_size
        most = {"outcome.json": MAX_BYTES, "meta.json": MAX_BYTES, "branch.bundle": self.limits.bundle}
        if size > most.get(name, min(self.limits.artifact, left)):
            raise Hostile("the archive holds a file that is too large", reason="member-too-large")
        if name not in _PARTS and len(self.artifacts) >= self.limits.artifacts:
            raise Hostile("the archive holds too many artifacts", reason="too-many-artifacts")

    def write(self, file: BinaryIO, member: Member, path: Path) -> None:
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
            raise Hostile("the archive holds a name as file and as folder", reason="duplicate") from error
        with os.fdopen(descriptor, "wb") as written:
            _copy(file, member, written)

    def publication(self, into: Path) -> Publication:
        if not self.names:
            first = self.refusals[0] if self.refusals else Refusal("archive", "empty", "the archive is empty")
            raise Hostile(first.message, reason=first.reason)
        outcome = self.parsed("outcome.json", parse_outcome)
        meta = self.parsed("meta.json", parse_meta)
        return Publication(
            folder=into,
            outcome=outcome,
            meta=meta or Meta(),
            bundle=into / "branch.bundle" if "branch.bundle" in self.names else None,
            artifacts=tuple(self.artifacts),
            refusals=tuple(self.refusals),
        )

    def parsed[T: (Statement, Meta)](self, name: str, parse: Callable[[bytes], T]) -> T | None:
        if name not in self.names:
            self.refuse(Refusal(_PARTS[name], f"{_PARTS[name]}-missing", f"the archive holds no {name}"))
            return None
        try:
            return parse((self.folder / name).read_bytes())
        except Hostile as hostile:
            self.refuse(Refusal(_PARTS[name], hostile.reason, hostile.message))
            return None


def _copy(file: BinaryIO, member: Member, written: BinaryIO) -> None:
    file.seek(member.offset)
    left = member.size
    while left:
        if not (chunk := file.read(min(left, 2**20))):
            raise Hostile("the archive became shorter while it was read", reason="truncated")
        written.write(chunk)
        left -= len(chunk)


def checked_name(raw: bytes) -> str:
    """The member's path if it is one of ours; else Hostile."""
    try:
        name = raw.decode().removeprefix("./")
    except UnicodeDecodeError as error:
        raise Hostile("the archive holds a name that is not UTF-8", reason="name-not-utf8") from error
    parts = name.split("/")
    if name.startswith("/"):
        raise Hostile("the archive holds an absolute path", reason="absolute-path")
    if ".." in parts:
        raise Hostile("the archive holds a path that leads out of its folder", reason="path-escape")
    if not name.isprintable() or "\\" in name or "" in parts or "." in parts:
        raise Hostile("the archive holds a name with odd characters", reason="odd-name")
    if len(raw) > 1_000 or len(parts) > 20 or any(len(part.encode()) > 200 for part in parts):
        raise Hostile("the archive holds a name that is too long", reason="name-too-long")
    if any(part.lower().startswith(".git") for part in parts):
        raise Hostile("the archive holds a git folder or configuration", reason="git-folder")
    if name not in _PARTS and (parts[0] != "artifacts" or len(parts) < 2):
        raise Hostile("the archive holds a file that has no place in it", reason="unknown-member")
    return name
