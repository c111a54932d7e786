"""What a program starts is gone when its run is over, whatever it does to stay."""

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from anyio import create_task_group

from supervisor.verification.trials.running import Ended, Means, means_here, run
from tests.verification.staying import Stayer
from tests.waiting import until

BOTH = pytest.mark.parametrize("means", ["namespace", "subreaper"])


async def skip_without(means: str) -> None:
    if means == "namespace" and await means_here() != "namespace":
        pytest.skip("no pid namespace can be made here")


async def sh(script: str, means: Means, *, cwd: Path, timeout: float = 30.0) -> Ended:
    await skip_without(means)
    env = {"PATH": os.environ["PATH"]}
    return await run(["sh", "-c", script], cwd=cwd, env=env, timeout=timeout, means=means)


WAYS = {
    "a background process": "{stay} & ",
    "a session of its own with an empty environment": "setsid -f env -i {stay}; ",
    "a daemon that was forked twice": "(setsid sh -c '{stay} & exit 0' & exit 0); ",
    "one that ignores what can be ignored": "setsid -f sh -c 'trap \"\" TERM HUP INT; {stay}'; ",
    "one whose parents are gone": "( ( ( {stay} & ) & ) & ); ",
    "one that nobody can write to": "setsid -f {stay} <&- >&- 2>&-; ",
}


@BOTH
@pytest.mark.parametrize("way", WAYS)
async def test_nothing_stays_behind(way: str, means: Means, tmp_path: Path) -> None:
    stayer = Stayer(tmp_path)
    waiting = f"until grep -q held {stayer.note} 2>/dev/null; do sleep 0.02; done; exit 7"
    ended = await sh(WAYS[way].format(stay=stayer.command) + waiting, means, cwd=tmp_path)

    assert ended.code == 7
    assert stayer.is_gone


CHAINS = {
    "at leisure": "while os.fork() == 0: time.sleep(0.001)",
    "in haste": "while os.fork() == 0: pass",
    "each in a session of its own": "while os.fork() == 0: os.setsid(); time.sleep(0.0005)",
}


@BOTH
@pytest.mark.parametrize("way", CHAINS)
async def test_who_forks_without_end_is_caught(way: str, means: Means, tmp_path: Path) -> None:
    """A chain of processes, each of which starts the next one and leaves. All of them hold the lock."""
    stayer = Stayer(tmp_path)
    chain = f"import os, time\n{CHAINS[way]}\nos._exit(0)"
    forks = f"exec 9>>{stayer.note}; flock -s 9; " + f"{sys.executable} -c '{chain}'; " * 2 + "exit 7"
    ended = await sh(forks, means, cwd=tmp_path, timeout=90)

    assert ended.code == 7
    assert stayer.is_gone


@BOTH
async def test_at_its_deadline_all_of_it_ends(means: Means, tmp_path: Path) -> None:
    stayer = Stayer(tmp_path)
    ended = await sh(f"setsid -f {stayer.command}; echo before; sleep 600", means, cwd=tmp_path, timeout=2)

    assert (ended.code, ended.is_lost, ended.tail) == (None, False, "before\n")
    assert stayer.never_was_or_is_gone


@BOTH
async def test_who_is_not_waited_for_any_more_ends(means: Means, tmp_path: Path) -> None:
    """Cancelled for as long as it is being put away."""
    stayer = Stayer(tmp_path)
    async with create_task_group() as running:
        running.start_soon(partial(sh, f"setsid -f {stayer.command}; sleep 600", means, cwd=tmp_path))
        await until("it runs", lambda: stayer.has_begun)
        running.cancel_scope.cancel()

    assert stayer.is_gone


@BOTH
async def test_the_keeper_is_not_killed_unsaid(means: Means, tmp_path: Path) -> None:
    """In a namespace the program does not even see it; where it does, its death is told."""
    ended = await sh("kill -9 $PPID; sleep 8", means, cwd=tmp_path, timeout=3)

    assert ended.code is None
    assert ended.is_lost is (means == "subreaper")


@BOTH
async def test_a_program_hears_and_says_and_ends_as_anywhere(means: Means, tmp_path: Path) -> None:
    await skip_without(means)
    env = {"PATH": os.environ["PATH"]}

    async def told(script: str) -> Ended:
        return await run(["sh", "-c", script], cwd=tmp_path, env=env, timeout=20, stdin=b"hello", means=means)

    assert await told("cat; pwd; exit 3") == Ended(3, f"hello{tmp_path}\n")
    assert (await told("kill -9 $$")).code == -signal.SIGKILL
    assert (await told("yes | head -1")).tail == "y\n", "a broken pipe ends who writes into it"
    missing = await run(["no-such-program"], cwd=tmp_path, env=env, timeout=20, means=means)
    assert (missing.code, missing.tail) == (127, "no-such-program: No such file or directory\n")


async def test_processes_see_themselves(tmp_path: Path) -> None:
    """Where they have a namespace they have a view of /proc that fits."""
    ended = await sh('test "$(readlink /proc/self)" != "" && ls -d /proc/$$', "namespace", cwd=tmp_path)
    assert ended.code == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_whoever_is_not_root_has_a_namespace_of_users_as_well() -> None:
    """Seen from inside it is the same user."""
    nobody = (
        "import ctypes, os, sys; from supervisor.verification.trials.keeper import main;"
        "os.setgroups([]); os.setgid(65534); os.setuid(65534); ctypes.CDLL(None).prctl(4, 1, 0, 0, 0); main()"
    )
    control, told = os.pipe(), os.pipe()
    script = "id -u; id -g; setsid -f sleep 600; echo /proc/[0-9]*"
    argv = [sys.executable, "-c", nobody, "namespace", str(control[0]), str(told[1]), "", "sh", "-c", script]
    said = subprocess.run(argv, pass_fds=(control[0], told[1]), capture_output=True, text=True, timeout=30, cwd="/")
    for each in (*control, told[1]):
        os.close(each)
    with open(told[0], "rb") as report:  # noqa: PTH123
        code = report.read()
    if "not permitted" in said.stderr:
        pytest.skip("no user may make a namespace here")
    assert (code, said.stdout.split()[:3]) == (b"0", ["65534", "65534", "/proc/1"]), said.stderr
