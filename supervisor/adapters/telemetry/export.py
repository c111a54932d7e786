"""Tells a collector of each attempt that is over, however often the daemon restarts.

Theory of operation. The journal is the queue: an export follows it, folds its events into spans, and stores in a file
the number of the last event that it has handled, together with the fold's memory. So what waits in memory is bounded,
nobody waits for a slow or dead collector, and a restart neither loses nor repeats spans that were accepted. A failed
request is retried with a growing delay. Spans are dropped when they are a day old, or when the collector refuses them
for good; drops are counted. A request whose response was lost is repeated with the same ids.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import msgspec
import structlog
from anyio import CancelScope, current_time, sleep

from supervisor.adapters.alerts.delivery import Undelivered
from supervisor.observe.snapshot import rfc3339
from supervisor.observe.stream import Stream
from supervisor.observe.traces.fold import Memory, Traces
from supervisor.observe.traces.span import Span, cleaned
from supervisor.ports import Journal
from supervisor.threads import in_thread

log = structlog.get_logger(__name__)

FIRST_RETRY_SECONDS, LONGEST_RETRY_SECONDS = 1.0, 60.0
#: spans that could not be told for so long are dropped
STALE_SECONDS = 24 * 3600.0
#: Spans are sent in batches: at most this many, which are encoded in milliseconds; after this time at the latest.
FULL, GATHER_SECONDS = 128, 5.0
#: without spans, the file is written once in this many events
KEEP_EVERY = 5_000


class Taker(Protocol):
    async def take(self, request: bytes) -> bytes:
        """The collector's answer. Raises Undelivered."""
        ...


@dataclass(frozen=True, slots=True)
class Protocols:
    """How spans are written, and how an answer is read: it takes the extra `otel`."""

    request: Callable[[list[Span]], bytes]
    rejected: Callable[[bytes], tuple[int, str]]


@dataclass(slots=True)
class Told:
    """What has come of it, for people."""

    spans: int = 0
    dropped: int = 0
    last_at: float | None = None
    problem: str = ""

    @property
    def data(self) -> dict[str, Any]:
        last, problem = rfc3339(self.last_at), self.problem or None
        return {"spans": self.spans, "dropped": self.dropped, "last_at": last, "problem": problem}


@dataclass(slots=True)
class Place:
    """Where an export is in the journal."""

    seq: int
    memory: Memory = field(default_factory=Memory)


@dataclass(slots=True)
class Export:
    collector: Taker
    protocols: Protocols
    journal: Journal
    stream: Stream
    file: Path
    clock: Callable[[], float]
    #: a number of spans, and what came of them: "told" or "dropped"
    count: Callable[[int, str], None] = lambda number, result: None
    told: Told = field(default_factory=Told)
    gather_seconds: float = GATHER_SECONDS

    async def run(self) -> None:
        place = await self._begin()
        traces, kept = Traces(self.journal.installation, place.memory), place.seq
        gathered: list[Span] = []
        since = 0.0
        async for piece in self.stream.follow(place.seq, idle_seconds=self.gather_seconds):
            for record in piece:
                place.seq = record.seq
                since = since if gathered else current_time()
                gathered += traces.hear(record.event)
            is_due = gathered and (len(gathered) >= FULL or current_time() - since >= self.gather_seconds)
            if is_due:
                await self._tell(gathered)
                gathered = []
            if is_due or (not gathered and place.seq >= kept + KEEP_EVERY):
                kept = place.seq
                with CancelScope(shield=True):  # a stop after the answer would have all of it repeated
                    await in_thread(self._keep, msgspec.json.encode(place))

    async def _begin(self) -> Place:
        """A new collector gets what begins from now on."""
        last = await self.journal.read(limit=1, newest=True)
        now = last[-1].seq if last else 0
        if (known := await in_thread(self._known)) is not None and known.seq <= now:
            return known
        place = Place(now)
        await in_thread(self._keep, msgspec.json.encode(place))
        return place

    # --- telling

    async def _tell(self, spans: list[Span]) -> None:
        for start in range(0, len(spans), FULL):
            await self._send(spans[start : start + FULL])

    async def _send(self, spans: list[Span]) -> None:
        request = await in_thread(self.protocols.request, spans)
        wait, newest = FIRST_RETRY_SECONDS, max(span.end for span in spans)
        while True:
            try:
                answer = await self.collector.take(request)
            except Undelivered as failed:
                if failed.message != self.told.problem:
                    log.warning("traces not told", why=failed.message)
                self.told.problem = failed.message
                if failed.again is None or self.clock() - newest > STALE_SECONDS:
                    self._dropped(len(spans), failed.message)
                    return
                await sleep(max(wait, failed.again))
                wait = min(2 * wait, LONGEST_RETRY_SECONDS)
            else:
                self._taken(len(spans), answer)
                return

    def _taken(self, spans: int, answer: bytes) -> None:
        lost, why = self.protocols.rejected(answer)
        lost = min(lost, spans)
        self.told.spans, self.told.last_at = self.told.spans + spans - lost, self.clock()
        self.told.problem = ""
        self.count(spans - lost, "told")
        if lost:
            self.told.problem = cleaned(f"it rejected {lost} of {spans} spans: {why}")
            self._dropped(lost, self.told.problem)

    def _dropped(self, spans: int, why: str) -> None:
        self.told.dropped += spans
        self.count(spans, "dropped")
        log.error("traces dropped", spans=spans, why=why)

    # --- the file

    def _known(self) -> Place | None:
        with suppress(FileNotFoundError, msgspec.DecodeError, ValueError):
            return msgspec.json.decode(self.file.read_bytes(), type=Place)
        return None

    def _keep(self, place: bytes) -> None:
        self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = self.file.with_suffix(f".{os.getpid()}")
        draft.write_bytes(place)
        draft.replace(self.file)
