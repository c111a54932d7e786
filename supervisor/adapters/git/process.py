"""Runs git: with a deadline, bounded output, only our configuration, no hooks, no prompts.

After a timeout or a cancellation it first gets SIGTERM, upon which git removes its locks and half-written files.
`adapters/process.py` runs the process.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from supervisor.adapters import process
from supervisor.errors import GitFailed

CONFIG = Path(__file__).with_name("gitconfig")
MAX_OUTPUT = 64 * 2**20
DEADLINE = 60.0
#: the exit codes of a shell for a program that is missing or can't be executed
NOT_STARTED = (126, 127)
#: git's messages for trouble with the disk rather than with the input
DISK = (b"No space left on device", b"Read-only file system", b"Disk quota exceeded")

#: these override any repository's own configuration, which may name programs to run
_OVERRIDES = {"core.hooksPath": "/dev/null", "core.fsmonitor": "false"}


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The whole environment that git gets: PATH, a home, and its settings."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    overrides = {"GIT_CONFIG_COUNT": str(len(_OVERRIDES))}
    for number, (key, value) in enumerate(_OVERRIDES.items()):
        overrides |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return {
        **kept,
        **overrides,
        "LC_ALL": "C",
        "GIT_CONFIG_GLOBAL": str(CONFIG),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "true",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_ADVICE": "0",
        **(extra or {}),
    }


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits for git when it reads agents' work: address space, and CPU time, which does not depend on the load."""

    memory_kib: int = 2 * 2**20
    cpu_seconds: int = 60

    def around(self, argv: list[str]) -> list[str]:
        return ["sh", "-c", f'ulimit -v {self.memory_kib} && ulimit -t {self.cpu_seconds} && exec "$@"', "sh", *argv]


@dataclass(frozen=True, slots=True)
class Finished:
    """How a git process ended. If it printed more than the limit, it has failed."""

    command: str
    code: int
    out: bytes
    err: bytes

    @property
    def was_bounded(self) -> bool:
        """Whether it hit a limit."""
        return self.code < 0 or b"ut of memory" in self.err or b"it printed too much" in self.err

    @property
    def lacks_room(self) -> bool:
        """Whether it failed because it could not write."""
        return any(words in self.err for words in DISK)

    @property
    def sentence(self) -> str:
        lines = [line for line in self.err.decode(errors="replace").splitlines() if line.strip()]
        said = next((line for line in lines if line.startswith(("fatal: ", "error: "))), "".join(lines[-1:]))
        said = "".join(c for c in said if c.isprintable())[:300]
        return f"git {self.command} failed: {said or f'exit code {self.code}'}"


async def git(
    where: Path, *args: str, timeout: float = DEADLINE, stdin: bytes = b"", env: Mapping[str, str] | None = None
) -> bytes:
    """What git prints. Raises GitFailed if it fails."""
    done = await run(where, *args, timeout=timeout, stdin=stdin, env=env)
    if done.code:
        raise GitFailed(done.sentence)
    return done.out


async def run(
    where: Path,
    *args: str,
    timeout: float = DEADLINE,
    stdin: bytes | IO[bytes] = b"",
    env: Mapping[str, str] | None = None,
    bounds: Bounds | None = None,
) -> Finished:
    """How git ended. Raises GitFailed only if it could not be started, or did not end in time."""
    argv = ["git", "-C", str(where), *args]
    argv = bounds.around(argv) if bounds else argv
    try:
        done = await process.run(argv, env=environment(env), timeout=timeout, stdin=stdin, most=MAX_OUTPUT)
    except TimeoutError:
        raise GitFailed(f"git {args[0]} did not end within {timeout:g} seconds") from None
    except OSError as error:
        raise _not_started(error.strerror or str(error)) from error
    if bounds and done.code in NOT_STARTED:
        raise _not_started("it is not on PATH, or can't be run")
    if done.is_cut:
        return Finished(args[0], done.code or -1, b"", b"fatal: it printed too much")
    return Finished(args[0], done.code, done.out, done.err)


def _not_started(why: str) -> GitFailed:
    return GitFailed(f"git can't be started: {why}", hint="install git where the daemon's PATH has it")
