"""Kills all descendants of a program, however fast they fork; for a keeper that is their subreaper.

This is part of the keeper's text (`trials/keeper.py`), so it imports nothing of ours.
"""

import _signal as signal  # type: ignore[import-not-found] # `signal` takes longer to import than all the rest
import os
import time

if __name__ != "__main__":
    from collections.abc import Callable

#: how long to wait for a process that can't be killed, such as one of root's
_GIVE_UP_SECONDS = 30.0


def end_all(program: int) -> int | None:
    """Once no child is left, no descendant is left, because every orphan becomes a child."""
    code: int | None = None
    tried: set[int] = set()
    until = time.monotonic() + _GIVE_UP_SECONDS
    while time.monotonic() < until:
        below = _descendants()
        killed = {each for each in below if _kill(each)}
        if not killed <= tried:
            until = time.monotonic() + _GIVE_UP_SECONDS  # processes that fork without end are outrun in the end
        tried |= killed
        is_quiet = True
        try:
            while True:
                ended, status = os.waitpid(-1, os.WNOHANG)
                if not ended:
                    break
                is_quiet = False
                if ended == program:
                    code = os.waitstatus_to_exitcode(status)
        except ChildProcessError:
            break
        if is_quiet:
            time.sleep(0.001)
    return code


def _kill(pid: int) -> bool:
    """Kills a process and its group: the group is killed at once, so no member can fork meanwhile. The program has a
    session of its own, so its groups contain no process of others."""
    try:
        os.kill(pid, signal.SIGKILL)
        os.killpg(os.getpgid(pid), signal.SIGKILL)
    except OSError:
        return False
    return True


def _descendants() -> set[int]:
    """From the kernel's lists of children, where it keeps them: a scan of all processes takes longer than a process
    lives that forks without end."""
    found = _below(_children)
    return found or _below(_parents().get)


def _below(children: Callable[[int], set[int] | None]) -> set[int]:
    found: set[int] = set()
    waiting = [os.getpid()]
    while waiting:
        new = (children(waiting.pop()) or set()) - found
        found |= new
        waiting += new
    return found


def _children(pid: int) -> set[int]:
    found: set[int] = set()
    try:
        for task in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208
            with open(f"/proc/{pid}/task/{task}/children", "rb") as file:  # noqa: PTH123
                found.update(int(each) for each in file.read().split())
    except OSError:
        pass
    return found


def _parents() -> dict[int, set[int]]:
    """Each process that has children, with its children."""
    found: dict[int, set[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                    parent = int(file.read().rpartition(b")")[2].split()[1])
            except OSError:
                continue
            found.setdefault(parent, set()).add(int(name))
    return found


def reaped(program: int) -> int | None:
    """The exit code of the program, once it has ended; other children that have ended are reaped."""
    code = None
    while True:
        try:
            ended, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code
        if not ended:
            return code
        if ended == program:
            code = os.waitstatus_to_exitcode(status)
