"""One daemon per state directory."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from supervisor.adapters.lock import lock
from supervisor.errors import Locked

HOLDING = """
import pathlib, sys
from supervisor.adapters.lock import lock
with lock(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def holder(state_dir: Path) -> Iterator["subprocess.Popen[str]"]:
    """Another process that holds the lock, until it is killed or told to end."""
    command = [sys.executable, "-c", HOLDING, str(state_dir)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def test_a_second_process_is_told_who_holds_the_lock(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        with pytest.raises(Locked, match=f"in use by process {process.pid}$") as refused, lock(tmp_path):
            pass
        assert refused.value.hint


def test_the_lock_goes_with_a_killed_holder(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        process.kill()
        process.wait()
        with lock(tmp_path):
            assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"


def test_a_released_lock_can_be_taken_again(tmp_path: Path) -> None:
    with lock(tmp_path), pytest.raises(Locked, match=f"process {os.getpid()}"), lock(tmp_path):
        pass
    with lock(tmp_path):
        pass


def test_a_program_that_the_holder_started_does_not_keep_it(tmp_path: Path) -> None:
    """Agents outlive the daemon, and must not keep the next one out."""
    with lock(tmp_path):
        started = subprocess.Popen(["cat"], stdin=subprocess.PIPE, close_fds=False)
    with started, lock(tmp_path):
        started.kill()
