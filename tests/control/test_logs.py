"""The log of a job over the API, and `supervisorctl logs`."""

import asyncio
import json
from pathlib import Path
from typing import Any

from supervisor.cli.logs import followed
from supervisor.model import event as ev
from supervisor.model.attempt import Attempt
from tests.cli.running import ctl
from tests.control.served import Served, served
from tests.waiting import until

TEST = "tests/test_it.py::test_one"


def writes(here: Served, home: Path, attempt: Attempt, *messages: str) -> None:
    """An agent of memory writes events, as one of mngr's does."""
    file = home / "agents" / attempt.agent_id / "events" / "run" / "events.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as events:
        events.writelines(json.dumps({"type": "run", "message": message}) + "\n" for message in messages)
    here.desk.logs.watch(here.loop.state.attempts)


async def launched(here: Served, batch: str, number: int = 1) -> Attempt:
    def attempt() -> Attempt | None:
        return next((a for k, a in here.loop.state.attempts.items() if k[:3:2] == (batch, number)), None)

    await until("it is launched", attempt)
    found = attempt()
    assert found is not None
    return found


async def page(here: Served, job: str, **query: Any) -> dict[str, Any]:
    return await here.call(lambda client: client.get(f"/v1/jobs/{job}/logs", **query))


async def test_a_log_is_read_from_any_place_on(tmp_path: Path) -> None:
    async with served(tmp_path) as here:
        batch = await here.submit(TEST)
        attempt = await launched(here, batch)
        writes(here, tmp_path, attempt, "one", "two")
        first = await page(here, f"{batch}.1", wait_seconds=10)
        assert [row["text"] for row in first["rows"]] == ["one", "two"]
        assert (first["attempt"], first["attempts"], first["attempt_over"]) == (1, 1, False)
        assert (await page(here, f"{batch}.1", after=first["next"]))["rows"] == []

        waiting = asyncio.create_task(page(here, f"{batch}.1", after=first["next"], wait_seconds=10))
        writes(here, tmp_path, attempt, "three")
        assert [row["text"] for row in (await waiting)["rows"]] == ["three"]


async def test_there_is_no_log_of_an_attempt_that_never_was(tmp_path: Path) -> None:
    async with served(tmp_path) as here:
        batch = await here.submit(TEST)
        await launched(here, batch)
        said = await ctl(tmp_path, "logs", f"{batch}.1", "--attempt", "7")
        said.refused(5, "has no attempt 7")
        (await ctl(tmp_path, "logs", f"{batch}.99")).refused(5, "has no job 99")


async def test_the_integrators_agent_has_a_log_as_well(tmp_path: Path) -> None:
    """It is job 0, to be looked at while it works and for ever after; it is steered with its batch only."""
    async with served(tmp_path) as here:
        batch = await here.submit(TEST)
        await launched(here, batch)
        here.player.needs_judgement = True
        await here.finish(batch)
        await until("the integrator is launched", lambda: any(k.job == 0 for k in here.loop.state.attempts))
        writes(here, tmp_path, next(a for k, a in here.loop.state.attempts.items() if k.job == 0), "merging")
        assert (await page(here, f"{batch}.0", wait_seconds=10))["rows"][0]["text"] == "merging"
        for verb in ("cancel", "retry"):
            (await ctl(tmp_path, verb, f"{batch}.0")).refused(4, "is the integrator's job; it cannot be steered")

        await here.finish(batch)
        await until("it is sealed", lambda: batch not in here.loop.state.batches)
        assert "merging" in (await ctl(tmp_path, "logs", f"{batch[:4]}.0")).out
        said = (await ctl(tmp_path, "job", f"{batch}.0")).out
        assert f"{batch}.0" in said
        assert f"{batch}.1" not in said


async def test_a_person_follows_all_attempts_until_the_job_is_over(tmp_path: Path) -> None:
    async with served(tmp_path) as here:
        batch = await here.submit(TEST)
        first = await launched(here, batch)
        writes(here, tmp_path, first, "the first says \x1b[31mred\x1b[0m")
        rows = followed(here.client, f"{batch}.1", None)
        seen = [await asyncio.to_thread(next, rows)]
        here.loop.inbox.tell(ev.AgentVanished(here.desk.clock(), *first.key))
        second = await launched(here, batch, 2)
        writes(here, tmp_path, second, "the second")
        await page(here, f"{batch}.1", attempt=2, wait_seconds=10)
        await here.finish(batch)

        seen += await asyncio.to_thread(list, rows)
        assert [(row["attempt"], row["text"]) for row in seen] == [(1, "the first says red"), (2, "the second")]
        said = await ctl(tmp_path, "logs", f"{batch}.1", "-f")
        assert [line.split(" ", 2)[1:] for line in said.out.splitlines()] == [["event", " the second"]]
        printed = (await ctl(tmp_path, "logs", f"{batch}.1", "--attempt", "1", "--json")).out.splitlines()
        assert [json.loads(row)["text"] for row in printed] == ["the first says red"]
