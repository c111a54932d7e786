"""A program that was started by a fork is what it is when it is started, and ends when it is to end."""

import json
import os
import pty
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from supervisor.e2e import processes
from tests.waiting import until_sync
from tests.zygote import REAL_MNGR, ROOT, Zygote, mngr, programs

REAL = (sys.executable, "-m", "tests.zygote.probe")
PLAIN = {"PATH": os.defpath, "LANG": "C.UTF-8", "PYTHONHASHSEED": "0"}


def forked() -> tuple[str, ...]:
    return (str(programs() / "probe"),)


def run(words: tuple[str, ...], *more: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*words, *more], cwd=ROOT, env=PLAIN | environment, capture_output=True, text=True, input="", timeout=60
    )


@contextmanager
def waiting(program: Path, prefix: tuple[str, ...] = ()) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A caller whose program waits, and the process id of that."""
    with subprocess.Popen(
        [*prefix, program, "wait"],
        cwd=ROOT,
        env=PLAIN,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as caller:
        try:
            assert caller.stdout is not None
            yield caller, int(caller.stdout.readline())
        finally:
            caller.kill()


def is_gone(pid: int) -> None:
    until_sync(f"{pid} is gone", lambda: not processes.is_alive(pid))


# --- what it is given


def of_an_unusual_start(words: tuple[str, ...], folder: Path) -> dict[str, Any]:
    """With limits, ignored signals, and a mask of its own."""

    def unusual() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (77, 99))
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        os.umask(0o027)

    environment = {"TZ": "Asia/Tokyo", "TMPDIR": str(folder), "COLUMNS": "55", "WORD": "grün", "EMPTY": ""}
    environment |= {"PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [*words, "facts", "grün", ""],
        cwd=ROOT,
        env=PLAIN | environment,
        input="said\n",
        capture_output=True,
        text=True,
        preexec_fn=unusual,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return dict(json.loads(done.stdout))


def test_it_finds_what_it_would_find_without_the_zygote(tmp_path: Path) -> None:
    """Its environment, limits, signals, streams and descriptors: all of it is the caller's, and nothing else."""
    found = of_an_unusual_start(forked(), tmp_path)
    assert found == of_an_unusual_start(REAL, tmp_path)
    assert (found["descriptors"], found["said"], found["umask"]) == (["0", "1", "2"], "said\n", 0o027)


def on_a_terminal(words: tuple[str, ...]) -> dict[str, Any]:
    ours, theirs = pty.openpty()
    os.write(ours, b"typed\n")
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        started = subprocess.Popen([*words, "facts"], cwd=ROOT, env=PLAIN, stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        said = b""
        while not said.endswith(b"}\r\n"):
            said += terminal.read(65536)
        assert started.wait(60) == 0
    return dict(json.loads(said[said.index(b"{") :]))


def test_it_has_the_callers_terminal() -> None:
    found = on_a_terminal(forked())
    assert found == on_a_terminal(REAL)
    assert (found["terminals"], found["said"]) == ([True] * 3, "typed\n")


def test_others_find_it_by_its_environment_and_its_words() -> None:
    with waiting(programs() / "probe") as (_, pid):
        assert processes.environment_value(pid, "LANG") == "C.UTF-8"
        assert processes.environment_value(pid, "ROOM") is None
        assert processes.name_of(pid).command.endswith(" -m tests.zygote.probe wait")


@pytest.mark.parametrize("variable", ["PYTHONPATH", "PYTHONUNBUFFERED", "LC_ALL", "LISTEN_FDS"])
def test_what_a_fork_cant_be_is_the_real_program(variable: str) -> None:
    environment = PLAIN | {variable: "C" if variable == "LC_ALL" else "1"}
    with subprocess.Popen(
        [*forked(), "wait"], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as started:
        assert started.stdout is not None
        assert int(started.stdout.readline()) == started.pid
        started.terminate()


# --- how it ends


@pytest.mark.parametrize("status", [0, 3, 255])
def test_its_exit_status_and_what_it_has_printed(status: int) -> None:
    done = run(forked(), "exit", str(status))
    assert (done.returncode, done.stdout, done.stderr) == (status, "before the end", "")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGABRT])
def test_the_signal_that_it_dies_of(number: signal.Signals) -> None:
    assert run(forked(), "die", str(int(number))).returncode == -number


@pytest.mark.parametrize(("number", "ended"), [(signal.SIGHUP, 1), (signal.SIGTERM, -signal.SIGTERM)])
def test_a_signal_for_the_caller_is_one_for_it(number: signal.Signals, ended: int) -> None:
    with waiting(programs() / "probe") as (caller, pid):
        caller.send_signal(number)
        said = caller.communicate(timeout=60)[1]
        assert (caller.returncode, said) == (ended, "hung up\n" if number == signal.SIGHUP else "")
    is_gone(pid)


def test_a_signal_that_was_ignored_until_it_handled_it() -> None:
    """As a daemon that is started by `nohup` reads its configuration again."""
    with waiting(programs() / "probe", prefix=("nohup",)) as (caller, _):
        caller.send_signal(signal.SIGHUP)
        assert caller.wait(60) == 1


def test_it_is_killed_with_its_caller() -> None:
    with waiting(programs() / "probe") as (caller, pid):
        caller.kill()
        is_gone(pid)


def test_it_ends_with_the_zygote() -> None:
    zygote = Zygote(sys.executable, "tests.waiting")
    try:
        with waiting(zygote.install("probe", "-m", "tests.zygote.probe")) as (caller, pid):
            zygote.end()
            said = caller.communicate(timeout=60)[1]
            assert (caller.returncode, said) == (70, "the zygote of the tests has ended\n")
        is_gone(pid)
    finally:
        zygote.end()
    assert not zygote.folder.exists()


TESTS = """
import subprocess, sys
from tests.zygote import Zygote
zygote = Zygote(sys.executable, "tests.waiting")
probe = zygote.install("probe", "-m", "tests.zygote.probe")
program = subprocess.Popen([probe, "wait"], stdout=subprocess.PIPE, text=True)
print(zygote.pid, program.stdout.readline().strip(), zygote.folder, flush=True)
sys.stdin.read()
"""


def test_nothing_outlives_a_test_run_that_is_killed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", TESTS], cwd=ROOT, env=PLAIN, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as tests:
        assert tests.stdout is not None
        zygote, pid, folder = tests.stdout.readline().split()
        tests.kill()
    is_gone(int(zygote))
    is_gone(int(pid))
    until_sync("its folder is gone", lambda: not Path(folder).exists())


def test_many_at_a_time_are_kept_apart() -> None:
    """Each gets its own answer."""
    got: dict[int, int] = {}

    def call(status: int) -> None:
        got[status] = run(forked(), "exit", str(status)).returncode

    threads = [threading.Thread(target=call, args=[status]) for status in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == {status: status for status in range(20)}


# --- mngr


def test_mngr_says_what_it_says_without_the_zygote(tmp_path: Path) -> None:
    """A plain call; what the daemon's fork server does with it is told by all tests on the real mngr."""
    home = {"HOME": str(tmp_path), "PATH": f"{REAL_MNGR.parent}:{os.defpath}"}
    said = [run((str(command),), "list", "--format", "json", **home) for command in (mngr(), REAL_MNGR)]
    assert [(each.returncode, each.stderr) for each in said] == [(0, "")] * 2
    assert said[0].stdout == said[1].stdout
