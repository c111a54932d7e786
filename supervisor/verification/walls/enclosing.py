"""Encloses a program: it sees only the files that were named, and has no rights over anything else.

This is part of the keeper's text (`trials/keeper.py`), so it imports nothing of ours. Three namespaces are nested:

    the keeper     leaves the host's mounts, network, processes and IPC
    process 1      builds the file system in them, and holds all rights over them
    the program    is in its own user namespace, so it has no rights over the two above and can't get any

Root's program runs as nobody on the host; it still sees itself as root.
"""

import _socket
import ctypes
import fcntl
import os
import sys

if __name__ != "__main__":
    from typing import Any

_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 1, 2, 4, 8
_MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 0x20, 0x1000, 0x4000, 0x40000
_MNT_DETACH = 2
#: the number of `mount_setattr` is the same for all processors
_MOUNT_SETATTR, _AT_FDCWD, _AT_RECURSIVE = 442, -100, 0x8000
_ATTR_RDONLY, _ATTR_NOSUID, _ATTR_NODEV = 1, 2, 4
_SIOCSIFFLAGS, _IFF_UP_RUNNING = 0x8914, 0x41
_CAPBSET_DROP, _NO_NEW_PRIVS, _DUMPABLE = 24, 38, 4
_KEYCTL, _JOIN_SESSION_KEYRING = {"x86_64": 250, "aarch64": 219}, 1
_CREATE_RULESET, _RESTRICT_SELF, _SCOPES = 444, 446, 1  # Landlock, for abstract sockets
_OLD = "/.old"

_c = ctypes.CDLL(None, use_errno=True)


class Unbuilt(Exception):
    """The part of the walls that can't be built, and why."""


def leave_host(user: int, group: int, *, network: bool) -> None:
    """`network`: whether the host's is kept; otherwise there is only a loopback interface."""
    flags = os.CLONE_NEWPID | os.CLONE_NEWIPC | (0 if network else os.CLONE_NEWNET)
    try:
        os.unshare(flags if user == 0 else flags | os.CLONE_NEWUSER)
        if user:
            write_map("/proc/self/setgroups", "deny")
            write_map("/proc/self/uid_map", f"{user} {user} 1")
            write_map("/proc/self/gid_map", f"{group} {group} 1")
    except OSError as error:
        raise Unbuilt(f"namespaces: {error.strerror}") from None
    if not network:
        line = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
        fcntl.ioctl(
            line.fileno(),
            _SIOCSIFFLAGS,
            (b"lo".ljust(16, b"\0") + _IFF_UP_RUNNING.to_bytes(2, sys.byteorder)).ljust(40, b"\0"),
        )
        line.close()


def write_map(path: str, text: str) -> None:
    with open(path, "w") as file:  # noqa: PTH123
        file.write(text)


# --- files


def build(walls: dict[str, Any]) -> None:
    """Mounts the planned file system (`walls.py`) for this process and those that it will start."""
    before = os.umask(0o022)
    try:
        os.unshare(os.CLONE_NEWNS)
        mount("none", "/", None, _MS_REC | _MS_PRIVATE)
        mount("tmpfs", "/tmp", "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=755,size=16m")
        os.mkdir(f"/tmp{_OLD}")  # noqa: PTH102
        _checked(_c.pivot_root(b"/tmp", f"/tmp{_OLD}".encode()))
        os.chdir("/")
    except OSError as error:
        raise Unbuilt(f"a file system of its own: {error.strerror}") from None
    closed = ["/"]
    for kind, source, target, options in walls["mounts"]:
        try:
            _place(kind, source, target, options)
        except OSError as error:
            raise Unbuilt(f"{target} as {kind}: {error.strerror}") from None
        if kind in ("hidden", "closed"):
            closed.append(target)
    _checked(_c.umount2(_OLD.encode(), _MNT_DETACH))
    os.rmdir(_OLD)  # noqa: PTH106
    for target in closed:
        mount("none", target, None, _MS_REMOUNT | _MS_BIND | _MS_RDONLY | _MS_NOSUID | _MS_NODEV)
    os.umask(before)


