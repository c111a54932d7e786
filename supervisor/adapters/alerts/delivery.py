"""Tells one receiver of each alert and of its end, in their order, however often the daemon restarts.

Theory of operation. The journal is the queue: a delivery follows it and stores, in a file, the number of the last
event that it has handled. So nothing waits in memory, a restart neither loses nor repeats a delivery, and nobody
waits for a dead receiver. A failed delivery is retried with a growing delay, and given up after some hours or when
the receiver refuses it for good; then the next one follows. A delivery whose response was lost is repeated with the
same id.
"""

import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import structlog
from anyio import sleep

from supervisor.errors import DeviceFailed
from supervisor.model.event import AlertRaised, AlertResolved
from supervisor.observe.alerts import notice
from supervisor.observe.snapshot import rfc3339
from supervisor.observe.stream import Stream
from supervisor.ports import Journal, Record
from supervisor.threads import in_thread

log = structlog.get_logger(__name__)

FIRST_RETRY_SECONDS, LONGEST_RETRY_SECONDS = 1.0, 300.0
#: an alert that could not be delivered for so long is given up
GIVE_UP_SECONDS = 6 * 3600.0
#: an alert that is older when its turn comes, such as after a long downtime, is not worth waking anybody for
STALE_SECONDS = 24 * 3600.0
#: without alerts, the file is written once in this many events
KEEP_EVERY = 5_000


class Undelivered(DeviceFailed):
    """The receiver did not accept it. `again`: after how many seconds a retry may succeed; None: never."""

    def __init__(self, message: str, *, again: float | None = 0.0) -> None:
        super().__init__(message, hint="")
        self.again = again


class Receiver(Protocol):
    name: str
    #: the kinds of alerts that it wants; (): all
    only: tuple[str, ...]

    async def deliver(self, notice_id: str, content: dict[str, Any]) -> None:
        """Raises Undelivered. `notice_id` is the same for each try."""
        ...


@dataclass(slots=True)
class Told:
    """What has come of a receiver's deliveries, for people."""

    delivered: int = 0
    last_at: float | None = None
    problem: str = ""
    given_up: int = 0

    @property
    def data(self) -> dict[str, Any]:
        last = rfc3339(self.last_at)
        return {
            "delivered": self.delivered,
            "last_at": last,
            "problem": self.problem or None,
            "given_up": self.given_up,
        }


@dataclass(slots=True)
class Delivery:
    receiver: Receiver
    journal: Journal
    stream: Stream
    folder: Path
    clock: Callable[[], float]
    #: text without secrets
    masked: Callable[[str], str] = str
    told: Told = field(default_factory=Told)

    @property
    def _file(self) -> Path:
        return self.folder / f"{self.receiver.name}.json"

    async def run(self) -> None:
        done = await self._begin()
        kept = done
        async for piece in self.stream.follow(done):
            for record in piece:
                if await self._handled(record) or record.seq >= kept + KEEP_EVERY:
                    kept = record.seq
                    await in_thread(partial(self._keep, kept))

    async def _begin(self) -> int:
        """A new receiver gets what happens from now on."""
        if (known := await in_thread(self._known)) is not None:
            return known
        last = await self.journal.read(limit=1, newest=True)
        now = last[-1].seq if last else 0
        await in_thread(partial(self._keep, now))
        return now

    async def _handled(self, record: Record) -> bool:
        event = record.event
        if not isinstance(event, AlertRaised | AlertResolved):
            return False
        if self.receiver.only and event.rule not in self.receiver.only:
            return False
        if self.clock() - event.at < STALE_SECONDS:
            await self._delivered(f"{event.id}.{record.seq}", self._without_secrets(notice(event)))
        return True

    async def _delivered(self, notice_id: str, content: dict[str, Any]) -> None:
        began, wait = self.clock(), FIRST_RETRY_SECONDS
        while True:
            try:
                await self.receiver.deliver(notice_id, content)
            except Undelivered as failed:
                if failed.message != self.told.problem:
                    log.warning("alert not delivered", receiver=self.receiver.name, why=failed.message)
                self.told.problem = failed.message
                if failed.again is None or self.clock() - began > GIVE_UP_SECONDS:
                    self.told.given_up += 1
                    log.error("alert given up", receiver=self.receiver.name, alert=notice_id, why=failed.message)
                    return
                await sleep(max(wait, failed.again))
                wait = min(2 * wait, LONGEST_RETRY_SECONDS)
            else:
                self.told.delivered, self.told.last_at, self.told.problem = (
                    self.told.delivered + 1,
                    self.clock(),
                    "",
                )
                return

    def _without_secrets(self, content: Any) -> Any:
        if isinstance(content, dict):
            return {key: self._without_secrets(value) for key, value in content.items()}
        return self.masked(content) if isinstance(content, str) else content

    def _known(self) -> int | None:
        with suppress(FileNotFoundError, ValueError, KeyError, TypeError):
            return int(json.loads(self._file.read_text())["seq"])
        return None

    def _keep(self, seq: int) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = self._file.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps({"seq": seq}))
        draft.replace(self._file)
