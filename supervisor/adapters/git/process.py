"""Runs git: with a deadline, bounded output, no configuration but ours, no hooks, no prompts.

Each call is a process group of its own, killed as a whole when its time is up or the caller goes away.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping
from pathlib import Path

from supervisor.errors import GitFailed

CONFIG = Path(__file__).with_name("gitconfig")
MAX_OUTPUT = 64 * 2**20
DEADLINE = 60.0

#: set above any repository's own configuration, which may name programs to run
_OVERRIDES = {"core.hooksPath": "/dev/null", "core.fsmonitor": "false"}


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """All that git sees of ours: where programs are, a home, and how to behave."""
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


async def git(
    where: Path,
    *args: str,
    timeout: float = DEADLINE,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    memory_kib: int = 0,
) -> bytes:
    """What git prints, or GitFailed. `memory_kib` bounds its address space, for data that may be a bomb."""
    argv = ["git", "-C", str(where), *args]
    if memory_kib:
        argv = ["sh", "-c", f'ulimit -v {memory_kib}; exec "$@"', "sh", *argv]
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.PIPE if stdin else asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment(env),
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(timeout):
            _, out, err = await asyncio.gather(
                _feed(process.stdin, stdin), _drain(process.stdout), _drain(process.stderr)
            )
            code = await process.wait()
    except TimeoutError:
        raise GitFailed(f"git {args[0]} did not end within {timeout:g} seconds") from None
    finally:
        await _end(process)
    if code:
        raise GitFailed(_sentence(args[0], err, code))
    return out


async def _feed(stream: asyncio.StreamWriter | None, data: bytes) -> None:
    if stream is None:
        return
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        stream.write(data)
        await stream.drain()
    stream.close()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        await stream.wait_closed()


async def _drain(stream: asyncio.StreamReader | None) -> bytes:
    """All that a stream gives; beyond the bound it is read and thrown away, and the call fails."""
    assert stream is not None
    chunks, size = [], 0
    while chunk := await stream.read(2**16):
        size += len(chunk)
        if size <= MAX_OUTPUT:
            chunks.append(chunk)
    if size > MAX_OUTPUT:
        raise GitFailed(f"git printed more than {MAX_OUTPUT} bytes")
    return b"".join(chunks)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Nothing of the process group is left when this returns."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await asyncio.shield(process.wait())


def _sentence(command: str, stderr: bytes, code: int) -> str:
    lines = [line for line in stderr.decode(errors="replace").splitlines() if line.strip()]
    said = next((line for line in lines if line.startswith(("fatal: ", "error: "))), "".join(lines[-1:]))
    said = "".join(c for c in said if c.isprintable())[:300]
    return f"git {command} failed: {said or f'exit code {code}'}"
