"""The gate as a program: killed, restarted, stopped."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.gate.box import Box, box
from tests.gate.gates import ATTEMPT, PURSE, REAL_KEY, events_of
from tests.gate.provider import STREAM, Reply, message
from tests.waiting import until

TOLD = 110


@asynccontextmanager
async def under_way(here: Box) -> AsyncIterator[asyncio.Task[httpx.Response]]:
    """A stream that has begun."""
    task = asyncio.create_task(here.ask())
    try:
        await until("the provider was asked", lambda: here.provider.asked)
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_killed_it_forgets_nothing_and_agents_go_on(tmp_path: Path) -> None:
    """What was under way may have cost all that was reserved: it fills the purse, and is in no count of tokens."""
    go = threading.Event()
    with box(tmp_path, STREAM, Reply(events=message(), waits=(2, go))) as here:
        with here.running() as gate:
            await here.ask()
            here.provider.asked.clear()
            async with under_way(here) as task:
                for agent in [asyncio.create_task(here.agent()) for _ in range(3)]:
                    assert (await agent).status_code == 200
                with here.running() as second:
                    assert second.wait(20) == 4, "a second one is refused while the first is there"
                gate.kill()
                with pytest.raises(httpx.HTTPError):
                    await task
        go.set()
        assert here.counts.reserved() == 1

        late = asyncio.create_task(here.agent())
        with here.running():
            assert (await late).status_code == 200
            rows = here.counts.taken(ATTEMPT)
            assert [(row.tokens.total, row.requests) for row in rows] == [(5 * TOLD, 5)]
            assert here.counts.spent() == {PURSE: 5 * TOLD + rows[0].unknown}
            assert (here.counts.reserved(), rows[0].unknown > 4_000) == (0, True)


async def test_a_stop_lets_answers_under_way_come_to_their_end(tmp_path: Path) -> None:
    go = threading.Event()
    with box(tmp_path, Reply(events=message(), waits=(2, go))) as here, here.running() as process:
        async with under_way(here) as task:
            process.send_signal(signal.SIGTERM)
            await until("it listens no more", lambda: not here._listens())
            go.set()
            answer = await task
        assert events_of(answer.text) == list(message())
        assert process.wait(20) == 0
        assert [row.tokens.total for row in here.counts.taken()] == [TOLD]


async def test_a_socket_that_systemd_passes_keeps_agents_waiting_while_it_restarts(tmp_path: Path) -> None:
    with box(tmp_path, STREAM) as here, socket.create_server(("127.0.0.1", here.port)) as listener:
        waiting = asyncio.create_task(here.ask())
        passing = Passed(here, listener.fileno())
        with passing.running():
            assert (await waiting).status_code == 200


@dataclass
class Passed:
    here: Box
    fd: int

    @contextmanager
    def running(self) -> Iterator[subprocess.Popen[bytes]]:
        """As systemd does: descriptor 3, and the process that it is for."""
        script = f'exec 3<&{self.fd}; export LISTEN_PID=$$ LISTEN_FDS=1; exec "$@"'
        argv = [sys.executable, "-m", "supervisor.cli.gate", "--config", str(self.here.folder / "config.toml")]
        env = {**os.environ, "THE_KEY": REAL_KEY}
        with subprocess.Popen(["bash", "-c", script, "-", *argv], pass_fds=[self.fd], env=env) as process:
            try:
                yield process
            finally:
                process.terminate()


def test_its_key_is_in_nobodys_reach(tmp_path: Path) -> None:
    """Not in its arguments, not in what it says; and its memory and environment are closed to others of its user."""
    with box(tmp_path) as here:
        with here.running() as process:
            proc = Path(f"/proc/{process.pid}")
            assert REAL_KEY not in (proc / "cmdline").read_text()
            assert (proc / "environ").stat().st_uid == 0, "not readable by others of its user"
            process.terminate()
            said, _ = process.communicate(timeout=20)
        assert "the gate is open" in said
        assert REAL_KEY not in said


def test_without_a_provider_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(f'state_dir = "{tmp_path}/state"\n')
    argv = [sys.executable, "-m", "supervisor.cli.gate", "--config", str(tmp_path / "config.toml")]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr.splitlines()) == (
        2,
        [
            "supervisor-gate: the gate has no provider to pass requests on to",
            "hint: say which, under [[gate.upstreams]]",
        ],
    )
