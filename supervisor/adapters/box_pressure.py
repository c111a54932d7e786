"""What is left of this machine, as the kernel tells it: memory, room, descriptors, and who waits for them."""

import resource
import shutil
from contextlib import suppress
from pathlib import Path

from supervisor.model.pressure import Pressure

#: What changed by less than this share of it is no news.
NEWS_SHARE, NEWS_POINTS = 0.1, 0.1
_MB, _KB = 1024 * 1024, 1024


def look(folder: Path, proc: Path = Path("/proc")) -> Pressure:
    """Blocking. Without pressure stall information nobody waits, as far as that is known."""
    memory = _fields(proc / "meminfo")
    total = memory.get("MemTotal", 0) // _KB
    free = memory.get("MemAvailable", memory.get("MemFree", 0)) // _KB
    return Pressure(
        memory_free_mb=free,
        memory_total_mb=total,
        disk_free_mb=shutil.disk_usage(folder).free // _MB,
        files_free=_files_free(proc),
        memory_share=_share(proc / "pressure" / "memory"),
        io_share=_share(proc / "pressure" / "io"),
    )


def _fields(path: Path) -> dict[str, int]:
    found = {}
    with suppress(OSError):
        for line in path.read_text().splitlines():
            name, _, value = line.partition(":")
            if words := value.split():
                found[name] = int(words[0])
    return found


def _files_free(proc: Path) -> int:
    """Of this process, which holds some for each agent, and of the machine."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    own = limit - sum(1 for _ in (proc / "self" / "fd").iterdir()) if limit != resource.RLIM_INFINITY else _MB
    with suppress(OSError, ValueError):
        used, _, most = (int(word) for word in (proc / "sys/fs/file-nr").read_text().split())
        return min(own, most - used)
    return own


def _share(path: Path) -> float:
    """The share of the last ten seconds in which all that could have run waited."""
    with suppress(OSError):
        for line in path.read_text().splitlines():
            kind, *pairs = line.split()
            if kind == "full":
                return float(dict(pair.split("=") for pair in pairs)["avg10"]) / 100
    return 0.0


def is_news(before: Pressure | None, seen: Pressure) -> bool:
    if before is None:
        return True
    sizes = ("memory_free_mb", "disk_free_mb", "files_free")
    changed = any(
        abs(getattr(seen, each) - getattr(before, each)) > NEWS_SHARE * getattr(before, each) for each in sizes
    )
    shares = ("memory_share", "io_share")
    return changed or any(abs(getattr(seen, each) - getattr(before, each)) > NEWS_POINTS for each in shares)
