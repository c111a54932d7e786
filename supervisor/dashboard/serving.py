"""Serves the pages while the daemon runs: on a Unix socket beside the API's and, if configured, on a port."""

import socket
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from supervisor.control import metrics
from supervisor.control.desk import Desk
from supervisor.control.gate import Gate
from supervisor.control.refusing import STATUSES
from supervisor.control.server import BACKLOG, answering, bound
from supervisor.dashboard import (
    assets,
    feed,
    jobs,
    live,
    logging_in,
    looking,
    nights,
    recordings,
    reviewing,
    steering,
)
from supervisor.dashboard.door import Door
from supervisor.dashboard.entering import Entrance, key_of
from supervisor.dashboard.house import House
from supervisor.dashboard.rendering import page
from supervisor.errors import Misconfigured, Refused, SupervisorError
from supervisor.settings import Settings

#: more than any form of ours
BODY_BYTES, BODY_SECONDS = 64 * 1024, 10.0
KEY = "dashboard.key"
#: of the socket that only these pages are served on, so that it can be forwarded without the API
ENDING = ".web"

log = structlog.get_logger()


def application(desk: Desk, entrance: Entrance) -> ASGIApp:
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    house = House(desk, entrance, f"supervisor_{desk.journal.installation[:8]}")
    app.state.house, app.state.desk = house, desk
    for kind in (SupervisorError, RequestValidationError, HTTPException, TimeoutError, Exception):
        app.add_exception_handler(kind, _trouble)
    for part in (assets, feed, jobs, live, logging_in, looking, nights, recordings, reviewing, steering):
        app.include_router(part.routes)
    app.include_router(metrics.routes)
    return Gate(Door(app, entrance, house.cookie), body_bytes=BODY_BYTES, body_seconds=BODY_SECONDS)


async def _trouble(request: Request, error: Exception) -> Response:
    """What went wrong, as a page: in a sentence, with what to do."""
    message, hint, status = f"The daemon failed: {type(error).__name__}.", "See its log.", 500
    if isinstance(error, SupervisorError):
        status = next((status for cls, status in STATUSES.items() if isinstance(error, cls)), 503)
        message, hint = error.message, error.hint
    elif isinstance(error, RequestValidationError):
        message, hint, status = "The address can't be understood.", "", 422
    elif isinstance(error, HTTPException):
        message, hint, status = str(error.detail), "", error.status_code
    elif isinstance(error, TimeoutError):
        message, hint, status = "The daemon did not do it in time.", "It may still take effect: look again.", 503
    else:
        log.error("bug in the dashboard", path=request.url.path, exc_info=error)
    return page(request, "trouble.html", status, message=message, hint=hint)


class Dashboard:
    """The door of a daemon: `invite` gives who asks on the API's socket a token, `serving` opens it."""

    def __init__(self, settings: Settings) -> None:
        # As long as the API's, so it fits where that fits.
        self._socket, self._port = settings.socket.with_suffix(ENDING), settings.dashboard.port
        self._entrance = Entrance(key_of(settings.state_dir / KEY), time.time)
        self._is_on_socket = False

    def invite(self, author: str) -> Mapping[str, Any]:
        if not self._port and not self._is_on_socket:
            raise Refused(f"there is no dashboard: {self._socket} can't be used", hint="see the daemon's log")
        where = {"port": self._port, "socket": str(self._socket)}
        return {"token": self._entrance.token(author), "reader_token": self._entrance.reader, **where}

    @asynccontextmanager
    async def serving(self, desk: Desk) -> AsyncIterator[None]:
        """Serves inside the block. Raises Misconfigured if the port is taken."""
        app = application(desk, self._entrance)
        async with AsyncExitStack() as stack:
            if (listener := _on_socket(stack, self._socket)) is not None:
                await stack.enter_async_context(answering(app, listener))
            self._is_on_socket = listener is not None
            if self._port:
                await stack.enter_async_context(answering(app, stack.enter_context(_loopback(self._port))))
            # Before the servers wait for their last answers: streams have no end of their own.
            stack.callback(desk.stream.close)
            yield


def _on_socket(stack: AsyncExitStack, path: Path) -> socket.socket | None:
    """None where it can't be: agents are worth more than pages, so the daemon goes on without them."""
    try:
        return stack.enter_context(bound(path))
    except SupervisorError as error:
        log.warning("no dashboard on a socket", why=error.message, hint=error.hint)
        return None


def _loopback(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen(BACKLOG)  # who comes before it is served waits
    except OSError as error:
        listener.close()
        why = error.strerror or str(error)
        raise Misconfigured(
            f"can't listen on port {port}: {why}", hint="set another [dashboard] port, or 0"
        ) from None
    return listener