def _place(kind: str, source: str, target: str, options: str) -> None:
    """Cases: a link, a file of ours, a file system of the kernel's, and a bind mount from the host."""
    place = os.fsencode(target)
    if kind in ("link", "text"):
        _make(kind, source, target)
        return
    old = f"{_OLD}{source}"
    is_folder = not source.startswith("/") or os.path.isdir(old)  # noqa: PTH112
    _make_room(target, is_folder=is_folder)
    if kind in ("proc", "devpts", "tmpfs", "hidden", "closed"):
        name = kind if kind in ("proc", "devpts") else "tmpfs"
        flags = _MS_NOSUID | _MS_NOEXEC | (_MS_NODEV if kind != "devpts" else 0)
        mount(name, target, name, flags & ~_MS_NOEXEC if kind == "tmpfs" else flags, options or None)
        return
    mount(old, target, None, _MS_BIND | _MS_REC)
    if kind != "device":
        attributes = _ATTR_NOSUID | _ATTR_NODEV | (_ATTR_RDONLY if kind == "readable" else 0)
        given = b"".join(each.to_bytes(8, sys.byteorder) for each in (attributes, 0, 0, 0))
        _checked(_c.syscall(_MOUNT_SETATTR, _AT_FDCWD, place, _AT_RECURSIVE, given, ctypes.c_size_t(len(given))))


def _make(kind: str, content: str, target: str) -> None:
    if kind == "link":
        os.makedirs(os.path.dirname(target), exist_ok=True)  # noqa: PTH103, PTH120
        os.symlink(content, target)  # noqa: PTH211
        return
    own = f"/.{os.path.basename(target)}"  # noqa: PTH119
    write_map(own, content)
    _make_room(target, is_folder=False)
    mount(own, target, None, _MS_BIND)


def _make_room(target: str, *, is_folder: bool) -> None:
    if is_folder:
        os.makedirs(target, exist_ok=True)  # noqa: PTH103
    elif not os.path.lexists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)  # noqa: PTH103, PTH120
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))


def mount(source: str, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    names = [each if each is None else os.fsencode(each) for each in (source, target, kind)]
    _checked(_c.mount(*names, ctypes.c_ulong(flags), None if options is None else options.encode()))


def _checked(result: int) -> None:
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


# --- rights


class Sealed:
    """Moves a program from process 1 into its own user namespace; process 1 has to map its ids from outside."""

    def __init__(self, user: int, group: int, outer: int) -> None:
        self._user, self._group, self._outer = user, group, outer
        self._asks, self._asked = os.pipe()
        self._answered, self._answers = os.pipe()

    def enter(self, *, is_scoped: bool) -> None:
        """Called in the program's process, before it becomes the program. `is_scoped`: it reaches no abstract sockets
        but its own; from Linux 6.12 on."""
        try:
            os.unshare(os.CLONE_NEWUSER)
            os.write(self._asked, b"?")
            os.read(self._answered, 1)
            os.setresgid(self._group, self._group, self._group)
            if self._user == 0:
                os.setgroups([])
            os.setresuid(self._user, self._user, self._user)
        except OSError:
            os._exit(127)
        if number := _KEYCTL.get(os.uname().machine):
            _c.syscall(number, _JOIN_SESSION_KEYRING, None)  # the inherited one is the daemon's
        _c.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
        if is_scoped:
            asked = bytes(16) + _SCOPES.to_bytes(8, sys.byteorder)
            rules = _c.syscall(_CREATE_RULESET, asked, ctypes.c_size_t(len(asked)), 0)
            if rules >= 0:
                _c.syscall(_RESTRICT_SELF, rules, 0)
                os.close(rules)
        for capability in range(64):
            if _c.prctl(_CAPBSET_DROP, capability, 0, 0, 0):
                break

    def let(self, program: int) -> None:
        """Called in process 1."""
        os.close(self._asked)
        if not os.read(self._asks, 1):
            raise Unbuilt("a user namespace for the program")
        group = self._outer if self._user == 0 else self._group
        write_map(f"/proc/{program}/uid_map", f"{self._user} {self._outer} 1")
        write_map(f"/proc/{program}/gid_map", f"{self._group} {group} 1")
        os.write(self._answers, b"!")
        for each in (self._asks, self._answered, self._answers):
            os.close(each)
        _c.prctl(_DUMPABLE, 0, 0, 0, 0)


def keep_descriptors() -> None:
    """Keeps descriptors from programs that are started: each has only the usual three."""
    for each in os.listdir("/proc/self/fd"):  # noqa: PTH208 -- this text is in one of them
        if int(each) > 2:
            _c.fcntl(int(each), fcntl.F_SETFD, fcntl.FD_CLOEXEC)


def become(argv: list[str]) -> None:
    """Like `os.execvp`, which would import modules when they can't be read any more."""
    folders = [""] if "/" in argv[0] else os.environ.get("PATH", os.defpath).split(":")
    found: OSError | None = None
    for folder in folders:
        try:
            os.execv(f"{folder}/{argv[0]}" if folder else argv[0], argv)
        except OSError as error:
            found = error if found is None or not isinstance(error, FileNotFoundError) else found
    if found is not None:
        raise found
