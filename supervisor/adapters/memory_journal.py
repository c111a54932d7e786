"""The journal in memory: for tests, and for whatever need not outlive its process."""

from collections.abc import Iterator, Sequence

from supervisor.model.event import BatchEvent, BatchSealed, Event, JobEvent
from supervisor.model.state import State
from supervisor.ports import Record, SealedBatch


class MemoryJournal:
    def __init__(self, installation: str = "000000000000") -> None:
        self.installation = installation
        self._records: list[Record] = []
        self._sealed: dict[str, SealedBatch] = {}
        self._last = 0
        self._kept: tuple[int, State] | None = None

    async def append(self, events: Sequence[Event], sealed: Sequence[SealedBatch] = ()) -> int:
        self._records += [Record(seq, event) for seq, event in enumerate(events, start=self._last + 1)]
        self._last += len(events)
        self._sealed |= {each.id: each for each in sealed}
        if sealed:
            self._kept = None
        return self._last

    def checkpoint(self) -> tuple[int, State] | None:
        return self._kept

    async def keep(self, seq: int, state: State) -> None:
        if not any(isinstance(record.event, BatchSealed) for record in self._after(seq)):
            self._kept = seq, state

    def _after(self, seq: int) -> list[Record]:
        return [record for record in self._records if record.seq > seq]

    def replay(self, after: int = 0) -> Iterator[Record]:
        return (record for record in self._after(after) if _batch(record.event) not in self._sealed)

    async def read(
        self, after: int = 0, *, limit: int = 1000, batch: str = "", job: int | None = None, newest: bool = False
    ) -> list[Record]:
        found = [
            record
            for record in self._after(after)
            if (not batch or _batch(record.event) == batch) and (job is None or _job(record.event) == job)
        ]
        return found[-limit:] if newest else found[:limit]

    async def sealed(self, *, limit: int = 100) -> list[SealedBatch]:
        return list(reversed(self._sealed.values()))[:limit]

    async def sealed_batch(self, batch: str) -> SealedBatch | None:
        return self._sealed.get(batch)

    async def sealed_ids(self, prefix: str, *, limit: int = 10) -> list[str]:
        return sorted(batch for batch in self._sealed if batch.startswith(prefix))[:limit]

    async def forget(self, before: float) -> int:
        gone = {each.id for each in self._sealed.values() if each.finished_at < before}
        forgotten = [record for record in self._records if _batch(record.event) in gone]
        self._records = [record for record in self._records if _batch(record.event) not in gone]
        return len(forgotten)

    async def close(self) -> None:
        pass


def _batch(event: Event) -> str:
    return event.batch if isinstance(event, BatchEvent) else ""


def _job(event: Event) -> int | None:
    return event.job if isinstance(event, JobEvent) else None
