"""Brings a hostile bundle into a bare repository, all or nothing.

Its pack is indexed in a quarantine that borrows from the repository, as git's own receive-pack does: with strict
checks of every object, and bounded in memory and processor time. Only then is it checked, in this order: sizes,
commits, paths. A pack that passes is moved into the repository, and one ref is set. One that fails leaves no trace.
"""

import os
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import IO, NoReturn

from supervisor.adapters.git.process import Bounds, Finished, git, run
from supervisor.errors import GitFailed, Hostile
from supervisor.publication.bundle import Bundle, BundleLimits, open_plain, read_bundle
from supervisor.threads import at_length, in_thread, surely

BOUNDS = Bounds()
#: what is rescued is taken whole, however long that takes
RESCUE_BOUNDS = Bounds(memory_kib=4 * 2**20, cpu_seconds=3600)
RESCUE_SECONDS = 3600.0
SPARE_BYTES = 256 * 2**20
MAX_COMMIT = 1 * 2**20
MAX_LINK = 4_096

_RAW = re.compile(rb":(\d{6}) (\d{6}) [0-9a-f]{40} ([0-9a-f]{40}) [A-Z]\d*")


@dataclass(frozen=True, slots=True)
class Imported:
    head: str
    commits: int


@dataclass(frozen=True, slots=True)
class Order:
    """What to import, and the conditions it must meet."""

    bundle: Path
    #: the ref that is set to its head; no other is
    ref: str
    base: str
    #: the commit that the bundle must bring; "": any
    head: str = ""
    #: a rescue is kept for a person to look at, and never checked out by us: it need not stand on the base,
    #: and may hold merges, submodules and odd paths
    rescued: bool = False
    limits: BundleLimits = field(default_factory=BundleLimits)
    #: take it at any size for which the disk has room
    whole: bool = False


async def import_bundle(bare: Path, order: Order) -> Imported:
    if order.whole:
        order = replace(order, limits=await in_thread(room_for, bare))
    with await in_thread(open_plain, order.bundle) as file:
        bundle = await in_thread(read_bundle, file, order.limits)
        await _check_promises(bare, bundle, order)
        async with _quarantine(bare, order.whole) as quarantine:
            index = ["index-pack", "--strict=badFilemode=error", "--fix-thin", "--stdin", "--threads=1"]
            done = await quarantine.git(*index, f"--max-input-size={order.limits.size}", stdin=file)
            if done.code:
                _refuse_unread(done)
            if not order.whole:
                await _check_sizes(quarantine, order.limits)
            commits = await _check_commits(quarantine, bundle.head, order)
            if not order.rescued:
                await _check_paths(quarantine, bundle.head, order)
            await at_length(_migrate, quarantine.objects / "pack", bare / "objects" / "pack")
    await git(bare, "update-ref", order.ref, bundle.head)
    return Imported(bundle.head, commits)


def room_for(bare: Path) -> BundleLimits:
    """What the disk has room for, less a reserve for other work."""
    free = shutil.disk_usage(bare).free
    return BundleLimits(size=max(1, free - SPARE_BYTES), objects=2**31, by_room=True)


async def _check_promises(bare: Path, bundle: Bundle, order: Order) -> None:
    if order.head and bundle.head != order.head:
        raise Hostile("the bundle brings another commit than was said", reason="wrong-head")
    if set(bundle.prerequisites) <= {order.base}:
        return
    done = await run(bare, "rev-list", "-n1", "--stdin", stdin=_lines([*bundle.prerequisites, f"^{order.base}"]))
    if done.code or done.out:
        raise Hostile("the bundle stands on commits that the base does not have", reason="foreign-prerequisite")


@dataclass(frozen=True, slots=True)
class _Quarantine:
    bare: Path
    objects: Path
    whole: bool = False

    async def git(self, *args: str, stdin: bytes | IO[bytes] = b"") -> Finished:
        env = {"GIT_OBJECT_DIRECTORY": str(self.objects)}
        bounds, timeout = (RESCUE_BOUNDS, RESCUE_SECONDS) if self.whole else (BOUNDS, 600.0)
        return await run(self.bare, *args, stdin=stdin, env=env, bounds=bounds, timeout=timeout)

    async def read(self, *args: str, stdin: bytes | IO[bytes] = b"") -> bytes:
        done = await self.git(*args, stdin=stdin)
        if done.code:
            _refuse_unread(done)
        return done.out


def _refuse_unread(done: Finished) -> NoReturn:
    if done.lacks_room:
        raise GitFailed(done.sentence)
    reason = "bundle-bomb" if done.was_bounded else "bundle-broken"
    raise Hostile(f"the bundle does not verify: {done.sentence}", reason=reason)


@asynccontextmanager
async def _quarantine(bare: Path, whole: bool) -> AsyncIterator[_Quarantine]:
    folder = await in_thread(_make_quarantine, bare)
    try:
        yield _Quarantine(bare, folder, whole)
    finally:
        await surely(shutil.rmtree, folder, ignore_errors=True)


def _make_quarantine(bare: Path) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="incoming-", dir=bare))
    (folder / "info").mkdir()
    (folder / "info" / "alternates").write_text(f"{bare / 'objects'}\n")
    return folder


