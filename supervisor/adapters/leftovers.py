"""Calls of `mngr create` that outlived the daemon that made them."""

import os
import signal
from contextlib import suppress
from pathlib import Path


def end_creates(agent_ids: list[str]) -> None:
    """Kill every process that is still creating one of these agents, so that what exists now is all there will be.

    Only its own argv tells such a process from the agent: the agent's environment holds the same id.
    """
    wanted = {agent_id.encode() for agent_id in agent_ids}
    if not wanted:
        return
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                words = (folder / "cmdline").read_bytes().split(b"\0")
                if b"create" in words and b"--id" in words and wanted.intersection(words):
                    os.kill(int(folder.name), signal.SIGKILL)
