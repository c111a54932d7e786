"""What an agent writes is followed by the real mngr, as it is for agents of other hosts."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest

from supervisor.ports import AgentAddress, Agents
from tests.adapters.mngr.sandboxes import REAL, device, processes_of, sandbox
from tests.waiting import until

pytestmark = pytest.mark.real


def wrote(file: Path, *numbers: int) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as events:
        for n in numbers:
            event = {"timestamp": "2026-01-01T00:00:00Z", "type": "run", "event_id": f"e{n}", "source": "run"}
            events.write(json.dumps(event | {"message": f"line {n}"}) + "\n")


@asynccontextmanager
async def following(agents: Agents, address: AgentAddress) -> AsyncIterator[list[str]]:
    heard: list[str] = []

    async def hear() -> None:
        async with aclosing(agents.follow(address)) as lines:
            async for line in lines:
                heard.append(json.loads(line)["event_id"])  # noqa: PERF401 -- each is looked at when it comes

    task = asyncio.create_task(hear())
    try:
        yield heard
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_lines_are_followed_from_the_first_one_on_and_nothing_stays_behind() -> None:
    with sandbox(REAL, warm=True) as box:
        async with device(box) as agents:
            order = box.order()
            address = await agents.create(order)
            file = agents.state_dir(order.id) / "events" / "run" / "events.jsonl"
            wrote(file, 1, 2)
            async with following(agents, address) as heard:
                await until("both are heard", lambda: heard == ["e1", "e2"], timeout=60)
                wrote(file, 3)
                await until("the next one is heard", lambda: heard == ["e1", "e2", "e3"])
            followers = [p for p in processes_of(box.root) if "event" in p.cmdline()]
            assert not followers

            async with aclosing(agents.follow(address, forever=False)) as lines:
                assert [json.loads(line)["event_id"] async for line in lines] == ["e1", "e2", "e3"]
            await agents.destroy([address])
