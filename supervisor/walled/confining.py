"""Keeps an agent from laying traps for programs that use its state directory from outside.

mngr writes there with the rights of the daemon's user: it locks, extends and truncates files by name. A
symbolic link at such a name would lead it to any file of that user, and a pipe would make it wait. So the kernel
(Landlock) lets an agent create these only in places that nobody else writes to. The agent can't remove the
restriction, and all that it starts inherits it. This is part of the keeper's text (`living`), so it imports nothing
of ours.
"""

import ctypes
import os

#: the numbers of these system calls are the same on all processors
_CREATE, _ADD, _RESTRICT = 444, 445, 446
_VERSION, _BENEATH = 1, 1
_SOCKETS, _PIPES, _LINKS, _MOVES = 1 << 9, 1 << 10, 1 << 12, 1 << 13
_TRAPS = _SOCKETS | _PIPES | _LINKS
#: the first version that can allow moving files between folders, and the first that knows sockets without a file
_LEAST, _SCOPING = 2, 6
_ABSTRACT_SOCKETS = 1

_kernel = ctypes.CDLL(None, use_errno=True)


def confining_lacks() -> str:
    """Why an agent can't be confined on this machine; "" if it can."""
    return "" if _version() >= _LEAST else "the kernel has no Landlock of its version 2, which came with Linux 5.19"


def _version() -> int:
    return int(_kernel.syscall(_CREATE, None, ctypes.c_size_t(0), _VERSION))


def confine(free: list[str]) -> None:
    """Confine this process, and all that it will start. `free`: where links, pipes and sockets may be created.
    Landlock gets one set of rules: each further one would forbid moving files."""
    asked = (_TRAPS | _MOVES).to_bytes(8, "little")
    if _version() >= _SCOPING:
        asked += bytes(8) + _ABSTRACT_SOCKETS.to_bytes(8, "little")
    rules = _done(_kernel.syscall(_CREATE, asked, ctypes.c_size_t(len(asked)), 0))
    for place, rights in [("/", _MOVES), *((each, _TRAPS | _MOVES) for each in free)]:
        number = os.open(place, os.O_PATH | os.O_CLOEXEC)
        given = rights.to_bytes(8, "little") + number.to_bytes(4, "little")
        _done(_kernel.syscall(_ADD, rules, _BENEATH, given, 0))
        os.close(number)
    _done(_kernel.syscall(_RESTRICT, rules, 0))
    os.close(rules)


def _done(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
