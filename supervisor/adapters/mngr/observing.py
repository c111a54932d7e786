"""Reads changes of agents from `mngr observe`. They are only hints: it misses some, and may restart at any time."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import msgspec
import structlog

from supervisor.adapters.mngr.answers import seen_agent
from supervisor.adapters.mngr.dialects import Dialect
from supervisor.adapters.mngr.streams import Streams
from supervisor.errors import MngrFailed
from supervisor.ports import SeenAgent

FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0

log = structlog.get_logger(__name__)

type Seen = dict[str, SeenAgent]


async def observed(streams: Streams, dialect: Callable[[], Awaitable[Dialect]]) -> AsyncIterator[SeenAgent]:
    seen: Seen = {}
    wait = FIRST_WAIT
    while not streams.are_closed:
        try:
            if not (await dialect()).is_streaming:
                return
            # mngr ends by itself when the daemon does; when we stop it, its children end only with the whole group.
            async with streams.opened("observe", "--stream-events") as running:
                while (line := await running.lines.next()) is not None:
                    for agent in news(line, seen):
                        wait = FIRST_WAIT
                        yield agent
        except MngrFailed as failed:
            log.warning("can't observe", why=failed.message)
        await streams.pause(wait)
        wait = min(2 * wait, LONGEST_WAIT)


def news(line: bytes, seen: Seen) -> list[SeenAgent]:
    """The agents of a line that have changed; on a busy host mngr repeats every agent at every change."""
    try:
        told: dict[str, Any] = msgspec.json.decode(line, type=dict[str, Any])
        raw = told.get("agents") or [told[key] for key in ("agent",) if key in told]
        agents = [seen_agent(r) for r in raw]
    except (msgspec.DecodeError, TypeError):
        return []  # the greeting, which is no JSON
    if told.get("type") == "AGENT_REMOVED":
        gone = seen.pop(str(told.get("agent_id")), None)
        return [replace(gone, state="unknown", pid=None)] if gone else []
    new = [agent for agent in agents if seen.get(agent.address.agent_id) != agent]
    seen.update((agent.address.agent_id, agent) for agent in new)
    return new
