"""Watches what an enclosed program takes, and reports when it is too much.

This is part of the keeper's text (`trials/keeper.py`), so it imports nothing of ours; process 1 runs it. The kernel
itself limits processes and shared memory. The rest is checked cheaply ten times a second (pages of each process, free
blocks of each disk). Only on suspicion is the program's real use counted, because others use the machine as well. A
disk that is nearly full ends the program, whoever filled it.
"""

import os
import resource
import time

if __name__ != "__main__":
    from typing import Any

EVERY_SECONDS = 0.1
#: counting takes a while: it is done at most this often
_COUNT_SECONDS = 0.5
#: how much of a disk is left to others; less if less was free
_LEFT_BYTES, _LEFT_FILES = 2**30, 20_000
_PAGE = resource.getpagesize()
_SHARED_MEMORY = "/dev/shm"


def limit_processes(most: int) -> None:
    """Called in the program's process: its user namespace counts only its own processes. The kernel's limit is above
    the watched one, so that a program that reaches the watched one is noticed. This also turns core dumps off, and
    makes the kernel kill the program first when memory is short."""
    limit = most + max(16, most // 4)
    resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123
        file.write("1000")


class Watch:
    def __init__(self, limits: dict[str, Any]) -> None:
        self._memory, self._processes = limits["memory"], limits["processes"]
        self._places, self._disk = limits["places"], limits["disk"]
        self._is_alone = limits["has_own_network"]
        self._since = time.time_ns()
        self._free = {each: os.statvfs(each) for each in self._places}
        self._available = _available()
        self._next = {"memory": 0.0, "disk": 0.0}

    def exceeded(self) -> str:
        """What there is too much of: processes, memory, disk, or `full`."""
        threads, resident = _processes()
        if threads > self._processes:
            return "processes"
        suspects = resident + _used(_SHARED_MEMORY) >= self._memory or self._available - _available() >= self._memory
        if suspects and self._is_time_for("memory") and memory() >= self._memory:
            return "memory"
        return self._on_disk()

    def facts(self) -> list[str]:
        """The walls that it hit without being ended for it; to be called once it has ended."""
        return ["network"] if self._is_alone and _unreachable() else []

    def _on_disk(self) -> str:
        taken = 0
        for place, before in self._free.items():
            now = os.statvfs(place)
            left = min(_LEFT_BYTES, before.f_bavail * before.f_frsize // 2)
            if now.f_bavail * now.f_frsize < left or now.f_ffree < min(_LEFT_FILES, before.f_ffree // 2):
                return "full"
            taken = max(taken, (before.f_bavail - now.f_bavail) * before.f_frsize)
        if taken >= self._disk and self._is_time_for("disk") and self._written() >= self._disk:
            return "disk"
        return ""

    def _is_time_for(self, what: str) -> bool:
        now = time.monotonic()
        if now < self._next[what]:
            return False
        self._next[what] = now + _COUNT_SECONDS
        return True

    def _written(self) -> int:
        """Bytes on disk of all files that were changed since the start, including open files without a name."""
        seen: set[tuple[int, int]] = set()
        waiting, size = list(self._places), 0
        while waiting and size < self._disk:
            try:
                with os.scandir(waiting.pop()) as entries:
                    for each in entries:
                        if each.is_dir(follow_symlinks=False):
                            waiting.append(each.path)
                        else:
                            size += self._new(each.stat(follow_symlinks=False), seen)
            except OSError:
                continue
        return size + sum(self._new(each, seen) for _, each in _open_files() if each.st_nlink == 0)

    def _new(self, found: os.stat_result, seen: set[tuple[int, int]]) -> int:
        own = (found.st_dev, found.st_ino)
        if own in seen or found.st_ctime_ns < self._since:
            return 0
        seen.add(own)
        return found.st_blocks * 512


def _numbers() -> list[str]:
    return [each for each in os.listdir("/proc") if each.isdigit()]  # noqa: PTH208


def _processes() -> tuple[int, int]:
    """Threads, and bytes in memory; shared memory is counted for each process."""
    threads = pages = 0
    for number in _numbers():
        fields = _read(f"/proc/{number}/stat").rpartition(b")")[2].split()
        if len(fields) > 21 and number != "1":
            threads, pages = threads + int(fields[17]), pages + int(fields[21])
    return threads, pages * _PAGE


def memory() -> int:
    """Bytes that only the program needs, without those of files, which the kernel can drop."""
    anonymous = 0
    for number in _numbers():
        for line in _read(f"/proc/{number}/smaps_rollup").splitlines():
            if line.startswith(b"Pss_Anon:"):
                anonymous += int(line.split()[1]) * 1024
    unnamed = {
        (each.st_dev, each.st_ino): each.st_blocks * 512 for target, each in _open_files() if "/memfd:" in target
    }
    segments = [line.split() for line in _read("/proc/sysvipc/shm").splitlines()[1:]]
    return anonymous + _used(_SHARED_MEMORY) + sum(unnamed.values()) + sum(int(each[14]) for each in segments)


def _open_files() -> list[tuple[str, os.stat_result]]:
    found = []
    for number in _numbers():
        try:
            for name in os.listdir(f"/proc/{number}/fd"):  # noqa: PTH208
                path = f"/proc/{number}/fd/{name}"
                target = os.readlink(path)  # noqa: PTH115
                if target.startswith("/"):
                    found.append((target, os.stat(path)))  # noqa: PTH116
        except OSError:
            continue
    return found


def _available() -> int:
    for line in _read("/proc/meminfo").splitlines():
        if line.startswith(b"MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0


def _used(folder: str) -> int:
    found = os.statvfs(folder)
    return (found.f_blocks - found.f_bfree) * found.f_frsize


def _unreachable() -> int:
    """How many packets had no route, as the network namespace counts them."""
    names, _, rest = _read("/proc/net/snmp").partition(b"\nIp: ")
    numbers = dict(zip(names.split()[1:], rest.split(), strict=False))
    sixth = dict(line.split() for line in _read("/proc/net/snmp6").splitlines() if len(line.split()) == 2)
    return int(numbers.get(b"OutNoRoutes", 0)) + int(sixth.get(b"Ip6OutNoRoutes", 0))


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return file.read()
    except OSError:
        return b""
