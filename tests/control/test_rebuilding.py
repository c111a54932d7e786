"""A sealed batch is folded from its events once, for all who ask at once and later."""

import asyncio

from supervisor.adapters.memory_journal import MemoryJournal
from supervisor.control.rebuilding import MOST_KEPT, Rebuilding
from supervisor.model import event as ev
from supervisor.model.batch import Batch
from supervisor.model.state import State
from supervisor.observe.snapshot import seal
from tests.flow.world import World


async def a_journal(*batches: str) -> MemoryJournal:
    """These batches are over and sealed in it."""
    world, journal, sealed = World(local=1), MemoryJournal(), list[Batch]()

    def watch(before: State, event: ev.Event) -> None:
        if isinstance(event, ev.BatchSealed):
            sealed.append(before.batches[event.batch])

    world.watchers.append(watch)
    for batch in batches:
        world.submit(batch).run(batch)
    await journal.append(world.events, [seal(each) for each in sealed])
    return journal


async def test_it_is_folded_once() -> None:
    journal, rebuilding = await a_journal("b"), Rebuilding()
    first, second = await asyncio.gather(rebuilding.of(journal, "b", 0.0), rebuilding.of(journal, "b", 0.0))
    assert first is second
    assert first is not None
    assert (first.batch.id, first.batch.result.branch) == ("b", "supervisor/b")


async def test_only_the_last_ones_are_kept() -> None:
    names = [f"b{number}" for number in range(MOST_KEPT + 1)]
    journal, rebuilding = await a_journal(*names), Rebuilding()
    first = await rebuilding.of(journal, names[0], 0.0)
    for name in names[1:]:
        await rebuilding.of(journal, name, 0.0)
    again = await rebuilding.of(journal, names[0], 0.0)
    assert (again == first, again is first) == (True, False)


async def test_what_is_not_kept_any_more_is_not_told() -> None:
    journal, rebuilding = await a_journal("b"), Rebuilding()
    assert await rebuilding.of(journal, "b", 0.0) is not None
    await journal.forget(float("inf"))
    assert await rebuilding.of(journal, "b", 0.0) is None
    assert await rebuilding.of(journal, "nobody", 0.0) is None
