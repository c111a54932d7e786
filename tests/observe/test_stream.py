"""What followers get of events."""

import json

import anyio

from supervisor.adapters.memory_journal import MemoryJournal
from supervisor.model import event as ev
from supervisor.observe.stream import Stream, as_data
from supervisor.ports import Record
from tests.adapters.story import everything


def test_every_kind_of_event_is_told_as_json() -> None:
    for seq, event in enumerate(everything("here"), 1):
        told = json.loads(json.dumps(as_data(Record(seq, event)), allow_nan=False))
        assert (told["seq"], told["kind"]) == (seq, event.kind)


async def test_an_event_is_told_when_the_state_has_it() -> None:
    """It can be read from the journal a moment before."""
    journal, in_state, told = MemoryJournal(), anyio.Event(), list[int]()
    await journal.append([ev.QueuePaused(1.0)])

    async def listen() -> None:
        async for piece in Stream(journal, in_state.wait).follow():
            told.append(piece[-1].seq)
            return

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(listen)
        await anyio.wait_all_tasks_blocked()
        assert told == []
        in_state.set()
    assert told == [1]
