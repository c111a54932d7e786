"""Identifies the process at the other end of a socket. It runs on other hosts, too: only the standard library."""

import errno
import os
import select
import socket
import struct
from pathlib import Path

#: a descriptor of the process at the other end, since Linux 6.5
_SO_PEERPIDFD = 77


def is_of_ours(line: socket.socket) -> bool:
    """Whether the other end is this process or a descendant of it, which agents are not. A process that has ended
    does not count: another one may have its number by now."""
    process, _, _ = struct.unpack("3i", line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
    try:
        held = line.getsockopt(socket.SOL_SOCKET, _SO_PEERPIDFD)
    except OSError as error:  # on an older kernel the number is all there is
        return error.errno in (errno.ENOPROTOOPT, errno.EOPNOTSUPP) and _is_below(process)
    try:
        return _is_below(process) and not _has_ended(held)
    finally:
        os.close(held)


def _is_below(process: int) -> bool:
    while process > 1 and process != os.getpid():
        try:
            stat = Path(f"/proc/{process}/stat").read_bytes()
        except OSError:
            return False
        process = int(stat.rpartition(b")")[2].split()[1])
    return bool(process == os.getpid())


def _has_ended(process: int) -> bool:
    ends = select.poll()
    ends.register(process, select.POLLIN)
    return bool(ends.poll(0))
