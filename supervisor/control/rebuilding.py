"""Sealed batches, folded from their events once for all who ask: tens of thousands of events take seconds."""

from collections import OrderedDict
from dataclasses import dataclass

import anyio

from supervisor.model.batch import Batch
from supervisor.model.event import BatchSubmitted, Event
from supervisor.observe.report import History
from supervisor.observe.report_history import history, rebuilt
from supervisor.ports import Journal
from supervisor.threads import in_thread

PIECE = 1000
#: of those that were asked for last
MOST_KEPT = 2


@dataclass(frozen=True, slots=True)
class Past:
    batch: Batch
    history: History


class Rebuilding:
    def __init__(self) -> None:
        self._kept: OrderedDict[str, Past] = OrderedDict()
        self._one_at_a_time = anyio.Lock()

    async def of(self, journal: Journal, batch: str, now: float) -> Past | None:
        """A sealed batch; None if its events are not kept any more."""
        async with self._one_at_a_time:
            if not await journal.read(limit=1, batch=batch):
                self._kept.pop(batch, None)
                return None
            if batch not in self._kept:
                events = await events_of(journal, batch)
                if not any(isinstance(event, BatchSubmitted) for event in events):
                    return None
                self._kept[batch] = await in_thread(lambda: Past(rebuilt(batch, events), history(events, now)))
            self._kept.move_to_end(batch)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
            return self._kept[batch]


async def events_of(journal: Journal, batch: str) -> list[Event]:
    after, found = 0, list[Event]()
    while piece := await journal.read(after, limit=PIECE, batch=batch):
        after = piece[-1].seq
        found += [record.event for record in piece]
    return found
