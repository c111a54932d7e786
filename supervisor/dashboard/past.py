"""Series of batches that somebody looks at: caught up from the journal when asked, and at rest otherwise."""

from collections import OrderedDict
from dataclasses import dataclass, field

import anyio
import anyio.lowlevel

from supervisor.dashboard.series import Series
from supervisor.ports import Journal

PIECE = 1000
MOST_BATCHES = 8


@dataclass(slots=True)
class _Known:
    series: Series = field(default_factory=Series)
    after: int = 0
    #: it has been up to date once
    is_whole: bool = False
    catching_up: anyio.Lock = field(default_factory=anyio.Lock)


class Past:
    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._known: OrderedDict[str, _Known] = OrderedDict()

    async def of(self, batch: str) -> Series:
        known = self._known.setdefault(batch, _Known())
        self._known.move_to_end(batch)
        while len(self._known) > MOST_BATCHES:
            self._known.popitem(last=False)
        async with known.catching_up:
            while piece := await self._journal.read(known.after, limit=PIECE, batch=batch):
                known.after = piece[-1].seq
                known.series.heard(record.event for record in piece)
                await anyio.lowlevel.checkpoint()  # others come in between
            known.is_whole = True
        return known.series

    def so_far(self, batch: str) -> Series | None:
        """What is known of it without asking the journal."""
        known = self._known.get(batch)
        return known.series if known and known.is_whole else None
