"""Serves the API on a Unix socket while the daemon runs.

The socket is bound under a temporary name with its final mode and then renamed, so that no client ever sees one that
is open to everybody or not listening yet. A socket that systemd passes is used unchanged.
"""

import errno
import os
import socket
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import uvicorn
from anyio import CancelScope
from fastapi import FastAPI
from starlette.types import ASGIApp

from supervisor import __version__
from supervisor.answering import Server
from supervisor.control import (
    digesting,
    inviting,
    logs,
    looking,
    metrics,
    planning,
    proposals,
    refusing,
    replaying,
    reporting,
    reviewing,
    steering,
    watching,
    why,
    working,
)
from supervisor.control.desk import Desk
from supervisor.control.gate import Gate
from supervisor.control.peers import PeerProtocol
from supervisor.errors import Locked, Misconfigured
from supervisor.systemd import passed_socket
from supervisor.tasks import beside

MODE = 0o660
BACKLOG = 512
#: how long requests in progress may still take when the daemon stops
FAREWELL_SECONDS = 2


def application(desk: Desk) -> FastAPI:
    app = FastAPI(
        title="agent-supervisor", version=__version__, responses=refusing.RESPONSES, docs_url=None, redoc_url=None
    )
    app.state.desk = desk
    refusing.install(app)
    app.include_router(digesting.routes)
    app.include_router(looking.routes)
    app.include_router(inviting.routes)
    app.include_router(logs.routes)
    app.include_router(metrics.routes)
    app.include_router(planning.routes)
    app.include_router(proposals.routes)
    app.include_router(replaying.routes)
    app.include_router(reporting.routes)
    app.include_router(reviewing.routes)
    app.include_router(steering.routes)
    app.include_router(why.routes)
    app.include_router(watching.routes)
    app.include_router(working.routes)
    return app


@asynccontextmanager
async def serving(desk: Desk, path: Path) -> AsyncIterator[FastAPI]:
    """Serves inside the block. Raises Locked if another process listens there."""
    app = application(desk)
    with listening(path) as listener:
        async with answering(Gate(app), listener):
            try:
                yield app
            finally:
                desk.stream.close()


@asynccontextmanager
async def answering(app: ASGIApp, listener: socket.socket) -> AsyncIterator[None]:
    """Answers by this application whatever comes to the listener, inside the block."""
    config = uvicorn.Config(
        app,
        http=PeerProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,  # uvicorn sets its clock once a second
        proxy_headers=False,  # a header must not set the client's identity
        backlog=BACKLOG,
        timeout_graceful_shutdown=FAREWELL_SECONDS,
    )
    server = Server(config)
    async with beside() as tasks:
        tasks.start_soon(_answered, server, listener)
        try:
            yield
        finally:
            server.end()


async def _answered(server: Server, listener: socket.socket) -> None:
    """Until it is told to end; a cancellation does not interrupt its farewell."""
    with CancelScope(shield=True):
        await server.serve([listener])


@contextmanager
def listening(path: Path) -> Iterator[socket.socket]:
    if (passed := passed_socket()) is not None:
        with passed:
            yield passed
        return
    with bound(path) as listener:
        yield listener


@contextmanager
def bound(path: Path) -> Iterator[socket.socket]:
    """A socket at this path, which goes with the block. Raises Locked, Misconfigured."""
    with _bound(path) as listener:
        made = path.stat().st_ino
        try:
            yield listener
        finally:
            if path.exists() and path.stat().st_ino == made:
                path.unlink()


def _bound(path: Path) -> socket.socket:
    _refuse_taken(path)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        path.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
        listener.bind(str(draft))
        draft.chmod(MODE)
        listener.listen(BACKLOG)
        draft.rename(path)
    except OSError as error:
        listener.close()
        draft.unlink(missing_ok=True)
        why = error.strerror or str(error)
        raise Misconfigured(f"can't listen on {path}: {why}", hint="give another path with --socket") from None
    return listener


def _refuse_taken(path: Path) -> None:
    """Cases: no file; a file that is not a socket; a live socket; a stale socket."""
    try:
        if not stat.S_ISSOCK(path.stat().st_mode):
            raise Misconfigured(f"{path} exists and is not a socket", hint="give another path with --socket")
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.settimeout(5)
            probe.connect(str(path))
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ECONNREFUSED, errno.ENOTDIR):
            return
        if not isinstance(error, TimeoutError):
            why = error.strerror or str(error)
            raise Misconfigured(f"can't listen on {path}: {why}", hint="give another path with --socket") from None
    raise Locked(f"another daemon listens on {path}", hint="stop it, or give another path with --socket")
