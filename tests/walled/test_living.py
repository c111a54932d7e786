"""An agent lives inside of its walls as it does without: its terminal, its death, and the work that it leaves."""

import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from supervisor.model import event as ev
from supervisor.model.attempt import AttemptKey
from supervisor.model.request import Cancel
from supervisor.ports import AgentAddress
from tests.daemon.sandbox import Running, running
from tests.verification.staying import Stayer
from tests.waiting import until
from tests.walled.agents import PUBLISH, Scene, attacking, scene

pytestmark = [pytest.mark.real, pytest.mark.timeout(200)]

#: reads lines, tells of its size, and is interrupted
TALKS = """
sizes = lambda: "x".join(map(str, os.get_terminal_size()))
found["size"] = sizes()
found["is a terminal"] = str(os.isatty(0) and os.isatty(1) and os.isatty(2) and os.tcgetpgrp(0) == os.getpgrp())
tell("begun")
found["line"] = input()
tell("heard")
def resized(*_):
    found["resized"] = sizes()
    tell("resized")
signal.signal(signal.SIGWINCH, resized)
try:
    tell("waits")
    while True:
        time.sleep(1)
except KeyboardInterrupt:
    found["interrupted"] = "yes"
tell()
"""


async def test_its_terminal_is_one(tmp_path: Path) -> None:
    """Lines that are typed reach it, so do its size and Ctrl-C; what it shows is on the pane."""
    async with attacking(tmp_path, f"print('here I am')\n{TALKS}{PUBLISH}") as (made, here):
        assert await made.told("begun") == {"size": "200x50", "is a terminal": "True"}
        [attempt] = here.live()
        await here.devices.agents.message(AgentAddress.of(attempt), "a word, and ünother")
        assert (await made.told("heard"))["line"] == "a word, and ünother"
        await made.told("waits")
        tmux = made.box.tmux
        assert "here I am" in tmux.run("capture-pane", "-p", "-t", pane(made)).stdout
        tmux.run("resize-window", "-t", pane(made), "-x", "90", "-y", "30")
        assert (await made.told("resized"))["resized"] == "90x30"
        tmux.run("send-keys", "-t", pane(made), "C-c")
        assert (await made.told())["interrupted"] == "yes"
        await here.finished()


def pane(made: Scene) -> str:
    return made.box.tmux.run("list-panes", "-a", "-F", "#{pane_id}").stdout.split()[0]


STAYS = """
subprocess.run(["setsid", "-f", "env", "-i", *json.loads(os.environ["STAYER"])], close_fds=True)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
(clone / "unsaved").write_text("work")
(state / "active").touch()
tell()
time.sleep(600)
"""


@asynccontextmanager
async def stays(folder: Path) -> AsyncIterator[tuple[Scene, Stayer]]:
    """An agent that ends at no friendly signal, and what it has started in a session of its own."""
    notes = folder / "stayer"
    notes.mkdir()
    notes.chmod(0o777)
    stayer = Stayer(notes)
    env = {"STAYER": json.dumps(stayer.argv)}
    write = [str(folder / "notes"), str(notes)]
    async with scene(folder, STAYS, env=env, sandbox_write=write) as made:
        yield made, stayer


@pytest.mark.parametrize("end", ["cancelled", "its keeper killed", "its session killed"])
async def test_nothing_of_it_outlives_it_and_its_work_is_rescued(tmp_path: Path, end: str) -> None:
    async with stays(tmp_path) as (made, stayer), running(made.box) as here:
        await here.submit()
        await made.told()
        await until("what it started has begun", lambda: stayer.has_begun)
        await until("it is live", here.live)
        if end == "cancelled":
            await here.daemon.loop.inbox.ask(Cancel("batch"))
        elif end == "its keeper killed":
            os.kill(keeper(made), signal.SIGKILL)
        else:
            made.box.tmux.end()
        await until("all of it is gone", lambda: stayer.is_gone, 30)
        await here.finished()

        assert [event.commits for event in here.of(ev.WorkRescued)] == [1]


async def test_a_daemon_that_goes_leaves_it_alone(tmp_path: Path) -> None:
    """The keeper belongs to the pane. The next daemon finds the agent, and stops it with all that it started."""
    async with stays(tmp_path) as (made, stayer):
        async with running(made.box) as here:
            await here.submit()
            await made.told()
            await until("what it started has begun", lambda: stayer.has_begun)
        assert not stayer.is_gone
        async with running(made.box) as again:
            assert len(again.live()) == 1
            assert await state_of(again) == "running"
            await again.daemon.loop.inbox.ask(Cancel("batch"))
            await again.finished()
        assert stayer.is_gone


async def state_of(here: Running) -> str:
    [agent] = (await here.devices.agents.list("local")).agents
    return str(agent.state)


def keeper(made: Scene) -> int:
    shell = made.box.tmux.run("list-panes", "-a", "-F", "#{pane_pid}").stdout.split()[0]
    return int(Path(f"/proc/{shell}/task/{shell}/children").read_text().split()[0])


async def test_who_takes_more_memory_than_the_profile_gives_is_ended_and_its_log_says_why(tmp_path: Path) -> None:
    body = "tell()\nheld = bytearray(10**9)\nheld[::4096] = b'x' * len(held[::4096])\ntime.sleep(600)\n"
    async with attacking(tmp_path, body, sandbox_memory_mb=200) as (made, here):
        await made.told()
        await until("it is missed", lambda: here.of(ev.AgentVanished), 60)
        await here.finished()
        said = await here.devices.logs.read(AttemptKey("batch", 1, 1), 0)

    assert any("it took more memory than `sandbox_memory_mb` allows" in line for line in said.lines)
