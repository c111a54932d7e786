"""Who speaks at the other end of a socket. It runs on other hosts, too: the standard library is all that it has."""

import os
import socket
import struct
from pathlib import Path


def is_of_ours(line: socket.socket) -> bool:
    """Whether this process, or one that it started, speaks at the other end: agents live outside of it."""
    process, _, _ = struct.unpack("3i", line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
    while process > 1 and process != os.getpid():
        try:
            stat = Path(f"/proc/{process}/stat").read_bytes()
        except OSError:
            return False
        process = int(stat.rpartition(b")")[2].split()[1])
    return bool(process == os.getpid())
