"""Logs on disk: bounded, readable from any place on; and the device that fills them."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from supervisor.adapters.layout import Layout
from supervisor.adapters.logs.device import AgentLogs
from supervisor.adapters.logs.panes import Panes
from supervisor.adapters.logs.store import LogStore
from supervisor.adapters.memory import MemoryAgents
from supervisor.model.attempt import AttemptKey
from supervisor.ports import AgentAddress, AgentOrder, Place
from supervisor.tasks import beside
from supervisor.transcripts.redact import Redactor
from tests.adapters.log_box import ATTEMPT, KEY, Box, said
from tests.waiting import until


def segments(store: LogStore, key: AttemptKey) -> list[Path]:
    return list(store.folder(key).iterdir())


def size(store: LogStore, key: AttemptKey) -> int:
    return sum(path.stat().st_size for path in segments(store, key))


@given(st.lists(st.integers(1, 400), min_size=1, max_size=60), st.integers(0, 30_000))
def test_a_place_in_a_log_stays_what_it_is(tmp_path_factory: Any, sizes: list[int], after: int) -> None:
    """Whatever was cut, the next line from any place on is the one that was there."""
    store = LogStore(Layout(tmp_path_factory.mktemp("log")), each=4000)
    whole = b""
    for length in sizes:
        whole += (line := b"%d" % len(whole) + b"-" * length + b"\n")
        assert store.append(KEY, line) == len(whole)
    lines, place = store.read(KEY, after, most=500)
    kept = [line for line in lines if b'"note"' not in line]
    assert not kept or whole[:place].endswith(b"\n".join(kept) + b"\n")
    first = min(int(path.stem) for path in segments(store, KEY))
    assert len(lines) - len(kept) == (after < first)
    assert size(store, KEY) <= 4000 + 420


def test_what_was_cut_is_said_in_a_line(tmp_path: Path) -> None:
    box = Box(tmp_path, each=2000)
    box.write(*("x" * 200 for _ in range(40)))
    for _ in range(40):
        box.write("y" * 200)
        box.rounds()
    first, *rest = box.log()
    assert first["kind"] == "note"
    assert "bytes of this log were cut" in first["text"]
    assert {row["text"][0] for row in rest} == {"y"}


def test_all_logs_together_are_bounded_and_the_oldest_go_first(tmp_path: Path) -> None:
    store = LogStore(Layout(tmp_path), total=1500)
    keys = [AttemptKey("b", job, 1) for job in (1, 2, 3)]
    for age, key in enumerate(keys):
        store.append(key, b'{"text": "' + b"x" * 988 + b'"}\n')
        for path in segments(store, key):
            os.utime(path, (1000 + age, 1000 + age))
    store.shrink([keys[0]])
    assert [size(store, key) for key in keys] == [1001, 0, 0]
    assert b"1001 bytes of this log were cut" in store.read(keys[1], 0)[0][0]
    assert store.append(keys[1], b"more\n") == 1006


@asynccontextmanager
async def device(root: Path, agents: MemoryAgents | None = None) -> AsyncIterator[tuple[AgentLogs, MemoryAgents]]:
    agents = agents or MemoryAgents(root, providers=["local", "pool"])
    async with beside() as tasks:
        logs = AgentLogs(Layout(root), agents, Redactor(), Panes({}), tasks)
        try:
            yield logs, agents
        finally:
            await logs.close()


async def test_an_agent_of_another_host_is_followed_and_read_once_more_at_its_end(tmp_path: Path) -> None:
    """A follower starts over each time; no line is there twice, and what it missed comes at the end."""
    attempt = replace(ATTEMPT, provider="pool", pool="pool", host_id="host-only")
    order = AgentOrder(ATTEMPT.agent_id, "n", Place("pool"), "command", ("x",), tmp_path, "main", "b")
    async with device(tmp_path) as (logs, agents):
        await agents.create(order)
        file = agents.state_dir(ATTEMPT.agent_id) / "events" / "run" / "events.jsonl"
        file.parent.mkdir(parents=True)
        file.write_text("".join(json.dumps(said(n)) + "\n" for n in (1, 2)))
        logs.watch({KEY: attempt})
        await until("both are there", lambda: has(logs, 2))
        with file.open("a") as more:
            more.write(json.dumps(said(3)) + "\n")
        assert (await logs.finish(attempt, published=True)).output == 6
        assert len((await logs.read(KEY)).lines) == 3
        assert (await logs.finish(attempt, published=True)).output == 6


async def has(logs: AgentLogs, count: int) -> bool:
    return len((await logs.read(KEY)).lines) == count


async def test_a_line_is_there_within_a_second(tmp_path: Path) -> None:
    """Without a process, a thread or a task of its own for its agent."""
    async with device(tmp_path) as (logs, agents):
        logs.watch({KEY: ATTEMPT})
        file = agents.state_dir(ATTEMPT.agent_id) / "events" / "run" / "events.jsonl"
        file.parent.mkdir(parents=True)
        file.write_text("hello\n")
        await until("it is there", lambda: has(logs, 1), timeout=5)


class LastWords(MemoryAgents):
    """Its agent writes something down when it is stopped, and publishes long before its turn is over."""

    async def stop(self, addresses: Sequence[AgentAddress]) -> None:
        state = self.state_dir(addresses[0].agent_id)
        assert not (state / "active").exists(), "its turn is not over"
        session = state / "plugin" / "claude" / "anthropic" / "projects" / "-work" / "s1.jsonl"
        session.parent.mkdir(parents=True)
        message = {"role": "assistant", "id": "msg_9", "model": "m", "usage": {"output_tokens": 9}, "content": []}
        session.write_text(json.dumps({"type": "assistant", "message": message}))
        await super().stop(addresses)


async def test_a_claude_ends_its_turn_and_is_stopped_before_the_last_of_it_is_counted(tmp_path: Path) -> None:
    order = AgentOrder(ATTEMPT.agent_id, "n", Place("local"), "claude", ("x",), tmp_path, "main", "b")
    agents = LastWords(tmp_path, providers=["local"])
    async with device(tmp_path, agents) as (logs, _):
        await agents.create(order)
        state = agents.state_dir(ATTEMPT.agent_id)
        raw = state / "logs" / "claude_transcript" / "events.jsonl"
        raw.parent.mkdir(parents=True)
        raw.touch()
        (state / "active").touch()
        logs.watch({KEY: ATTEMPT})
        finishing = asyncio.create_task(logs.finish(ATTEMPT, published=True))
        await asyncio.sleep(0)
        (state / "active").unlink()
        assert (await finishing).output == 9
        assert (await logs.finish(ATTEMPT, published=True)).output == 9, "asked again, it is not stopped again"
