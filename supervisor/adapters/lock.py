"""One daemon per state directory. The lock is the kernel's, so it goes with its holder, however that ends."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from supervisor.errors import Locked


@contextmanager
def lock(state_dir: Path) -> Iterator[None]:
    """Hold `<state_dir>/lock`; Locked when another process does."""
    # Programs that are started meanwhile don't inherit it, and the file is never deleted: else two processes could
    # each hold "the" lock.
    with (state_dir / "lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise _locked(state_dir, file.read(20).strip()) from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


def _locked(state_dir: Path, pid: str) -> Locked:
    holder = f"process {pid}" if pid.isdigit() else "another process"
    return Locked(
        f"the state directory {state_dir} is in use by {holder}",
        hint="one daemon per state directory: stop that one first, or use it",
    )
