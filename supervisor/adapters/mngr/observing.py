"""Hears from `mngr observe` what changes. A hint and no more: it misses things, and may start again at any time."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import msgspec
import structlog

from supervisor.adapters.mngr.answers import seen_agent
from supervisor.adapters.mngr.calls import end
from supervisor.adapters.mngr.dialects import Dialect
from supervisor.adapters.mngr.plain import PlainRunning, resolved
from supervisor.adapters.mngr.settings import MngrSettings
from supervisor.errors import MngrFailed
from supervisor.ports import SeenAgent

FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0

log = structlog.get_logger(__name__)

type Seen = dict[str, SeenAgent]


async def observed(
    settings: MngrSettings, dialect: Callable[[], Awaitable[Dialect]], closing: asyncio.Event
) -> AsyncIterator[SeenAgent]:
    seen: Seen = {}
    wait = FIRST_WAIT
    while not closing.is_set():
        try:
            if not (await dialect()).is_streaming:
                return
            async with _lines(settings, closing) as lines:
                async for line in lines:
                    for agent in news(line, seen):
                        wait = FIRST_WAIT
                        yield agent
        except MngrFailed as failed:
            log.warning("can't observe", why=failed.message)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(closing.wait(), wait)
        wait = min(2 * wait, LONGEST_WAIT)


def news(line: bytes, seen: Seen) -> list[SeenAgent]:
    """What a line tells that was not known; a busy host makes mngr repeat every agent at every change."""
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


@contextlib.asynccontextmanager
async def _lines(settings: MngrSettings, closing: asyncio.Event) -> AsyncIterator[AsyncIterator[bytes]]:
    """mngr ends by itself when we do; when we stop it, its own children only go with the whole group."""
    process = await asyncio.create_subprocess_exec(
        str(resolved(settings)),
        *("observe", "--stream-events"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        cwd=settings.cwd,
        env=settings.environment(),
        start_new_session=True,
        limit=settings.max_output_bytes,
    )
    try:
        assert process.stdout is not None
        yield _until_closed(process.stdout, closing)
    finally:
        await end(PlainRunning(process))


async def _until_closed(stream: asyncio.StreamReader, closing: asyncio.Event) -> AsyncIterator[bytes]:
    closed = asyncio.ensure_future(closing.wait())
    try:
        while True:
            line = asyncio.ensure_future(stream.readline())
            done, _ = await asyncio.wait({line, closed}, return_when=asyncio.FIRST_COMPLETED)
            if line not in done:
                line.cancel()
                return
            try:
                text = line.result()
            except ValueError:  # longer than the limit
                return
            if not text:
                return
            yield text
    finally:
        closed.cancel()
