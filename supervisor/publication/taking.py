"""Takes all work in a local agent's clone, however odd or damaged it is, into a repository of ours.

Work is HEAD and commits that are on no branch any more, other branches, tags and the stash, what is staged, and every
file of the work tree that is not ignored. All of it is put into the history of one commit, under one ref. What could
not be taken is named in `Taken.unsaved`: then the clone must be kept.
"""

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from supervisor.errors import GitFailed, Hostile
from supervisor.publication.clone import Clone, Tips, find, tips
from supervisor.publication.importing import Order, import_bundle
from supervisor.publication.scratch import EXCLUDE, Entry, Scratch, scratch
from supervisor.threads import in_thread

MESSAGE = "Rescued: work that was not committed, or is on no branch"
MOST_NAMED = 5
#: the most steps of the binary search for files that git refuses
MOST_HALVES = 200
GITLINK = b"160000"


@dataclass(slots=True)
class Taken:
    head: str = ""
    commits: int = 0
    #: what a person should know
    notes: list[str] = field(default_factory=list)
    #: work that could not be taken
    unsaved: list[str] = field(default_factory=list)


async def take(bare: Path, root: Path, ref: str, base: str) -> Taken:
    """The clone is not changed, and none of its programs is run."""
    taken = Taken()
    clone = await in_thread(find, root)
    if clone is None:
        taken.notes.append("its .git is gone or damaged: the files were taken, on top of the base")
        if await in_thread((root / ".git").exists):
            taken.unsaved.append("the repository, which is damaged")
    try:
        async with scratch(bare, clone, root) as here:
            head = await _Taking(here, clone, base, taken).commit()
            if head and await here.word("rev-list", "-n1", head, f"^{base}"):
                await here.pack(head, base)
                imported = await import_bundle(bare, Order(here.bundle, ref, base, rescued=True, whole=True))
                taken.head, taken.commits = imported.head, imported.commits
    except (GitFailed, Hostile, OSError) as failed:
        taken.unsaved.append(str(failed))
    return taken


