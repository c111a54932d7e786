"""What is told of changes, on a mngr that notices all of them."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator

from supervisor.ports import Agents, SeenAgent
from tests.adapters.mngr.sandboxes import device, processes_of, sandbox
from tests.waiting import until


@contextlib.asynccontextmanager
async def watched(agents: Agents) -> AsyncIterator[list[SeenAgent]]:
    told: list[SeenAgent] = []

    async def watch() -> None:
        async for agent in agents.observe():
            told.append(agent)  # noqa: PERF401 -- each is looked at when it comes

    watching = asyncio.create_task(watch())
    try:
        yield told
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


async def test_each_change_is_told_once_and_the_end_as_unknown() -> None:
    with sandbox() as box:
        async with device(box) as agents, watched(agents) as told:
            order = box.order()
            address = await agents.create(order)
            await until("it is told to live", lambda: told and told[-1].state == "waiting")
            (agents.state_dir(order.id) / "permissions_waiting").touch()
            await until("it is told to be blocked", lambda: told[-1].state == "blocked")
            assert told[-1].waiting_reason == "PERMISSIONS"
            await agents.destroy([address])
            await until("it is told to be gone", lambda: told[-1].state == "unknown")
            lives = [agent for agent in told if agent.pid is not None]
            assert len(lives) == len({(agent.state, agent.pid) for agent in lives})


async def test_an_observer_that_died_is_replaced_and_its_group_is_gone_afterwards() -> None:
    with sandbox() as box:
        async with device(box) as agents:
            async with watched(agents) as told:
                await until("it observes", lambda: any(c["argv"][0] == "observe" for c in box.calls()))
                first = next(c["pid"] for c in box.calls() if c["argv"][0] == "observe")
                os.kill(first, signal.SIGKILL)
                order = box.order()
                await agents.create(order)
                await until("the next one tells", lambda: any(a.name == order.name for a in told))
            observers = {c["pid"] for c in box.calls() if c["argv"][0] == "observe"}
            assert len(observers) == 2
            assert not observers & {p.pid for p in processes_of(box.root)}
