"""Starts a command: its options, and the file descriptors it is connected to."""

import contextlib
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from supervisor.e2e import ptys
from supervisor.e2e.output import Stream
from supervisor.e2e.ptys import Size


@dataclass(frozen=True, slots=True)
class Launch:
    """The options of a command."""

    command: str
    shell: tuple[str, ...]
    environment: Mapping[str, str]
    cwd: Path
    timeout: float
    grace: float  # between SIGTERM and SIGKILL
    token: str
    comment: str = ""
    stdin: str | bytes | None = None
    is_interactive: bool = False  # standard input stays open, for `send`
    keep_background: bool = False
    size: Size | None = None  # of a terminal; None: pipes
    cast: Path | None = None  # where it is recorded


@dataclass(frozen=True, slots=True)
class Started:
    """A process and our ends of its pipes or terminal."""

    process: subprocess.Popen[bytes]
    outputs: dict[int, Stream]
    input_fd: int  # -1: standard input is closed


def start(launch: Launch) -> Started:
    with contextlib.ExitStack() as theirs:
        if launch.size is not None:
            return _in_terminal(launch, launch.size, theirs)
        return _on_pipes(launch, theirs)


def _on_pipes(launch: Launch, theirs: contextlib.ExitStack) -> Started:
    input_fd, stdin = _standard_input(launch, theirs)
    outputs: dict[int, Stream] = {}
    ends: list[int] = []
    streams: tuple[Stream, ...] = ("stdout", "stderr")
    for stream in streams:
        ours, end = os.pipe2(os.O_CLOEXEC)
        theirs.callback(os.close, end)
        outputs[ours] = stream
        ends.append(end)
    try:
        process = _popen(launch, [*launch.shell, launch.command], stdin, *ends)
    except BaseException:
        _close(*outputs, *([input_fd] if input_fd >= 0 else []))
        raise
    return Started(process, outputs, input_fd)


def _standard_input(launch: Launch, theirs: contextlib.ExitStack) -> tuple[int, int]:
    """Our end and the command's. Text is passed as a file, so that neither side can block."""
    if launch.is_interactive:
        end, ours = os.pipe2(os.O_CLOEXEC)
        theirs.callback(os.close, end)
        return ours, end
    if launch.stdin is None:
        return -1, subprocess.DEVNULL
    file = os.memfd_create("stdin", os.MFD_CLOEXEC)
    theirs.callback(os.close, file)
    os.write(file, as_bytes(launch.stdin))
    os.lseek(file, 0, os.SEEK_SET)
    return -1, file


def _in_terminal(launch: Launch, size: Size, theirs: contextlib.ExitStack) -> Started:
    master, slave = ptys.open_pair(size)
    theirs.callback(os.close, slave)
    argv = [*ptys.TAKE_TERMINAL, os.ttyname(slave), *launch.shell, launch.command]
    try:
        if launch.stdin is not None:
            os.write(master, as_bytes(launch.stdin))
        process = _popen(launch, argv, slave, slave, slave)
    except BaseException:
        _close(master)
        raise
    return Started(process, {master: "stdout"}, master)


def _popen(launch: Launch, argv: list[str], stdin: int, stdout: int, stderr: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        argv,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        cwd=launch.cwd,
        env=launch.environment,
        start_new_session=True,
    )


def _close(*fds: int) -> None:
    for fd in fds:
        os.close(fd)


def as_bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text
