"""Has the kernel ask about each call of a program that names a file: a seccomp filter, with a listener.

This is part of the keeper's text (`trials/keeper.py`), so it imports nothing of ours. The program's process loads the
filter before it becomes the program, and all its descendants inherit it: no process can drop it. The kernel runs the
filter for the calls below only (it remembers which calls always pass). Files that are only written and descriptors
that are only asked about are ignored.
"""

import ctypes
import os
import struct
import sys

#: what a call does with the file that it names
OPENS, ASKS, MOVES, RUNS, READS_LINK, CONNECTS, LEAVES = "open", "asked", "moved", "run", "link", "connect", "leave"

#: by machine: its number in seccomp, and the number of the call `seccomp`
MACHINES = {"x86_64": (0xC000003E, 317), "aarch64": (0xC00000B7, 277)}

#: a file that is opened by a process that notes its own code: it may be that code
LOADS = "loaded"
#: what is noted of a folder, and of a file, by what a call does with it; otherwise, that it was looked for
OF_FOLDERS = {OPENS: "list", MOVES: MOVES}
OF_FILES = {OPENS: OPENS, MOVES: OPENS, RUNS: RUNS}

#: name, what it does, the positions of the folder's descriptor, of the path and of the flags in its arguments, and
#: its number on each machine
_CALLS = (
    ("open", OPENS, None, 0, 1, {"x86_64": 2}),
    ("openat", OPENS, 0, 1, 2, {"x86_64": 257, "aarch64": 56}),
    ("openat2", OPENS, 0, 1, 2, {"x86_64": 437, "aarch64": 437}),
    ("execve", RUNS, None, 0, None, {"x86_64": 59, "aarch64": 221}),
    ("execveat", RUNS, 0, 1, 4, {"x86_64": 322, "aarch64": 281}),
    ("stat", ASKS, None, 0, None, {"x86_64": 4}),
    ("lstat", ASKS, None, 0, None, {"x86_64": 6}),
    ("newfstatat", ASKS, 0, 1, 3, {"x86_64": 262, "aarch64": 79}),
    ("statx", ASKS, 0, 1, 2, {"x86_64": 332, "aarch64": 291}),
    ("access", ASKS, None, 0, None, {"x86_64": 21}),
    ("faccessat", ASKS, 0, 1, None, {"x86_64": 269, "aarch64": 48}),
    ("faccessat2", ASKS, 0, 1, 3, {"x86_64": 439, "aarch64": 439}),
    ("chdir", ASKS, None, 0, None, {"x86_64": 80, "aarch64": 49}),
    ("readlink", READS_LINK, None, 0, None, {"x86_64": 89}),
    ("readlinkat", READS_LINK, 0, 1, None, {"x86_64": 267, "aarch64": 78}),
    ("rename", MOVES, None, 0, None, {"x86_64": 82}),
    ("renameat", MOVES, 0, 1, None, {"x86_64": 264, "aarch64": 38}),
    ("renameat2", MOVES, 0, 1, None, {"x86_64": 316, "aarch64": 276}),
    ("link", MOVES, None, 0, None, {"x86_64": 86}),
    ("linkat", MOVES, 0, 1, 4, {"x86_64": 265, "aarch64": 37}),
    ("connect", CONNECTS, None, None, None, {"x86_64": 42, "aarch64": 203}),
    ("chroot", LEAVES, None, None, None, {"x86_64": 161, "aarch64": 51}),
    ("pivot_root", LEAVES, None, None, None, {"x86_64": 155, "aarch64": 41}),
    ("mount", LEAVES, None, None, None, {"x86_64": 165, "aarch64": 40}),
    ("move_mount", LEAVES, None, None, None, {"x86_64": 429, "aarch64": 429}),
    ("open_by_handle_at", LEAVES, None, None, None, {"x86_64": 304, "aarch64": 265}),
)
#: `io_uring_setup`: a ring opens files without a call for each; a program that can't have one makes calls
_RING = 425
#: calls of the 32-bit machine that x86_64 also is: open, execve, openat, execveat, openat2; their paths are not read
_OLDER = {"x86_64": (5, 11, 295, 358, 437)}
_OTHER_NUMBERS = 0x40000000

