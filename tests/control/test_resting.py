"""An API that nobody asks wakes up for nothing."""

import socket
from pathlib import Path

from starlette.types import Receive, Scope, Send

from supervisor.control.server import answering
from tests.resting import Loop, on_a_loop


async def nothing(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that is not asked."""


def test_an_api_that_nobody_asks_is_at_rest(tmp_path: Path) -> None:
    async def idle(loop: Loop) -> None:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(tmp_path / "ctl.sock"))
            listener.listen()
            async with answering(nothing, listener):
                await loop.rest()
                assert not await loop.rest()

    on_a_loop(idle)
