"""The processes that agents of tests have been, as `tests/daemon/agent` writes them down.

The kernel gives the number of a process that is gone to another one: each is known by its number and its start.
"""

from pathlib import Path
from typing import NamedTuple

PROC = Path("/proc")


class Life(NamedTuple):
    what: str
    pid: int
    #: by the clock of the kernel
    started: int
    job: str
    attempt: str

    def is_alive(self, proc: Path = PROC) -> bool:
        """A process that nobody has waited for is dead all the same."""
        try:
            fields = (proc / str(self.pid) / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            return False
        return fields[0] != "Z" and int(fields[19]) == self.started


def lives(path: Path) -> list[Life]:
    rows = (line.split() for line in path.read_text().splitlines())
    return [Life(what, int(pid), int(started), job, attempt) for what, pid, started, job, attempt in rows]
