"""A gate that nobody asks wakes up for its file only, which it brings to disk every few seconds."""

from pathlib import Path

from tests.gate.gates import gate
from tests.resting import Loop, on_a_loop


def test_a_gate_that_nobody_asks_is_at_rest_and_its_stop_waits_for_nothing(tmp_path: Path) -> None:
    async def idle(loop: Loop) -> None:
        async with gate(tmp_path) as here:
            await loop.rest()
            assert not await loop.rest()
            here.server.end()
            await here.server.is_over.wait()
            assert not await loop.rest()

    on_a_loop(idle)
