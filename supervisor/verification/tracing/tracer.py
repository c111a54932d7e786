"""Notes which files of a checkout the programs of a run open, execute or look for: a thread of their keeper.

This is part of the keeper's text (`trials/keeper.py`), so it imports nothing of ours. Theory of operation. The kernel
holds a program at each call that names a file (`filtering`) and reports the call here. The path is read from the
program's memory and resolved as it is at this moment (`resolving`), and the program continues: the kernel executes
the call itself, and nothing is ever refused. A path that can't be read makes the whole run unknown.

A process that notes by itself what it does (Python with our probe) announces that by looking for a certain file. It
knows more about its code than the kernel, so neither its code nor the folders that its imports search are noted. When
the thread ends, for whatever reason, its descriptor is closed, and the kernel refuses the calls that it would have
asked about: programs fail, and none waits.

A signal may end a call before it is reported here; a program that does not expect that then takes another path. The
kernel numbers the calls, so the number of those that were not reported is known.
"""

import _socket
import _thread
import errno
import fcntl
import json
import os
import select
import struct
import sys
import time

if __name__ != "__main__":
    from typing import Any

    from supervisor.verification.tracing.filtering import (
        ASKS,
        CONNECTS,
        LEAVES,
        LOADS,
        MACHINES,
        MOVES,
        OF_FILES,
        OF_FOLDERS,
        OPENS,
        READS_LINK,
        RUNS,
        calls,
        listen,
    )
    from supervisor.verification.tracing.peeking import first_line, memory_of, process_of, signed
    from supervisor.verification.tracing.resolving import Resolver, whole

_RECEIVE, _ANSWER, _SET_FLAGS = 0xC0502100, 0xC0182101, 0x40082104
_WAKES_AT_ONCE = 1
_NOTICE, _REPLY = struct.Struct("=QIIiIQ6Q"), struct.Struct("=QqiI")
_GO_ON = _REPLY.pack(0, 0, 0, 1)[8:]
_NO_FOLLOW, _NO_FOLLOW_OPEN, _FOLLOW_LINK = 0x100, os.O_NOFOLLOW, 0x400
_WITHOUT_NAME = os.O_TMPFILE & ~os.O_DIRECTORY
_IN_ROOT = 0x10
_LONGEST = 4096
#: the most paths that are noted
MOST_PATHS = 100_000
_CODE = (b".py", b".pyc")
_MOST_INTERPRETERS = 4
#: services that listen there answer questions about users, hosts and time, and read no checkout
_OF_THE_SYSTEM = (
    *(b"/run/systemd/userdb/", b"/run/systemd/resolve/", b"/run/systemd/journal/"),
    *(b"/run/nscd/", b"/var/lib/sss/pipes/", b"/run/avahi-daemon/", b"/dev/log"),
)
#: how coarse the clock of the file system may be
_TICK = 10_000_000


