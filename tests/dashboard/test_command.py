"""`supervisorctl dashboard` on a daemon with a port and on one without."""

import asyncio
import json
import signal
from pathlib import Path

import httpx

from tests.cli.running import environment
from tests.dashboard.seen import seen
from tests.flow.world import World
from tests.zygote import programs


async def asked(home: Path, *words: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(str(programs() / "supervisorctl"), "--json", "dashboard", *words),
        env=environment(home, SUPERVISOR_SOCKET=str(home / "ctl.sock")),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def test_it_prints_an_address_that_lets_one_browser_in(tmp_path: Path) -> None:
    async with seen(tmp_path, World(local=1).submit("b", 2)) as there:
        running = await asked(tmp_path)
        out, err = await running.communicate()
        assert running.returncode == 0, err
        async with there.browser() as client:
            assert (await client.get(json.loads(out)["url"])).status_code == 200
            assert "Batch b" in (await client.get("/")).text


async def test_without_a_port_it_serves_the_pages_itself_and_nothing_else(tmp_path: Path) -> None:
    async with seen(tmp_path, World(local=1).submit("b", 2), has_port=False):
        running = await asked(tmp_path)
        assert running.stdout is not None
        said = json.loads(await running.stdout.readline())
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{said['port']}", trust_env=False) as client:
            assert (await client.get("/")).status_code == 401
            assert (await client.get(said["url"])).status_code == 200
            assert "Batch b" in (await client.get("/")).text
            assert (await client.get("/v1/status")).status_code == 404
        running.send_signal(signal.SIGINT)
        assert await running.wait() == 130
        await running.communicate()


async def test_a_port_that_is_taken_is_refused_in_a_sentence(tmp_path: Path) -> None:
    async with seen(tmp_path, World(local=1), has_port=False):
        holding = await asyncio.start_server(lambda *_: None, "127.0.0.1")
        async with holding:
            running = await asked(tmp_path, "--port", str(holding.sockets[0].getsockname()[1]))
            out, _ = await running.communicate()
            assert running.returncode == 4
            assert "can't listen on port" in json.loads(out)["error"]["message"]


async def test_where_its_socket_can_not_be_the_daemon_goes_on_and_the_command_says_so(tmp_path: Path) -> None:
    (tmp_path / "ctl.web").write_text("somebody's file")
    async with seen(tmp_path, World(local=1), has_port=False):
        running = await asked(tmp_path)
        out, _ = await running.communicate()
        assert running.returncode == 4
        assert "no dashboard" in json.loads(out)["error"]["message"]
    assert (tmp_path / "ctl.web").read_text() == "somebody's file"
