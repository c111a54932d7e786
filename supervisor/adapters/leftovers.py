"""Calls of `mngr create` that outlived the daemon that made them."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def end_creates(agent_ids: list[str]) -> None:
    """Kill every process that is still creating one of these agents, so that what exists now is all there will be.

    Only its own argv tells such a process from the agent: the agent's environment holds the same id.
    """
    wanted = {agent_id.encode() for agent_id in agent_ids}
    if not wanted:
        return
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and _creates(folder, wanted):
            with suppress(OSError), _held(int(folder.name)) as process:
                if _creates(folder, wanted):  # and not another process, which has its number by now
                    signal.pidfd_send_signal(process, signal.SIGKILL)


def _creates(folder: Path, agent_ids: set[bytes]) -> bool:
    try:
        words = (folder / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return b"create" in words and b"--id" in words and not agent_ids.isdisjoint(words)


@contextmanager
def _held(pid: int) -> Iterator[int]:
    process = os.pidfd_open(pid)
    try:
        yield process
    finally:
        os.close(process)
