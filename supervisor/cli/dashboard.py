"""`dashboard`: the pages in a browser, also over ssh, and where the daemon has no port for them."""

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from supervisor.cli import session
from supervisor.errors import Refused

if TYPE_CHECKING:
    from anyio.abc import SocketStream

PORT = typer.Option(
    "--port", min=0, max=65535, help="The port on 127.0.0.1; default: a free one.", show_default=False
)
OPEN = typer.Option("--open/--no-open", help="Open it in a browser, where this machine has a screen.")


def dashboard(ctx: typer.Context, port: Annotated[int, PORT] = 0, show: Annotated[bool, OPEN] = True) -> None:
    """Open the dashboard: print an address that lets one browser in, within five minutes.

    Without `[dashboard] port` in the daemon's configuration, this command serves the pages itself until Ctrl-C.
    From your own machine: ssh -L 8600:localhost:8600 HOST supervisorctl dashboard --port 8600

    Example: supervisorctl dashboard
    """
    here = session.of(ctx)
    invited = here.client.post("/v1/dashboard")
    served = int(invited["port"])
    if served and port in (0, served):
        _tell(here, served, str(invited["token"]), show)
        return
    from functools import partial

    import anyio

    anyio.run(partial(_served, here, invited, port, show=show))


def _tell(here: session.Session, port: int, token: str, show: bool) -> None:
    address = f"http://127.0.0.1:{port}/login?token={token}"
    here.show({"schema_version": 1, "url": address, "port": port}, address)
    sys.stdout.flush()
    if "SSH_CONNECTION" in os.environ:
        here.note(f"This is an ssh session: the address works where `ssh -L {port}:localhost:{port} HOST` runs.")
    elif show and sys.stdout.isatty() and any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")):
        import webbrowser

        webbrowser.open(address)


async def _served(here: session.Session, invited: dict[str, Any], port: int, *, show: bool) -> None:
    """Carry bytes between browsers and the daemon's socket for pages, on which no other route of the daemon's is."""
    import anyio
    from anyio.abc import SocketAttribute, SocketStream

    path = str(invited["socket"])

    async def answer(browser: SocketStream) -> None:
        async with browser:
            with suppress(OSError):
                async with await anyio.connect_unix(path) as daemon, anyio.create_task_group() as both:
                    both.start_soon(_copied, browser, daemon)
                    both.start_soon(_copied, daemon, browser)

    try:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=port)
    except OSError as error:
        why = error.strerror or str(error)
        raise Refused(f"can't listen on port {port}: {why}", hint="give another one with --port") from None
    async with listener:
        _tell(here, int(listener.extra(SocketAttribute.local_port)), str(invited["token"]), show)
        here.note("It is served until this command ends: Ctrl-C.")
        await listener.serve(answer)


async def _copied(source: "SocketStream", target: "SocketStream") -> None:
    from anyio import BrokenResourceError, ClosedResourceError

    with suppress(BrokenResourceError, ClosedResourceError):
        async for piece in source:
            await target.send(piece)
        await target.send_eof()
