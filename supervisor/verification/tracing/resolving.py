"""Resolves a path that a program names, as far as it concerns a checkout.

This is part of the keeper's text (`trials/keeper.py`), so it imports nothing of ours. The program waits meanwhile.
The kernel resolves the path (a descriptor that opens nothing) and follows links as it will for the program; links
within the checkout are reported as well, because a changed link would lead elsewhere.
"""

import errno
import os
import stat

if __name__ != "__main__":
    from collections.abc import Iterator

_MOST_LINKS = 40
_HOW = os.O_PATH | os.O_CLOEXEC
#: the system's own folders: loaders and libraries look there all the time
_SYSTEM = (b"/usr/lib/", b"/usr/share/", b"/lib/", b"/lib64/", b"/etc/ld.so", b"/sys/", b"/dev/null")
#: what these lead to depends on the process that asks
_OWN = (
    *((b"/proc/self/", b""), (b"/proc/thread-self/", b""), (b"/dev/fd/", b"fd/")),
    *((b"/dev/stdin", b"fd/0"), (b"/dev/stdout", b"fd/1"), (b"/dev/stderr", b"fd/2")),
)


class Resolver:
    def __init__(self, root: str) -> None:
        self._root = os.fsencode(os.path.realpath(root))
        self._below = self._root + b"/"

    def found(self, full: bytes, *, follows: bool) -> "Iterator[tuple[bytes, str]]":
        """The paths in the checkout that it concerns, each with its kind: `folder`, `link`, `file`, `nothing`."""
        if full.startswith(_SYSTEM):
            return
        try:
            number = os.open(full, _HOW if follows else _HOW | os.O_NOFOLLOW)
        except OSError as error:
            yield from self._not_found(full, error.errno, follows=follows)
            return
        try:
            real = os.readlink(b"/proc/self/fd/%d" % number)
            is_inside = self._is_inside(real)
            kind = _kind(os.fstat(number).st_mode) if is_inside else ""
        finally:
            os.close(number)
        if is_inside:
            yield self._relative(real), kind
        if real != full:
            yield from self._links(full, follows=follows)

    def _not_found(self, full: bytes, problem: int | None, *, follows: bool) -> "Iterator[tuple[bytes, str]]":
        """A missing file counts, too: it may exist one day."""
        parent, _, name = full.rstrip(b"/").rpartition(b"/")
        if problem == errno.ENOENT and name not in (b"", b".", b"..") and not os.path.islink(full):
            try:
                number = os.open(parent or b"/", _HOW)
            except OSError:
                real = os.path.realpath(full)
            else:
                try:
                    real = os.readlink(b"/proc/self/fd/%d" % number) + b"/" + name
                finally:
                    os.close(number)
        else:
            real = os.path.realpath(full)
        if self._is_inside(real):
            yield self._relative(real), "nothing"
        if real != full or problem == errno.ELOOP:
            yield from self._links(full, follows=follows)

    def _links(self, full: bytes, *, follows: bool) -> "Iterator[tuple[bytes, str]]":
        """The links on the way that are in the checkout."""
        if not self._is_inside(os.path.normpath(full)):
            return
        way = full if follows else full.rstrip(b"/").rpartition(b"/")[0]
        parts, here, followed = way.split(b"/")[::-1], b"", 0
        while parts and followed < _MOST_LINKS:
            part = parts.pop()
            if part == b"..":
                here = here.rpartition(b"/")[0]
            if part in (b"", b".", b".."):
                continue
            place = here + b"/" + part
            try:
                target = os.readlink(place)
            except OSError:
                here = place
                continue
            followed += 1
            if self._is_inside(place):
                yield self._relative(place), "link"
            here = b"" if target.startswith(b"/") else here
            parts += target.split(b"/")[::-1]

    def _is_inside(self, path: bytes) -> bool:
        return path.startswith(self._below) or path == self._root

    def _relative(self, path: bytes) -> bytes:
        return path[len(self._below) :]


def _kind(mode: int) -> str:
    return "folder" if stat.S_ISDIR(mode) else "link" if stat.S_ISLNK(mode) else "file"


def whole(task: int, folder: int | None, path: bytes) -> bytes:
    """The absolute path of one that a task names. Raises OSError."""
    if path.startswith(b"/"):
        if path.startswith((b"/proc/", b"/dev/")):
            for own, place in _OWN:
                if path.startswith(own):
                    return b"/proc/%d/" % task + place + path[len(own) :]
        return path
    place = b"/proc/%d/cwd" % task if folder is None or folder == -100 else b"/proc/%d/fd/%d" % (task, folder)
    start = os.readlink(place)
    return start + b"/" + path if path else start