class _Taking:
    def __init__(self, here: Scratch, clone: Clone | None, base: str, taken: Taken) -> None:
        self._here, self._clone, self._base, self._taken = here, clone, base, taken

    async def commit(self) -> str:
        """A commit whose history has everything; HEAD itself, if its history already does."""
        found = await in_thread(tips, self._clone) if self._clone is not None else Tips()
        self._taken.unsaved += found.problems
        head = await self._head(found)
        others = await self._others(head, found)
        unchanged = await self._here.word("rev-parse", f"{head}^{{tree}}")
        staged = await self._staged(head)
        tree = await self._work_tree() or staged
        if staged not in (tree, unchanged):
            others["what was staged"] = await self._here.commit(staged, [head], "Rescued: what was staged")
        if tree == unchanged and not others:
            return head
        listed = [f"{sha} {where}" for where, sha in others.items()]
        message = "\n".join([MESSAGE, *([""] if listed else []), *listed[:50]])
        return await self._here.commit(tree, [head, *others.values()], message)

    async def _head(self, found: Tips) -> str:
        past = list(found.past)
        there = await self._here.commits([found.head, *past] if found.head else past)
        if found.head in there:
            return found.head
        if self._clone is not None:
            self._taken.notes.append("HEAD had no commit: the last one that is known was taken")
        if found.head:
            self._taken.unsaved.append(f"the commit {found.head[:12]} of HEAD, which is damaged or missing")
        return next((sha for sha in reversed(past) if sha in there), self._base)

    async def _others(self, head: str, found: Tips) -> dict[str, str]:
        """Commits that HEAD does not lead to, by the places that name them."""
        there = await self._here.commits([*found.named, *found.past, *found.fetched])
        for sha, where in found.named.items():
            if sha not in there:
                self._taken.unsaved.append(f"{where} ({sha[:12]}), which is no commit, damaged or missing")
        known = [self._base, head, *(found.fetched & there)]
        named = await self._here.outermost([sha for sha in found.named if sha in there], known)
        past = await self._here.outermost([sha for sha in found.past if sha in there], [*known, *named])
        places = found.past | found.named
        if named or past:
            self._taken.notes.append(f"also taken: {_named(dict.fromkeys(places[sha] for sha in (*named, *past)))}")
        return {f"{places[sha]} {sha[:12]}": sha for sha in (*named, *past)}

    async def _staged(self, head: str) -> str:
        """The tree of what is staged; our index is the same from here on."""
        await self._here.read("read-tree", head)
        if self._clone is not None and await in_thread((self._clone.git_dir / "index").exists):
            try:
                whole = [each for each in await self._here.entries("theirs") if each.stage == 0]
                lines = b"".join(b"%s %s 0\t%s\0" % (e.mode, e.sha.encode(), e.path) for e in whole)
                await self._here.read("read-tree", "--empty")
                await self._here.read("update-index", "-z", "--index-info", stdin=lines)
                return await self._here.word("write-tree")
            except GitFailed as failed:
                self._taken.unsaved.append(f"what was staged: {failed.message}")
                await self._here.read("read-tree", head)
        return await self._here.word("write-tree")

    async def _work_tree(self) -> str:
        """The tree of the files; "" if the work tree is gone."""
        if not await in_thread(self._here.root.is_dir):
            return ""
        entries = await self._entries()
        listed = ["ls-files", "-z", "--modified", "--deleted", "--others", "--exclude-standard", *EXCLUDE]
        paths = dict.fromkeys(path for path in (await self._here.read(*listed)).split(b"\0") if path)
        left_out = {each.path for each in entries if each.is_left_out}
        links = {each.path: each.sha for each in entries if each.mode == GITLINK}
        for path in [path for path in paths if path.endswith(b"/")]:
            self._taken.unsaved.append(f"the nested repository in {_shown(path)}")
        for path, sha in links.items():
            await self._look_at_submodule(path, sha)
        wanted = [path for path in paths if not path.endswith(b"/") and path not in links]
        readable = await in_thread(self._readable, [path for path in wanted if path not in left_out])
        await self._add(readable)
        await self._say_what_is_ignored()
        return await self._here.word("write-tree")

    async def _entries(self) -> list[Entry]:
        own = await self._here.entries("index")
        try:
            left_out = {each.path for each in await self._here.entries("theirs") if each.is_left_out}
        except GitFailed:
            left_out = set()
        there = await in_thread(lambda: {path for path in left_out if os.path.lexists(self._path(path))})
        return [Entry(e.path, e.mode, e.sha, e.stage, e.path in left_out - there) for e in own]

    def _path(self, path: bytes) -> bytes:
        return os.fsencode(self._here.root) + b"/" + path

    def _readable(self, paths: Sequence[bytes]) -> list[bytes]:
        """Files that can't be read are named as unsaved; files that are gone by now are taken as deleted."""
        found = []
        for path in paths:
            try:
                mode = os.lstat(self._path(path)).st_mode
                if stat.S_ISREG(mode):
                    os.close(os.open(self._path(path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC))
            except (FileNotFoundError, NotADirectoryError):
                pass
            except OSError as error:
                self._taken.unsaved.append(f"{_shown(path)}: {error.strerror}")
                continue
            found.append(path)
        return found

    async def _add(self, paths: list[bytes]) -> None:
        pieces, tries = [paths] if paths else [], 0
        while pieces:
            piece, tries = pieces.pop(), tries + 1
            add = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"]
            done = await self._here.run(*add, stdin=b"".join(path + b"\0" for path in piece))
            if not done.code:
                continue
            if len(piece) == 1 or tries > MOST_HALVES:
                self._taken.unsaved.append(f"{_named([_shown(path) for path in piece])}: {done.sentence}")
                continue
            middle = len(piece) // 2
            pieces += [piece[:middle], piece[middle:]]

    async def _look_at_submodule(self, path: bytes, recorded: str) -> None:
        """Its work is not taken: it must match what is recorded, and have no work of its own."""
        root = Path(os.fsdecode(self._path(path)))
        if not await in_thread((root / ".git").exists):
            if await in_thread(lambda: root.is_dir() and any(root.iterdir())):
                self._taken.unsaved.append(f"files in the submodule {_shown(path)}")
            return
        clone = await in_thread(find, root)
        if clone is None or not await self._is_as_recorded(clone, recorded):
            self._taken.unsaved.append(f"work in the submodule {_shown(path)}")

    async def _is_as_recorded(self, clone: Clone, recorded: str) -> bool:
        found = await in_thread(tips, clone)
        if found.head != recorded or found.problems:
            return False
        async with scratch(self._here.git_dir, clone, clone.root) as there:
            try:
                known = [recorded, *await there.commits(found.fetched)]
                mine = await there.commits([*found.named, *found.past])
                if await there.outermost(sorted(mine), known):
                    return False
                await there.read("read-tree", recorded)
                differing = ["ls-files", "-z", "--modified", "--deleted", "--others", "--exclude-standard", *EXCLUDE]
                return not await there.read(*differing)
            except GitFailed:
                return False

    async def _say_what_is_ignored(self) -> None:
        listed = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory", *EXCLUDE]
        caches = ["ls-files", "-z", "--others", "--ignored", "--directory", *EXCLUDE]
        of_no_use = set((await self._here.read(*caches)).split(b"\0"))
        found = [path for path in (await self._here.read(*listed)).split(b"\0") if path and path not in of_no_use]
        if found:
            self._taken.notes.append(f"not taken, because git ignores it: {_named([_shown(path) for path in found])}")


def _shown(path: bytes) -> str:
    text = os.fsdecode(path).encode(errors="replace").decode()
    return "".join(c if c.isprintable() else "?" for c in text)[:100]


def _named(words: Sequence[str] | dict[str, None]) -> str:
    listed = list(words)
    more = f" and {len(listed) - MOST_NAMED} more" if len(listed) > MOST_NAMED else ""
    return ", ".join(listed[:MOST_NAMED]) + more
