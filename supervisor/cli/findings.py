"""What `doctor` judges, and what it finds."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from supervisor.settings import Settings


@dataclass(frozen=True, slots=True)
class Finding:
    name: str
    state: Literal["ok", "warning", "problem"]
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    settings: "Settings"
    #: where they come from, as shown to the user
    source: str
    #: the daemon's if it runs, else ours
    path: str
    user: int
    is_running: bool = False


def setups_kept(judged: Judged) -> Iterator[Finding]:
    """What setups left for later checkouts, if there is any, and we may read it."""
    from supervisor.verification.setups.kept import stock

    try:
        found = stock(judged.settings.state_dir)
    except OSError:
        return
    if found:
        size = sum(each.made.size for each in found if each.made is not None)
        count = "1 setup is" if len(found) == 1 else f"{len(found)} setups are"
        yield Finding("setups", "ok", f"{count} kept for later checkouts: {size / 2**20:,.0f} MB")


#: for a program to say its version
TOOL_SECONDS = 10.0


def said_by(argv: list[str], within: float, path: str) -> str | None:
    """The first line of its output, or None if it can't be run."""
    if (program := shutil.which(argv[0], path=path)) is None:
        return None
    try:
        done = subprocess.run(
            [program, *argv[1:]],
            capture_output=True,
            text=True,
            timeout=within,
            check=True,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PATH": path},
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return next(iter((done.stdout + done.stderr).splitlines()), "")
