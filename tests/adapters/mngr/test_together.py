"""Calls that come while one is under way go together in the next."""

import asyncio
from collections.abc import Sequence

import pytest

from supervisor.adapters.mngr.together import Together
from supervisor.errors import MngrFailed
from supervisor.ports import AgentAddress
from tests.waiting import until


class Slow:
    """An act that ends when it is told to."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.gates: list[asyncio.Event] = []
        self.fails: set[str] = set()

    async def __call__(self, addresses: Sequence[AgentAddress]) -> None:
        names = "".join(address.agent_id for address in addresses)
        self.calls.append(names)
        self.gates.append(gate := asyncio.Event())
        await gate.wait()
        if self.fails & set(names):
            raise MngrFailed(f"can't destroy {names}", reason="refused")

    async def called(self, times: int) -> None:
        await until(f"{times} calls", lambda: len(self.calls) == times)


def at(name: str, provider: str = "local") -> list[AgentAddress]:
    return [AgentAddress(name, "host", provider)]


async def begun(act: Slow, *names: str, patience: float = 60) -> list[asyncio.Task[None]]:
    """The first is under way, and the others wait."""
    together = Together(act, patience)
    tasks = [asyncio.ensure_future(together(at(names[0])))]
    await act.called(1)
    tasks += [asyncio.ensure_future(together(at(name))) for name in names[1:]]
    await asyncio.sleep(0)
    return tasks


async def test_those_that_wait_go_as_one() -> None:
    act = Slow()
    tasks = await begun(act, "a", "b", "c", "d")
    assert act.calls == ["a"]
    act.gates[0].set()
    await act.called(2)
    act.gates[1].set()
    await asyncio.gather(*tasks)
    assert act.calls == ["a", "bcd"]


async def test_a_failure_is_told_to_all_that_went_together_and_to_nobody_else() -> None:
    act = Slow()
    act.fails = {"c"}
    tasks = await begun(act, "a", "b", "c")
    act.gates[0].set()
    await act.called(2)
    act.gates[1].set()
    told = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(each) for each in told] == [type(None), MngrFailed, MngrFailed]


async def test_who_is_cancelled_in_the_middle_leaves_the_work_to_the_next() -> None:
    act = Slow()
    tasks = await begun(act, "a", "b", "c")
    act.gates[0].set()
    await act.called(2)
    tasks[1].cancel()
    await act.called(3)
    act.gates[2].set()
    told = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(each) for each in told] == [type(None), asyncio.CancelledError, type(None)]
    assert act.calls == ["a", "bc", "bc"]


async def test_a_call_that_hangs_is_not_waited_for() -> None:
    act = Slow()
    tasks = await begun(act, "a", "b", "c", patience=0.01)
    await act.called(3)
    for gate in act.gates[1:]:
        gate.set()
    await asyncio.gather(*tasks[1:])
    assert not tasks[0].done()
    act.gates[0].set()
    await tasks[0]
    assert act.calls == ["a", "b", "c"]


async def test_who_goes_with_others_already_waits_for_the_end_of_that() -> None:
    act = Slow()
    tasks = await begun(act, "a", "b", "c", patience=0.2)
    act.gates[0].set()
    await act.called(2)
    done, _ = await asyncio.wait(tasks[1:], timeout=0.4)
    assert not done
    act.gates[1].set()
    await asyncio.gather(*tasks)
    assert act.calls == ["a", "bc"]


async def test_each_provider_has_its_own_turn() -> None:
    act = Slow()
    together = Together(act)
    tasks = [asyncio.ensure_future(together(at(name, name))) for name in "ab"]
    await act.called(2)
    for gate in act.gates:
        gate.set()
    await asyncio.gather(*tasks)


async def test_alone_it_is_a_plain_call() -> None:
    async def act(addresses: Sequence[AgentAddress]) -> None:
        raise MngrFailed("no", reason="timeout")

    with pytest.raises(MngrFailed, match="no"):
        await Together(act)(at("a"))
