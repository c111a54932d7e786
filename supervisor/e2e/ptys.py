"""Pseudo-terminals: a pair of file descriptors, a size, and how one becomes a session's controlling terminal."""

import fcntl
import os
import struct
import termios
from dataclasses import dataclass

# A session leader without a terminal gets the first one it opens; so the shell opens it, and no code of ours has
# to run between fork and exec (which would be slow, and unsafe beside threads). `$0` is the terminal's path.
TAKE_TERMINAL = ("bash", "-c", 'exec <>"$0" >&0 2>&0; exec "$@"')


@dataclass(frozen=True, slots=True)
class Size:
    """Of a terminal, in characters."""

    columns: int = 120
    lines: int = 40


def open_pair(size: Size) -> tuple[int, int]:
    master, slave = os.openpty()
    resize(master, size)
    return master, slave


def resize(fd: int, size: Size) -> None:
    """Also notifies the programs in it (SIGWINCH)."""
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", size.lines, size.columns, 0, 0))