async def _check_sizes(quarantine: _Quarantine, limits: BundleLimits) -> None:
    total = 0
    for index in (quarantine.objects / "pack").glob("*.idx"):
        with index.open("rb", buffering=0) as file:
            listed = await quarantine.read("show-index", stdin=file)
        names = [line.split(b" ")[1] for line in listed.splitlines()]
        check = ["cat-file", "--batch-check=%(objecttype) %(objectsize)"]
        for line in (await quarantine.read(*check, stdin=_lines(names))).splitlines():
            kind, size = line.split(b" ")
            total += int(size)
            if int(size) > (
                limits.object_size if kind == b"blob" else MAX_COMMIT * 8 if kind == b"tree" else MAX_COMMIT
            ):
                raise Hostile(f"the bundle holds a {kind.decode()} of {int(size)} bytes", reason="object-too-large")
    if total > limits.total_size:
        raise Hostile(f"the bundle unfolds to more than {limits.total_size} bytes", reason="bundle-bomb")


async def _check_commits(quarantine: _Quarantine, head: str, order: Order) -> int:
    """Check the commits since the base, and return their number."""
    if order.whole:
        return int(await quarantine.read("rev-list", "--count", f"{head}^{{commit}}", f"^{order.base}"))
    most = order.limits.commits
    listed = await quarantine.read(
        "rev-list", "--parents", "--topo-order", f"-n{most + 1}", f"{head}^{{commit}}", f"^{order.base}"
    )
    commits = [line.split() for line in listed.decode().splitlines()]
    if len(commits) > most:
        raise Hostile(f"the bundle holds more than {most} commits", reason="too-many-commits")
    if order.rescued:
        return len(commits)
    if any(len(commit) > 2 for commit in commits):
        raise Hostile("the bundle holds a merge", reason="merge-commit")
    if (commits[-1][1:] if commits else [head]) != [order.base]:
        raise Hostile("the commits don't stand on the batch's base", reason="not-on-base")
    return len(commits)


async def _check_paths(quarantine: _Quarantine, head: str, order: Order) -> None:
    log = [
        "log",
        "--raw",
        "-z",
        "-r",
        "-m",
        "--root",
        "--no-renames",
        "--no-abbrev",
        "--format=",
        "--no-show-signature",
    ]
    fields = (await quarantine.read(*log, head, f"^{order.base}", "--")).split(b"\0")
    await check_entries(fields, order.limits, quarantine.read)


async def check_entries(
    fields: Iterable[bytes], limits: BundleLimits, read: Callable[..., Awaitable[bytes]]
) -> list[str]:
    """Check the changes in the output of `--raw -z`, and return the new ids of their paths. `read` runs git."""
    entries = [field for field in fields if field]
    if len(entries) > 2 * limits.paths:
        raise Hostile(f"the commits touch more than {limits.paths} paths", reason="too-many-paths")
    become = []
    for raw, path in zip(entries[::2], entries[1::2], strict=True):
        found = _RAW.fullmatch(raw.lstrip(b"\n"))
        if found is None:
            raise Hostile("the commits hold a change that can't be read", reason="bundle-broken")
        check_path(path)
        if found[2] == b"160000":
            raise Hostile("the commits add a submodule", reason="gitlink")
        if found[2] == b"120000":
            check_link(path, (await read("cat-file", "blob", found[3].decode()))[: MAX_LINK + 1])
        if found[2] != b"000000":
            become.append(found[3].decode())
    return become


def check_path(raw: bytes) -> None:
    """Refuse more paths than git's strict check does (`.git`, `..` and their look-alikes)."""
    try:
        path = raw.decode()
    except UnicodeDecodeError as error:
        raise Hostile("the commits hold a path that is not UTF-8", reason="odd-path") from error
    if not path.isprintable() or len(raw) > 1_000 or any(len(part.encode()) > 255 for part in path.split("/")):
        raise Hostile("the commits hold a path with odd characters, or one that is too long", reason="odd-path")
    if path.lower() == ".gitmodules":
        raise Hostile("the commits change the submodules", reason="gitmodules")


def check_link(raw_path: bytes, raw_target: bytes) -> None:
    """A symbolic link must lead to a place inside the repository."""
    target = PurePosixPath(os.fsdecode(raw_target))
    depth = len(PurePosixPath(os.fsdecode(raw_path)).parts) - 1
    escapes = target.is_absolute() or len(raw_target) > MAX_LINK
    for part in target.parts:
        depth += -1 if part == ".." else 1
        escapes = escapes or depth < 0 or part.lower() == ".git"
    if escapes:
        raise Hostile("the commits hold a symbolic link that leads out of the repository", reason="symlink-escape")


def _lines(words: Iterable[str | bytes]) -> bytes:
    return b"".join((word.encode() if isinstance(word, str) else word) + b"\n" for word in words)


def _migrate(quarantine: Path, packs: Path) -> None:
    """Move the index last: git ignores a pack without one. git has synced the files; the folder is synced here."""
    for path in sorted(quarantine.iterdir(), key=lambda path: path.suffix == ".idx"):
        path.rename(packs / path.name)
    descriptor = os.open(packs, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
