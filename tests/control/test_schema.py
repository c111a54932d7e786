"""The API keeps to its own OpenAPI description, whatever it is sent: no 5xx, no answer of another shape."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.control.served import served


@asynccontextmanager
async def on_loopback(socket: Path) -> AsyncIterator[int]:
    """The socket behind a port, for a tool that knows only ports."""

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there_writer = await asyncio.open_unix_connection(socket)
        await asyncio.gather(_copy(reader, there_writer), _copy(there_reader, writer), return_exceptions=True)

    server = await asyncio.start_server(relay, "127.0.0.1")
    async with server:
        yield server.sockets[0].getsockname()[1]


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    finally:
        writer.close()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("examples", [4, pytest.param(50, marks=pytest.mark.proof)])
async def test_schemathesis_finds_nothing(tmp_path: Path, examples: int) -> None:
    async with served(tmp_path, otherwise="fixed") as api, on_loopback(api.socket) as port:
        await api.submit("tests/test_it.py::test_one", batch="kaaaa")
        base = f"http://127.0.0.1:{port}"
        # A stream has no end, which this tool waits for; its events are tested on their own.
        options = [
            f"--max-examples={examples}",
            "--seed=1",
            "--exclude-path=/v1/events/stream",
            "--request-timeout=20",
        ]
        running = await asyncio.create_subprocess_exec(
            str(Path(sys.executable).with_name("schemathesis")),
            "run",
            f"{base}/openapi.json",
            "--generation-database=none",
            "--no-color",
            *options,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=tmp_path,
        )
        said, _ = await running.communicate()
        assert running.returncode == 0, said.decode()[-8000:]