_ONLY_WRITES, _ACCESS, _EMPTY_PATH = 1, 3, 0x1000
_LOAD, _EQUAL, _AT_LEAST, _ANY_OF, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_PASS, _ASK, _NOT_THERE = 0x7FFF0000, 0x7FC00000, 0x00050000 | 38
_NUMBER, _MACHINE, _ARGUMENTS = 0, 4, 16
_SET_FILTER, _PASS_SPECULATION, _LISTENER, _WAIT_KILLABLE = 1, 4, 8, 32
_NO_NEW_PRIVS = 38

_kernel = ctypes.CDLL(None, use_errno=True)


def calls(machine: str) -> dict[int, tuple[str, str, int | None, int | None, int | None]]:
    """By number."""
    return {
        numbers[machine]: (name, does, folder, path, flags)
        for name, does, folder, path, flags, numbers in _CALLS
        if machine in numbers
    }


def instructions(machine: str) -> list[tuple[int, int, int, int]]:
    """Instructions: operation, how many to skip if it holds and if it does not, and operand."""
    audited, _ = MACHINES[machine]
    older = _OLDER.get(machine, ())
    made = [(_LOAD, 0, 0, _MACHINE), (_EQUAL, 2 * len(older) + 2, 0, audited), (_LOAD, 0, 0, _NUMBER)]
    for number in older:
        made += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ASK)]
    made += [(_RETURN, 0, 0, _PASS), (_LOAD, 0, 0, _NUMBER)]
    made += [(_AT_LEAST, 0, 1, _OTHER_NUMBERS), (_RETURN, 0, 0, _ASK)]
    for number, (name, does, _, _, flags) in calls(machine).items():
        rule = _rule(name, does, flags)
        made += [(_EQUAL, 0, len(rule), number), *rule]
    return [*made, (_EQUAL, 0, 1, _RING), (_RETURN, 0, 0, _NOT_THERE), (_RETURN, 0, 0, _PASS)]


def _rule(name: str, does: str, flags: int | None) -> list[tuple[int, int, int, int]]:
    ask, let = (_RETURN, 0, 0, _ASK), (_RETURN, 0, 0, _PASS)
    if flags is None or name == "openat2":  # its flags are in memory
        return [ask]
    given = (_LOAD, 0, 0, _ARGUMENTS + 8 * flags + (0 if sys.byteorder == "little" else 4))
    if does == OPENS:
        return [given, (_AND, 0, 0, _ACCESS), (_EQUAL, 0, 1, _ONLY_WRITES), let, ask]
    if does == ASKS:
        return [given, (_ANY_OF, 0, 1, _EMPTY_PATH), let, ask]
    return [ask]


def listen() -> int:
    """From here on the kernel reports on this process and all its descendants. Raises OSError."""
    machine = os.uname().machine
    if machine not in MACHINES:
        raise OSError(38, f"the numbers of calls are not known for {machine}")
    text = b"".join(struct.pack("HBBI", *each) for each in instructions(machine))
    held = ctypes.create_string_buffer(text, len(text))
    given = struct.pack("HxxxxxxP", len(text) // 8, ctypes.addressof(held))
    problem = 0
    for more in (_PASS_SPECULATION | _WAIT_KILLABLE, _PASS_SPECULATION, 0):
        for is_bound in (False, True):
            if is_bound and (problem != 13 or _kernel.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)):
                continue  # the refusal is not for want of `no_new_privs`, which a user without rights needs
            number = _kernel.syscall(MACHINES[machine][1], _SET_FILTER, _LISTENER | more, given)
            if number >= 0:
                return int(number)
            problem = ctypes.get_errno()
    raise OSError(problem, os.strerror(problem))