class Tracer:
    """`asked`: the checkout (`root`), the file that a process looks for if it notes by itself (`marker`), and where
    to write the notes (`notes`)."""

    def __init__(self, asked: "dict[str, Any]") -> None:
        self._asked = asked
        self._ours, self._theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
        self._found: set[tuple[str, bytes]] = set()
        #: notes of processes that may still announce that they note by themselves
        self._pending: dict[int, set[tuple[str, bytes]]] = {}
        self._noting: set[int] = set()
        self._collecting: set[int] = set()
        self._unknown = ""
        #: how many calls were not reported, and the number of the next call
        self._interrupted = 0
        self._next: int | None = None
        self._lacks = "the kernel was not heard"
        self._since = 0

    # --- in the program's process

    def give(self) -> None:
        """Called before the process becomes the program."""
        try:
            number = listen()
        except OSError as error:
            self._theirs.send(f"the kernel tells no files: {error.strerror}".encode())
            return
        try:
            held = number.to_bytes(4, sys.byteorder)
            self._theirs.sendmsg([b"!"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, held)])
        finally:
            os.close(number)

    # --- in the keeper's

    def begin(self) -> None:
        self._theirs.close()
        said, given, _, _ = self._ours.recvmsg(1000, _socket.CMSG_SPACE(4))
        self._ours.close()
        if not given:
            self._lacks = said.decode() or self._lacks
            return
        self._since = time.time_ns() - _TICK
        self._lacks = ""
        self._calls = calls(os.uname().machine)
        self._machine = MACHINES[os.uname().machine][0]
        self._resolver = Resolver(self._asked["root"])
        self._marker = os.fsencode(self._asked["marker"])
        _thread.start_new_thread(self._serve, (int.from_bytes(given[0][2], sys.byteorder),))

    def tell(self) -> None:
        """Writes what was noted so far."""
        every = self._found.copy().union(*self._pending.copy().values())
        notes = sorted([kind, os.fsdecode(path)] for kind, path in every)
        told = {"lacks": self._lacks, "unknown": self._unknown, "interrupted": self._interrupted, "notes": notes}
        with open(self._asked["notes"], "wb", closefd=False) as file:
            file.write(json.dumps(told).encode())

    def _serve(self, listener: int) -> None:
        try:
            fcntl.fcntl(listener, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
            _wake_at_once(listener)
            notice, nothing = bytearray(_NOTICE.size), bytes(_NOTICE.size)
            while True:
                notice[:] = nothing
                try:
                    fcntl.ioctl(listener, _RECEIVE, notice, True)
                except OSError as error:
                    if error.errno in (errno.EINTR, errno.ENOENT) and not _has_ended(listener):
                        continue
                    return
                self._answer(listener, _NOTICE.unpack(notice))
        except BaseException as problem:
            self._unknown = f"who noted its files has failed: {problem!r}"
        finally:
            os.close(listener)

    def _answer(self, listener: int, notice: "tuple[int, ...]") -> None:
        number, task, _, call, machine, _, *arguments = notice
        self._interrupted += 0 if self._next is None else (number - self._next) % 2**64
        self._next = number + 1
        trouble = ""
        try:
            if machine != self._machine or call not in self._calls:
                trouble = "it starts a program for an older machine, which can't be watched"
            else:
                trouble = self._note(task, self._calls[call], arguments)
        except OSError as error:
            trouble = f"what a program names can't be read: {error.strerror}"
        try:
            fcntl.ioctl(listener, _ANSWER, number.to_bytes(8, sys.byteorder) + _GO_ON)
        except OSError:
            return  # the program is gone, and so is what it would have done
        self._unknown = self._unknown or trouble

    # --- what a call is about

    def _note(
        self, task: int, call: "tuple[str, str, int | None, int | None, int | None]", arguments: "list[int]"
    ) -> str:
        """Why it can't be known what the call reaches; "" if it can."""
        name, does, at_folder, at_path, at_flags = call
        if does == LEAVES:
            return f"it calls {name}, after which its paths lead elsewhere"
        if does == CONNECTS:
            return self._connected(task, arguments)
        flags = 0 if at_flags is None else arguments[at_flags] & 0xFFFFFFFF
        if name == "openat2":
            how = memory_of(task, arguments[2], 24).ljust(24, b"\0")
            flags = int.from_bytes(how[:8], sys.byteorder)
            if int.from_bytes(how[16:24], sys.byteorder) & _IN_ROOT:
                return "it opens files within another root"
        path = memory_of(task, arguments[at_path or 0], _LONGEST).partition(b"\0")[0]
        if does == ASKS and path.startswith(self._marker):
            self._hear(task, path[len(self._marker) :])
            return ""
        folder = None if at_folder is None else signed(arguments[at_folder])
        if does == RUNS:
            self._is_another(task)
        if not path and does != RUNS:
            return ""
        if does == OPENS and flags & _WITHOUT_NAME:
            return ""
        try:
            full = whole(task, folder, path)
        except FileNotFoundError:
            return ""  # the descriptor is not open, or the folder is gone
        self._keep(task, does, full, follows=_follows(name, does, flags))
        return ""

    def _keep(self, task: int, does: str, full: bytes, *, follows: bool) -> None:
        for path, kind in self._resolver.found(full, follows=follows):
            if kind == "nothing":
                self._add(task, ASKS, path)
            elif kind == "link":
                self._add(task, OPENS, path)
            elif kind == "folder":
                self._add(task, OF_FOLDERS.get(does, ASKS), path)
            elif not (does == ASKS and self._collecting and process_of(task) in self._collecting):
                self._add(task, OF_FILES.get(does, ASKS), path)
                if does == RUNS:
                    self._interpreted(task, full)

    def _interpreted(self, task: int, full: bytes, depth: int = 0) -> None:
        """The kernel itself opens what the first line of a script names."""
        first = first_line(full)
        if first.startswith(b"#!") and depth < _MOST_INTERPRETERS and (words := first[2:].split()):
            named = whole(task, None, words[0])
            for path, kind in self._resolver.found(named, follows=True):
                self._add(task, OPENS if kind != "nothing" else ASKS, path)
                self._interpreted(task, named, depth + 1)

    def _add(self, task: int, kind: str, path: bytes) -> None:
        note = kind, path
        if note in self._found or note == (ASKS, b""):
            return
        process = process_of(task)
        if len(self._found) >= MOST_PATHS:
            self._unknown = self._unknown or f"it names more than {MOST_PATHS} files"
            return
        is_noting = process in self._noting
        if kind != "list" and not path.endswith(_CODE):
            self._found.add((LOADS, path) if is_noting and kind == OPENS else note)
        elif not is_noting:
            self._pending.setdefault(process, set()).add(note)

    def _hear(self, process: int, what: bytes) -> None:
        """The process notes by itself: so far it only started to do so, or did nothing at all if it was forked. A
        pytest that collects looks at each file of its folders, which concerns no test."""
        if what in (b"", b"-forked"):
            self._noting.add(process)
        if what == b"":
            self._pending.pop(process, None)
        if what == b"-collects":
            self._collecting.add(process)
        if what == b"-runs":
            self._collecting.discard(process)

    def _is_another(self, task: int) -> None:
        """The process becomes another program, if there is one."""
        self._noting.discard(task)
        self._collecting.discard(task)
        self._found |= self._pending.pop(task, set())

    def _connected(self, task: int, arguments: "list[int]") -> str:
        """Files that a program from before the run opens for it can't be noted."""
        address = memory_of(task, arguments[1], min(arguments[2], 110))
        if int.from_bytes(address[:2], sys.byteorder) != _socket.AF_UNIX or address[2:3] in (b"", b"\0"):
            return ""
        try:
            full = os.path.realpath(whole(task, None, address[2:].partition(b"\0")[0]))
            is_older = os.stat(full).st_ctime_ns < self._since
        except OSError:
            return ""
        if not is_older or full.startswith(_OF_THE_SYSTEM):
            return ""
        return f"it talks to a program that was there before, at {os.fsdecode(full)}"


def _follows(name: str, does: str, flags: int) -> bool:
    if does in (MOVES, READS_LINK):
        return name == "linkat" and bool(flags & _FOLLOW_LINK)
    if does == OPENS:
        return not flags & _NO_FOLLOW_OPEN
    return name != "lstat" and not flags & _NO_FOLLOW


def _wake_at_once(listener: int) -> None:
    """If the kernel can."""
    try:
        fcntl.ioctl(listener, _SET_FLAGS, _WAKES_AT_ONCE)
    except OSError:
        return


def _has_ended(listener: int) -> bool:
    """Whether no process is left that the kernel could report on."""
    waiting = select.poll()
    waiting.register(listener, 0)
    return bool(waiting.poll(0))
