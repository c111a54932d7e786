"""What every `Agents` device promises: the one in memory, mngr's stand-in and mngr itself."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from supervisor.adapters.memory import MemoryAgents
from supervisor.errors import MngrFailed
from supervisor.ports import AgentAddress, Agents, SeenAgent
from tests.adapters.mngr.sandboxes import REAL, STUB, Sandbox, device, sandbox
from tests.leaks import LEAKS
from tests.waiting import until

pytestmark = pytest.mark.asyncio(loop_scope="module")


class World:
    def __init__(self, box: Sandbox, kind: str) -> None:
        self.box, self.kind = box, kind

    @contextlib.asynccontextmanager
    async def agents(self) -> AsyncIterator[Agents]:
        if self.kind != "memory":
            async with device(self.box) as real:
                yield real
            return
        memory = MemoryAgents(self.box.root / "memory")
        yield memory
        await memory.close()


#: what the device opens in one test it may keep for the next
pytestmark = pytest.mark.shared_device


@pytest.fixture(scope="module", params=["memory", "stub", pytest.param("real", marks=pytest.mark.real)])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    is_real = request.param == "real"
    with sandbox(REAL if is_real else STUB, warm=is_real) as box:
        LEAKS.shared.add(box.root)
        yield World(box, request.param)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def agents(world: World) -> AsyncIterator[Agents]:
    """One device for all of them, in a task of its own: the real one imports mngr when it is opened."""
    opened, over = asyncio.get_running_loop().create_future(), asyncio.Event()

    async def live() -> None:
        async with world.agents() as agents:
            opened.set_result(agents)
            await over.wait()

    living = asyncio.create_task(live())
    await asyncio.wait([living, opened], return_when="FIRST_COMPLETED")
    yield opened.result()
    over.set()
    await living


async def seen(agents: Agents, agent_id: str) -> SeenAgent | None:
    listing = await agents.list("local")
    assert listing.complete, listing.problems
    return next((a for a in listing.agents if a.address.agent_id == agent_id), None)


def is_dir(path: str) -> bool:
    return Path(path).is_dir()


def like(address: AgentAddress, *, number: int) -> AgentAddress:
    """The address of an agent that is not there, on the same host."""
    return AgentAddress(f"agent-{number:032x}", address.host_id, address.provider)


async def test_a_created_agent_is_listed_under_the_chosen_id_name_and_labels(world: World, agents: Agents) -> None:
    order = world.box.order(labels={"batch": "b 1", "job": "j"})
    address = await agents.create(order)
    found = await seen(agents, order.id)
    assert found is not None
    assert (found.address, found.name, found.state) == (address, order.name, "waiting")
    assert dict(found.labels).items() >= {"batch": "b 1", "job": "j"}.items()
    assert is_dir(found.work_dir)


async def test_the_same_order_twice_makes_one_agent(world: World, agents: Agents) -> None:
    order = world.box.order()
    await agents.create(order)
    with pytest.raises(MngrFailed) as refused:
        await agents.create(order)
    assert refused.value.reason == "duplicate"
    assert await seen(agents, order.id)


async def test_files_are_in_the_state_directory_and_stay_executable(
    world: World, agents: Agents, tmp_path: Path
) -> None:
    tool, text = tmp_path / "a: tool", tmp_path / "text"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    text.write_text("some text")
    order = world.box.order(files={"given/my tool": tool, "given/text": text})
    await agents.create(order)
    given = agents.state_dir(order.id) / "given"
    assert (given / "text").read_text() == "some text"
    assert (given / "my tool").stat().st_mode & 0o100
    assert not (given / "text").stat().st_mode & 0o100


async def test_what_needs_an_agent_says_when_there_is_none(world: World, agents: Agents, tmp_path: Path) -> None:
    gone = like(await agents.create(world.box.order()), number=1)
    for ask in (
        agents.message(gone, "hello"),
        agents.exec(gone, "true"),
        agents.pull(gone, "README", tmp_path / "README"),
        agents.label(gone, {"k": "v"}),
    ):
        with pytest.raises(MngrFailed) as failed:
            await ask
        assert failed.value.reason == "no-such-agent"
    assert not (tmp_path / "README").exists()


async def test_stopping_ends_what_is_there_and_forgives_what_is_not(world: World, agents: Agents) -> None:
    order = world.box.order()
    address = await agents.create(order)
    batch = [like(address, number=1), address, like(address, number=2)]
    await agents.stop(batch)
    found = await seen(agents, order.id)
    assert found is not None
    assert found.state == "stopped"
    await agents.stop(batch)


async def test_destroying_removes_what_is_there_and_forgives_what_is_not(world: World, agents: Agents) -> None:
    orders = [world.box.order() for _ in range(2)]
    addresses = [await agents.create(order) for order in orders]
    batch = [like(addresses[0], number=1), *addresses, like(addresses[0], number=2)]
    await agents.destroy(batch)
    for order in orders:
        assert await seen(agents, order.id) is None
        assert not agents.state_dir(order.id).exists()
    await agents.destroy(batch)
    await agents.destroy([like(addresses[0], number=1)])


async def test_an_agent_that_does_not_run_takes_no_message(world: World, agents: Agents) -> None:
    address = await agents.create(world.box.order())
    await agents.message(address, 'it takes "this", $HOME and `that`')
    await agents.stop([address])
    with pytest.raises(MngrFailed) as refused:
        await agents.message(address, "hello")
    assert refused.value.reason == "refused"


async def test_absence_proves_nothing_where_the_provider_is_unknown(world: World, agents: Agents) -> None:
    listing = await agents.list("nowhere")
    assert listing.agents == ()
    assert not listing.complete


async def test_commands_run_on_the_agents_host_and_tell_whether_they_succeeded(world: World, agents: Agents) -> None:
    address = await agents.create(world.box.order())
    assert (await agents.exec(address, "true")).success


async def test_a_file_or_what_is_in_a_directory_can_be_pulled(world: World, agents: Agents, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("some text")
    order = world.box.order(files={"out/a.txt": text, "out/deep/b.txt": text})
    address = await agents.create(order)
    state_dir = agents.state_dir(order.id)
    await agents.pull(address, f"{state_dir}/out/a.txt", tmp_path / "got" / "one.txt")
    await agents.pull(address, f"{state_dir}/out/", tmp_path / "all")
    assert (tmp_path / "got" / "one.txt").read_text() == "some text"
    assert sorted(p.name for p in (tmp_path / "got").iterdir()) == ["one.txt"]
    assert (tmp_path / "all" / "deep" / "b.txt").read_text() == "some text"
    with pytest.raises(MngrFailed) as failed:
        await agents.pull(address, f"{state_dir}/out/nothing", tmp_path / "nothing")
    assert failed.value.reason == "refused"
    assert not (tmp_path / "nothing").exists()


async def test_labels_are_added_to_those_that_are_there(world: World, agents: Agents) -> None:
    order = world.box.order(labels={"a": "1", "b": "2"})
    await agents.label(await agents.create(order), {"b": "3", "c": "="})
    found = await seen(agents, order.id)
    assert found is not None
    assert dict(found.labels).items() >= {"a": "1", "b": "3", "c": "="}.items()


async def test_observing_tells_of_agents_until_the_device_is_closed(world: World) -> None:
    """And no more is promised: mngr itself misses changes that come before it has settled."""
    told: list[SeenAgent] = []

    async def watch(agents: Agents) -> None:
        async for agent in agents.observe():
            told.append(agent)  # noqa: PERF401 -- each is looked at when it comes

    async with world.agents() as agents:
        watching = asyncio.create_task(watch(agents))
        address = await agents.create(world.box.order())
        await until("the new agent is told", lambda: any(a.address == address for a in told))
    async with asyncio.timeout(20):
        await watching
