"""Many creates at once in a home where no mngr ever was: one machine, and every agent is where it is said to be.

As often as `PROOF_ROUNDS` says.
"""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from supervisor.ports import AgentAddress
from tests.adapters.mngr.sandboxes import REAL, STUB, device, sandbox
from tests.properties import ROUNDS


async def creates_at_once(command: Path, count: int, *, warm: bool) -> None:
    with sandbox(command, warm=warm) as box:
        async with device(box) as agents:
            orders = [box.order() for _ in range(count)]
            looks = [agents.list("local") for _ in range(2)]
            found = await asyncio.gather(*(agents.create(order) for order in orders), *looks)
            addresses = [each for each in found if isinstance(each, AgentAddress)]
            listing = await agents.list("local")
            assert listing.complete, listing.problems
            assert len({each.host_id for each in addresses}) == 1, "one machine has one id"
            assert {each.address for each in listing.agents} == set(addresses), "no orphan, and each at its address"
            said = await asyncio.gather(*(agents.exec(address, "echo here") for address in addresses))
            assert {each.stdout for each in said} == {"here"}
            await agents.destroy(addresses)
            assert not (await agents.list("local")).agents


async def test_the_first_creates_agree_on_the_machine() -> None:
    for _ in range(ROUNDS):
        await creates_at_once(STUB, 8, warm=False)


@pytest.mark.real
@pytest.mark.proof
async def test_the_first_creates_of_the_real_mngr_agree_on_the_machine() -> None:
    for _ in range(ROUNDS):
        await creates_at_once(REAL, 20, warm=True)


async def test_an_agent_at_a_stale_address_is_found_and_can_be_put_away() -> None:
    """As a journal holds it that was written when two calls made up the machine's id at once."""
    with sandbox() as box:
        async with device(box) as agents:
            true = await agents.create(box.order())
            stale = replace(true, host_id="host-" + "0" * 32)
            assert (await agents.exec(stale, "echo here")).stdout == "here"
        async with device(box) as agents:
            await agents.destroy([stale])
            assert not (await agents.list("local")).agents


async def test_one_that_is_really_gone_is_said_to_be_only_by_a_whole_listing() -> None:
    with sandbox() as box:
        async with device(box) as agents:
            address = await agents.create(box.order())
            await agents.destroy([address])
            box.goes_wrong({"verb": "list", "do": "down"})
            with pytest.raises(Exception, match=r"whether .* is gone can't be told"):
                await agents.exec(address, "true")
            with pytest.raises(Exception, match=r"whether .* is gone can't be told"):
                await agents.destroy([address])
            box.goes_wrong()
            with pytest.raises(Exception, match=r"(?i)agent not found"):
                await agents.exec(address, "true")
            await agents.destroy([address])
