"""Processes of a drill: calls of mngr that its daemon has under way, and whatever is left at the end."""

import contextlib
import os
import signal
from collections import defaultdict
from pathlib import Path

from supervisor.e2e import processes

#: what keeps mngr's code loaded, and is forked for each call
SERVER = "fork_server"


def kill_calls(daemon: int, mngr: str) -> int:
    """With SIGKILL; how many there were."""
    killed = 0
    for pid in _calls(daemon, mngr):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            killed += 1
    return killed


def end_all_of(folder: Path) -> None:
    """Whose environment names the folder: what mngr starts beside an agent outlives it for a while."""
    processes.end(lambda: {pid for pid in _all() if _is_of(pid, folder) and processes.is_alive(pid)}, grace=1.0)


def _is_of(pid: int, folder: Path) -> bool:
    try:
        return f"={folder}/".encode() in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


def _all() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]


def _calls(daemon: int, mngr: str) -> list[int]:
    """Warm: children of the fork server, which have its command line. Plain: mngr with a verb."""
    children = _children()
    found, left = [], [(daemon, False)]
    while left:
        pid, is_server = left.pop()
        for child in children.get(pid, ()):
            words = _words(child)
            serves = any(SERVER in word for word in words)
            if is_server if serves else any(Path(word).name == Path(mngr).name for word in words):
                found.append(child)
            else:
                left.append((child, serves))
    return found


def _children() -> dict[int, list[int]]:
    children = defaultdict(list)
    for pid in _all():
        with contextlib.suppress(OSError):
            # The name may have spaces and brackets; the parent is the second word after it.
            stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
            children[int(stat.rpartition(")")[2].split()[1])].append(pid)
    return children


def _words(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")
    except OSError:
        return []
