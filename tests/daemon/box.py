"""A build box as a process of its own: the real daemon with one batch, run until it is sealed, or killed.

    python -m tests.daemon.box ORDER.json

The order says what to work on, and at which append to the journal the process kills itself: before it is written, or
just after. That is every place at which a crash can make a difference, because nothing else is remembered.
"""

import asyncio
import json
import logging
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import structlog

from supervisor.boot import daemon, opened
from supervisor.model.event import Event
from supervisor.model.profile import Profile
from supervisor.model.request import Submit
from supervisor.ports import Journal, SealedBatch
from supervisor.settings import Settings
from tests.waiting import until


@dataclass(frozen=True)
class Order:
    state_dir: str
    repo: str
    tests: list[str]
    profile: dict[str, Any] = field(default_factory=dict)
    batch: str = "batch"
    mngr: dict[str, Any] = field(default_factory=dict)
    slots: int = 2
    #: more tables of the configuration
    more: dict[str, Any] = field(default_factory=dict)
    #: the number of the append to die at; 0: never
    die_at: int = 0
    die_before: bool = False

    def write(self, path: Path) -> Path:
        path.write_text(json.dumps(asdict(self)))
        return path

    @property
    def settings(self) -> Settings:
        return Settings.model_validate(
            {
                "state_dir": self.state_dir,
                "socket": f"{self.state_dir}/ctl.sock",
                "mngr": self.mngr,
                "pools": [{"name": "local", "slots": self.slots}],
                **self.more,
            }
        )


class MortalJournal:
    """Counts appends, and ends the process at one of them as a power loss would."""

    def __init__(self, journal: Journal, order: Order) -> None:
        self._journal, self._order, self._appends = journal, order, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    async def append(self, events: Sequence[Event], sealed: Sequence[SealedBatch] = ()) -> int:
        self._appends += 1
        is_last = self._appends == self._order.die_at
        if is_last and self._order.die_before:
            os.kill(os.getpid(), signal.SIGKILL)
        seq = await self._journal.append(events, sealed)
        print(self._appends, ",".join(event.kind for event in events), flush=True)
        if is_last:
            os.kill(os.getpid(), signal.SIGKILL)
        return seq


async def work(order: Order) -> None:
    async with opened(order.settings) as devices:
        devices = replace(devices, journal=MortalJournal(devices.journal, order))
        supervisor = daemon(order.settings, devices)
        running = asyncio.create_task(supervisor.run())
        ready = asyncio.create_task(supervisor.ready.wait())
        await asyncio.wait([running, ready], return_when="FIRST_COMPLETED")
        if not running.done():
            await submitted(order, supervisor, devices)
            sealed = asyncio.create_task(
                until("sealed", lambda: order.batch not in supervisor.loop.state.batches, 600)
            )
            await asyncio.wait([running, sealed], return_when="FIRST_COMPLETED")
            # An agent that nobody knows is put away when a listing has told of it, which some faults forbid.
            with suppress(AssertionError):
                await until("no agent is left", lambda: not agents_in_mngr(Path(order.state_dir)), 6)
            supervisor.stop()
        await running


def agents_in_mngr(state_dir: Path) -> list[Path]:
    """What mngr lists: a folder without its data is what a `destroy` that was killed half way leaves behind."""
    return list((state_dir / "home" / ".mngr" / "agents").glob("agent-*/data.json"))


async def submitted(order: Order, supervisor: Any, devices: Any) -> None:
    """Once. It is looked for among what is open before what is sealed, or it could be sealed in between."""
    if order.batch in supervisor.loop.state.batches or await devices.journal.sealed_batch(order.batch) is not None:
        return
    facts = await devices.store.inspect(Path(order.repo))
    await devices.store.snapshot(Path(order.repo), facts.head_sha, order.batch)
    tests, profile = tuple(order.tests), msgspec.convert(order.profile, Profile)
    await supervisor.loop.inbox.ask(Submit(order.batch, order.repo, facts.head_sha, tests, profile))


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    asyncio.run(work(Order(**json.loads(Path(sys.argv[1]).read_text()))))
