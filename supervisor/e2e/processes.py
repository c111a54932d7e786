"""Finds, names and ends every process that a command leaves behind.

While a command runs, this process is a "child subreaper" (prctl): an orphaned descendant of the command becomes our
child, whatever its session or process group, so a double fork or `setsid` does not escape. An orphan belongs to the
command whose token is in its environment; one without a token is ours if it is neither in our session nor started by
the test itself. Linux only.
"""

import ctypes
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache

TOKEN = "E2E_RUN_ID"
KEEP = "E2E_KEEP"  # set by our own terminal recorder, which outlives the command that started it
_SET_CHILD_SUBREAPER = 36
_HARD_LIMIT_SECONDS = 5.0
_adoption = threading.Lock()
_adopting = 0
# Held while a shell starts and while orphans are searched: a shell that ends before it is registered would be
# mistaken for an orphan of another thread's command.
starting = threading.Lock()
shells: set[int] = set()


@dataclass(frozen=True, slots=True)
class LeftBehind:
    """A process that outlived its command."""

    pid: int
    command: str


@cache
def _prctl() -> Callable[..., int]:
    return ctypes.CDLL(None, use_errno=True).prctl


def _adopt(change: int) -> None:
    global _adopting
    with _adoption:
        _adopting += change
        _prctl()(_SET_CHILD_SUBREAPER, int(_adopting > 0), 0, 0, 0)


def _read(path: str) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(fd, 1 << 20)
    except OSError:
        return b""
    finally:
        os.close(fd)


def children(pid: int | str) -> set[int]:
    try:
        tasks = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 (on the fast path of every command)
    except OSError:
        return set()
    return {int(child) for task in tasks for child in _read(f"/proc/{pid}/task/{task}/children").split()}


def descendants(pids: Iterable[int]) -> set[int]:
    found: set[int] = set()
    front = set(pids)
    while front:
        found |= front
        front = {child for pid in front for child in children(pid)} - found
    return found


def is_alive(pid: int) -> bool:
    state = _read(f"/proc/{pid}/stat").rpartition(b") ")[2][:1]
    return state not in (b"", b"Z", b"X")


def started_at(pid: int) -> int | None:
    """By the kernel's clock; None: it is gone. Its number is given to another one then: only both together say for
    long which process is meant."""
    fields = _read(f"/proc/{pid}/stat").rpartition(b") ")[2].split()
    return int(fields[19]) if len(fields) > 19 else None


def environment_value(pid: int, name: str) -> str | None:
    start = f"{name}=".encode()
    for entry in _read(f"/proc/{pid}/environ").split(b"\0"):
        if entry.startswith(start):
            return entry[len(start) :].decode(errors="replace")
    return None


def name_of(pid: int) -> LeftBehind:
    words = _read(f"/proc/{pid}/cmdline").rstrip(b"\0").split(b"\0")
    return LeftBehind(pid, b" ".join(words).decode(errors="replace")[:500] or _read_name(pid))


def _read_name(pid: int) -> str:
    return _read(f"/proc/{pid}/comm").decode(errors="replace").strip()


def with_token(prefix: str) -> set[int]:
    """Every live process of this user whose environment carries a token that starts with `prefix`."""
    pids = (int(name) for name in os.listdir("/proc") if name.isdigit())  # noqa: PTH208
    return {pid for pid in pids if (environment_value(pid, TOKEN) or "").startswith(prefix) and is_alive(pid)}


def _is_foreign(pid: int) -> bool:
    """Whether a child of ours without a token was adopted, not started by the test."""
    session = session_of(pid)
    apart = session is not None and session != os.getsid(0)
    return apart and environment_value(pid, "PYTEST_CURRENT_TEST") is None


def session_of(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None


def send(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue


@dataclass(slots=True)
class Tree:
    """The processes of one command, from before its shell starts until all have ended."""

    token: str
    shell: int = 0
    #: children of ours that were there before, each with its start
    _before: set[tuple[int, int | None]] = field(default_factory=set)

    def __enter__(self) -> "Tree":
        _adopt(+1)
        self._before = {(pid, started_at(pid)) for pid in children("self")}
        return self

    def __exit__(self, *_: object) -> None:
        self.shell_ended()
        _adopt(-1)

    def started(self, shell: int) -> None:
        self.shell = shell
        shells.add(shell)

    def shell_ended(self) -> None:
        """The shell was reaped: its pid may be reused from now on."""
        shells.discard(self.shell)
        self.shell = 0

    def orphans(self) -> set[int]:
        """Reap dead orphans of this command; returns the live ones."""
        with starting:
            new = {pid for pid in children("self") - shells if (pid, started_at(pid)) not in self._before}
            return {pid for pid in new if self._owns(pid) and not reap(pid)}

    def _owns(self, pid: int) -> bool:
        token = environment_value(pid, TOKEN)
        return token == self.token or (token is None and _is_foreign(pid))

    def alive(self) -> set[int]:
        """Every live process of the command, except its shell and those that are to be kept."""
        roots = {pid for pid in self.orphans() if environment_value(pid, KEEP) is None}
        found = descendants(roots | ({self.shell} if self.shell else set())) - {self.shell}
        return {pid for pid in found if is_alive(pid)}

    def end(self, grace: float, meanwhile: Callable[[float], None] = time.sleep) -> set[int]:
        """Terminate, then kill, the shell and all its processes; returns them."""
        return end(self.everything, grace, meanwhile) - {self.shell}

    def everything(self) -> set[int]:
        return self.alive() | ({self.shell} if self.shell in shells and is_alive(self.shell) else set())


def reap(pid: int) -> bool:
    """Reap an adopted child, which would otherwise stay a zombie; returns whether it was dead."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid if not is_alive(pid) else False
    except ChildProcessError:
        return True


def end(alive: Callable[[], set[int]], grace: float, meanwhile: Callable[[float], None] = time.sleep) -> set[int]:
    """Send SIGTERM to all of `alive()`, then SIGKILL after `grace`; new forks are found and do not escape."""
    seen: set[int] = set()
    terminated: set[int] = set()
    start = time.monotonic()
    while found := alive():
        seen |= found
        spent = time.monotonic() - start
        if spent > grace + _HARD_LIMIT_SECONDS:
            break  # unkillable (in the kernel, or another user's), but still named in the result
        if spent > grace:
            send(found, signal.SIGKILL)
        else:
            send(found - terminated, signal.SIGTERM)
            terminated |= found
        meanwhile(min(0.02, 0.002 + spent / 4))
    return seen
