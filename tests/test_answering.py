"""A server is told to end: until then it wakes up for requests only, and then it waits only for answers under way."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from anyio import CancelScope
from starlette.types import Receive, Scope, Send

from supervisor.answering import Server
from supervisor.tasks import beside
from tests.resting import Loop, on_a_loop
from tests.waiting import until

ASKS = b"GET / HTTP/1.1\r\nhost: here\r\n\r\n"


class Application:
    """Its answer begins at once, and ends when it may."""

    def __init__(self) -> None:
        self.may_end, self.asked, self.was_cancelled = asyncio.Event(), 0, False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.asked += 1
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]})
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        await send({"type": "http.response.body", "body": b"done"})


@asynccontextmanager
async def serving(application: Application, *, farewell: int | None = None) -> AsyncIterator[tuple[Server, int]]:
    """The server and its port; it has ended when this is left."""
    listener = socket.create_server(("127.0.0.1", 0))
    configuration = uvicorn.Config(
        application, lifespan="off", log_config=None, ws="none", timeout_graceful_shutdown=farewell
    )
    server = Server(configuration)

    async def served() -> None:
        with CancelScope(shield=True):
            await server.serve([listener])

    async with beside() as tasks:
        tasks.start_soon(served)
        try:
            yield server, listener.getsockname()[1]
        finally:
            server.end()


@asynccontextmanager
async def asking(port: int) -> AsyncIterator[asyncio.StreamReader]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(ASKS)
    try:
        yield reader
    finally:
        writer.close()
        await writer.wait_closed()


def test_an_idle_server_looks_at_no_clock_and_is_gone_at_once() -> None:
    async def idle(loop: Loop) -> None:
        async with serving(Application()) as (server, _):
            assert not await loop.rest(), "while it starts"
            assert not await loop.rest()
            server.end()
            assert not await loop.rest(), "until it is gone"

    on_a_loop(idle)


def test_a_connection_without_a_request_is_closed_and_not_waited_for() -> None:
    async def kept(loop: Loop) -> None:
        application = Application()
        application.may_end.set()
        async with serving(application) as (server, port), asking(port) as reader:
            await reader.readuntil(b"done")
            server.end()
            assert not await loop.rest()
            assert await reader.read() == b""

    on_a_loop(kept)


async def test_an_answer_under_way_comes_to_its_end() -> None:
    application = Application()
    async with serving(application) as (server, port), asking(port) as reader:
        await until("it is asked", lambda: application.asked)
        server.end()
        application.may_end.set()
        assert (await reader.read()).endswith(b"done")
    assert not application.was_cancelled


async def test_an_answer_is_waited_for_until_the_deadline() -> None:
    application = Application()
    async with serving(application, farewell=0) as (_, port), asking(port):
        await until("it is asked", lambda: application.asked)
    assert application.was_cancelled


async def test_in_a_hurry_nobody_is_waited_for() -> None:
    application = Application()
    async with serving(application) as (server, port), asking(port):
        await until("it is asked", lambda: application.asked)
        server.end()
        server.hurry()
    assert application.was_cancelled
