"""A state directory with a gate now and then, a program of its own."""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx

from supervisor.gate.counts import Counts
from supervisor.gate.keys import Keys
from supervisor.gate.sharing import folder_of
from tests.gate.gates import ASKS, ATTEMPT, BOTH, PURSE, REAL_KEY
from tests.gate.provider import Reply, Scripted, scripted
from tests.waiting import until_sync


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Box:
    folder: Path
    provider: Scripted
    port: int
    keys: Keys
    counts: Counts
    key: str

    @contextmanager
    def running(self, **more: str) -> Iterator[subprocess.Popen[str]]:
        argv = [sys.executable, "-m", "supervisor.cli.gate", "--config", str(self.folder / "config.toml")]
        env = {**os.environ, "THE_KEY": REAL_KEY, **more}
        with subprocess.Popen(
            argv,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=env,
        ) as process:
            try:
                until_sync("it listens", lambda: process.poll() is not None or self._listens())
                yield process
            finally:
                process.kill()

    def _listens(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False

    def client(self) -> httpx.AsyncClient:
        headers = {"x-api-key": self.key}
        url = f"http://127.0.0.1:{self.port}"
        return httpx.AsyncClient(base_url=url, timeout=30, headers=headers, verify=False)

    async def ask(self) -> httpx.Response:
        async with self.client() as client:
            return await client.post("/v1/messages", json=ASKS)

    async def agent(self) -> httpx.Response:
        """As agents do: what fails is tried again."""
        while True:
            with suppress(httpx.HTTPError):
                if (answer := await self.ask()).status_code == 200:
                    return answer
            await asyncio.sleep(0.1)


@contextmanager
def box(folder: Path, *replies: Reply, account: str = "work") -> Iterator[Box]:
    port = free_port()
    with scripted(*replies) as provider:
        (folder / "config.toml").write_text(
            f'state_dir = "{folder}/state"\n[gate]\nlisten = "127.0.0.1:{port}"\nhold_seconds = "30s"\n'
            f'[[gate.upstreams]]\napi = "anthropic"\naccount = "{account}"\n'
            f'url = "{provider.url}"\nkey = "env:THE_KEY"\n'
        )
        shared = folder_of(folder / "state")
        with closing(Keys(shared)) as keys, closing(Counts(shared)) as counts:
            yield Box(folder, provider, port, keys, counts, keys.issue(ATTEMPT, BOTH, [PURSE]))
