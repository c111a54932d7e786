"""Reads from a program that the kernel holds, and from the files that it names.

This is part of the keeper's text (`trials/keeper.py`), so it imports nothing of ours.
"""

import errno
import os

_FIRST_LINE = 256


def memory_of(task: int, address: int, size: int) -> bytes:
    """Empty if the address is invalid: then the call itself will fail."""
    number = os.open(f"/proc/{task}/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.pread(number, size, address)
    except OSError as error:
        if error.errno in (errno.EIO, errno.EFAULT, errno.EINVAL, errno.EOVERFLOW):
            return b""
        raise
    finally:
        os.close(number)


def first_line(path: bytes) -> bytes:
    """Empty if it is no file, or can't be read. It never waits: the path may be a pipe."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.pread(number, _FIRST_LINE, 0).partition(b"\n")[0]
    except OSError:
        return b""
    finally:
        os.close(number)


def process_of(task: int) -> int:
    with open(f"/proc/{task}/status", "rb") as file:
        for line in file:
            if line.startswith(b"Tgid:"):
                return int(line.split()[1])
    return task


def signed(number: int) -> int:
    number &= 0xFFFFFFFF
    return number - 2**32 if number >= 2**31 else number
