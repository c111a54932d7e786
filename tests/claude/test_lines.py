"""What the real claude says is in `supervisorctl logs JOB -f` within seconds, each line once and in order."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from supervisor.control.desk import Desk
from supervisor.control.server import serving
from supervisor.kinds.claude import CONVERTED
from supervisor.model import event as ev
from supervisor.observe.stream import Stream
from supervisor.settings import resolve
from supervisor.transcripts.entries import Reading
from supervisor.transcripts.redact import Redactor
from tests.claude.lags import within
from tests.cli.running import BIN, environment
from tests.daemon.sandbox import Running, Sandbox, running
from tests.scripted.office import Part, office, publish
from tests.scripted.plays import READS, Turn

pytestmark = [pytest.mark.real, pytest.mark.proof, pytest.mark.timeout(600)]

#: what is promised
SECONDS = 7.0
#: mngr's converter would hold back what was said before it
LONG = Turn("This takes a while.", "sleep 12; echo at last")
QUICK = tuple(Turn(f"Step {n}.", f"sleep {n % 3}; echo step {n}") for n in range(6))
ENDS = (Turn("There is nothing to do.", publish()), Turn("Done."))
PARTS = tuple(Part(f"part{n}", (*QUICK[:n], LONG, *QUICK[n:], *ENDS)) for n in (1, 3, 5))

type Row = dict[str, Any]


@dataclass
class Heard:
    """What a person sees, and how old each line is when it is there."""

    rows: list[Row] = field(default_factory=list)
    lags: list[float] = field(default_factory=list)

    async def follow(self, made: Sandbox, job: str) -> None:
        env = environment(made.folder, SUPERVISOR_SOCKET=str(made.configuration.socket))
        command = (str(BIN / "supervisorctl"), "--json", "logs", job, "-f")
        follower = await asyncio.create_subprocess_exec(*command, env=env, stdout=asyncio.subprocess.PIPE)
        assert follower.stdout is not None
        async for line in follower.stdout:
            row = json.loads(line)
            self.lags.append(time.time() - datetime.fromisoformat(row["at"]).timestamp())
            self.rows.append(row)
        assert await follower.wait() == 0


@asynccontextmanager
async def api(here: Running) -> AsyncIterator[None]:
    """As `supervisord` serves it."""

    async def reload() -> bool:
        return False

    stream, devices = Stream(here.devices.journal, here.daemon.loop.caught_up), here.devices
    here.daemon.loop.watch(stream.notify)
    desk = Desk(
        state=lambda: here.state,
        ask=here.daemon.loop.inbox.ask,
        journal=devices.journal,
        store=devices.store,
        stream=stream,
        logs=devices.logs,
        profile=lambda name: resolve(here.box.configuration, name),
        reload=reload,
    )
    async with serving(desk, here.box.configuration.socket):
        yield


async def test_what_agents_say_is_shown_within_seven_seconds_and_once(tmp_path: Path) -> None:
    """Also what is said before a long command, which nothing follows for longer than that."""
    heard = {number: Heard() for number in range(1, len(PARTS) + 1)}
    async with office(tmp_path, PARTS) as (made, _), running(made) as here, api(here):
        await here.submit()
        following = [heard[job].follow(made, f"batch.{job}") for job in heard]
        await asyncio.gather(here.finished(timeout=400), *following)
        assert not here.of(ev.JobParked), "a command that takes long is no dialog"
        for job, part in enumerate(PARTS, 1):
            rows = [row for row in heard[job].rows if row["attempt"] == 1]
            said = [row["text"] for row in rows if row["kind"] == "say" and row["data"]["by"] == "agent"]
            assert said == [turn.say for turn in (READS, *part.turns)]
            assert [(row["kind"], row["text"], row["data"]) for row in rows] == as_converted(made, job)
    lags = [lag for each in heard.values() for lag in each.lags]
    print(f"\n{within(SECONDS, lags)}")
    assert max(lags) <= SECONDS


def as_converted(made: Sandbox, job: int) -> list[tuple[str, str, Row]]:
    """The same, as mngr has written it down in the end."""
    kept = made.configuration.mngr_home / ".mngr" / "preserved"
    [file] = kept.glob(f"sv-batch-{job}-1--*/events/{CONVERTED}/events.jsonl")
    reading = Reading(1, CONVERTED, Redactor(["sk-nobody-needs-this-one"]))
    entries = [entry for line in file.read_bytes().splitlines() for entry in reading.line(line)]
    return [(entry.kind, entry.text, entry.data) for entry in entries]
