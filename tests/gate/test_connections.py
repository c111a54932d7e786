"""Connections to providers are used again, the one that was used last first; what nobody needs is closed."""

import threading
from contextlib import AsyncExitStack

import httpx
import pytest

from supervisor.gate.connections import Connections, connections
from tests.gate.provider import STREAM, Reply, Scripted, message, scripted


async def asked(kept: Connections, provider: Scripted) -> httpx.Response:
    return await kept.send(provider.url, "POST", f"{provider.url}/v1/messages", [], b"{}")


async def whole(kept: Connections, provider: Scripted) -> bytes:
    answer = await asked(kept, provider)
    try:
        return await answer.aread()
    finally:
        await answer.aclose()


async def test_a_request_takes_the_connection_that_was_used_last() -> None:
    with scripted() as provider:
        async with connections() as kept:
            answers = [await asked(kept, provider) for _ in range(3)]
            for answer in answers:
                await answer.aread()
            for _ in range(2):
                assert b"message_stop" in await whole(kept, provider)
        first, second, third, *others = (each.port for each in provider.asked)
    assert len({first, second, third}) == 3, "each of those at the same time has one of its own"
    assert others == [third, third]


async def test_those_that_nobody_has_needed_for_long_are_closed() -> None:
    with scripted() as provider:
        async with connections(idle_seconds=0.0) as kept:
            for answer in [await asked(kept, provider) for _ in range(3)]:
                await answer.aread()
            async with AsyncExitStack() as stack:
                for _ in range(2):
                    answer = await asked(kept, provider)
                    stack.push_async_callback(answer.aclose)
        ports = [each.port for each in provider.asked]
    assert ports[3] == ports[2], "the last one was kept"
    assert ports[4] not in ports[:4], "and no other one"


async def test_an_answer_that_nobody_reads_any_more_spoils_no_later_one() -> None:
    go = threading.Event()
    with scripted(Reply(events=message(), waits=(2, go))) as provider:
        async with connections() as kept:
            await (await asked(kept, provider)).aclose()
            go.set()
            assert b"message_stop" in await whole(kept, provider)


async def test_a_connection_that_broke_is_not_used_again() -> None:
    with scripted(Reply(events=message(), is_cut=True), STREAM) as provider:
        async with connections() as kept:
            with pytest.raises(httpx.RemoteProtocolError):
                await whole(kept, provider)
            assert b"message_stop" in await whole(kept, provider)
        assert len({each.port for each in provider.asked}) == 2
