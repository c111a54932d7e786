"""The whole daemon, stopped or cancelled at moments of its life: in time, and nothing of it goes on."""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import anyio
import psutil
import pytest

from supervisor.adapters.mngr.warm import CLOSE_SECONDS
from supervisor.boot import daemon, opened
from supervisor.daemon.service import DETACH_SECONDS, Daemon
from supervisor.errors import SupervisorError
from supervisor.rehearsal.generate import generate
from supervisor.tasks import beside
from supervisor.threads import in_thread
from tests import zygote
from tests.adapters.mngr.sandboxes import processes_of
from tests.cancelling.moments import Counted, Left, Moments, counting, nothing_more_than
from tests.daemon.crash import STUB
from tests.daemon.sandbox import Running, Sandbox
from tests.waiting import until

#: what a stop may take, and as much again for a machine that does other things as well
LIMIT = 2 * (DETACH_SECONDS + CLOSE_SECONDS)


async def lives(made: Sandbox, repo: Path, began: Callable[[Daemon], None] = lambda daemon: None) -> None:
    """A daemon with one batch, until it is sealed or the daemon has ended."""
    async with opened(made.configuration) as devices:
        supervisor, ended = daemon(made.configuration, devices), anyio.Event()
        began(supervisor)

        async def run() -> None:
            await supervisor.run()
            ended.set()

        async with beside() as tasks:
            tasks.start_soon(run)
            await supervisor.ready.wait()
            here = Running(made, supervisor, devices)
            try:
                await here.submit(repo=repo)
            except SupervisorError:  # it is stopping
                await ended.wait()
            await until("it is sealed", lambda: ended.is_set() or "batch" not in here.state.batches)
            supervisor.stop()
            await ended.wait()


async def moments_of(folder: Path, repo: Path, number: int, *, is_stopped: bool) -> int:
    """How many there were; it ended at this one."""
    mngr = {"command": str(STUB), "warm": False}
    made = Sandbox(folder / str(number), jobs=2, settings={"mngr": mngr})
    made.lives.parent.mkdir()
    made.lives.touch()
    known: list[Daemon] = []
    began: list[float] = []
    moments = Moments(number)

    def act() -> None:
        began.append(time.monotonic())
        if is_stopped and known:
            known[0].stop()
        else:
            moments.scope.cancel()

    moments.act = act
    zygote.mngr()  # or the first moment would start it
    before = Left.now()
    with moments.scope:
        async with counting(moments):
            await Counted(lives(made, repo, known.append), moments)
    assert not began or time.monotonic() - began[0] < LIMIT
    await nothing_more_than(before, f"moment {number}")
    await until("no call of mngr goes on", lambda: not calls_in(made.folder / "state"))
    return moments.seen


def calls_in(state: Path) -> list[str]:
    """Agents live on, and end by themselves."""
    found = []
    for process in processes_of(state):
        with suppress(psutil.NoSuchProcess):
            said = process.cmdline()
            found += [" ".join(said)] * (str(STUB) in said)
    return found


@pytest.mark.parametrize("is_stopped", [True, False], ids=["stopped", "cancelled"])
async def test_the_daemon(is_stopped: bool, tmp_path: Path) -> None:
    """At four moments of its life, spread over all of it."""
    repo = tmp_path / "repo"
    await in_thread(generate, repo, 2)
    whole = await moments_of(tmp_path, repo, 0, is_stopped=is_stopped)
    for step in range(4):
        await moments_of(tmp_path, repo, 1 + whole * (2 * step + 1) // 8, is_stopped=is_stopped)


@pytest.mark.proof
@pytest.mark.timeout(900)  # each moment is a life of a daemon
@pytest.mark.parametrize("is_stopped", [True, False], ids=["stopped", "cancelled"])
async def test_the_daemon_at_many_moments(is_stopped: bool, tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    await in_thread(generate, repo, 2)
    whole = await moments_of(tmp_path, repo, 0, is_stopped=is_stopped)
    for number in range(1, whole, max(1, whole // 50)):
        await moments_of(tmp_path, repo, number, is_stopped=is_stopped)
