"""A program that wants to stay after it should have ended, and how it is known that it did not."""

import fcntl
import sys
from pathlib import Path

#: it notes its presence by a lock that the kernel takes from who is dead, because its process id may be another here
PROGRAM = """\
import fcntl, sys, time
held = open(sys.argv[1], "a")
fcntl.flock(held, fcntl.LOCK_SH)
print("held", file=held, flush=True)
time.sleep(600)
"""


class Stayer:
    def __init__(self, folder: Path) -> None:
        self.note, self.program = folder / "held", folder / "stay.py"
        self.program.write_text(PROGRAM)
        self.argv = [sys.executable, str(self.program), str(self.note)]
        self.command = " ".join(self.argv)

    @property
    def has_begun(self) -> bool:
        return self.note.exists() and "held" in self.note.read_text()

    @property
    def is_gone(self) -> bool:
        with self.note.open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        return True

    @property
    def never_was_or_is_gone(self) -> bool:
        return not self.note.exists() or self.is_gone


def notes(folder: Path) -> Path:
    """Where a test that is tried may leave word outside of its walls."""
    made = folder / "notes"
    made.mkdir(exist_ok=True)
    made.chmod(0o777)
    return made
