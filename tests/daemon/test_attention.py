"""Agents that wait, fall silent or ask, on the real mngr; and what they say and take."""

import json
from pathlib import Path
from typing import Any

import pytest

from supervisor.model import event as ev
from supervisor.model.attempt import AttemptKey
from supervisor.model.job import JobState
from supervisor.observe import snapshot
from tests.daemon.sandbox import Running, box, running
from tests.waiting import until

pytestmark = pytest.mark.real

SCRIPTED = Path(__file__).with_name("scripted")


def rehearsing(scenario: str, **more: Any) -> dict[str, Any]:
    return {"agent": "rehearsal", "command": [], "agent_args": ["--scenario", scenario, "--tokens", "1000"], **more}


def scripted(script: str, **more: Any) -> dict[str, Any]:
    return {"command": [str(SCRIPTED)], "env": {"SCRIPT": script}, **more}


async def log(here: Running, job: int = 1, attempt: int = 1) -> list[dict[str, Any]]:
    piece = await here.devices.logs.read(AttemptKey("batch", job, attempt))
    return [json.loads(line) for line in piece.lines]


async def sealed(here: Running) -> dict[str, Any]:
    found = await here.devices.journal.sealed_batch("batch")
    assert found is not None
    batch: dict[str, Any] = json.loads(found.status)["batch"]
    return batch


async def test_an_agent_that_forgets_to_publish_is_told_once_and_does(tmp_path: Path) -> None:
    profile = rehearsing("forget", stall_timeout_seconds=60)
    async with box(tmp_path, jobs=1, profile=profile) as made, running(made) as here:
        await here.submit()
        await here.finished()

        assert [event.reason for event in here.of(ev.NudgeStarted)] == ["waiting"]
        assert [event.delivered for event in here.of(ev.AgentNudged)] == [True]
        assert [event.outcome for event in here.of(ev.JobEnded)] == ["clean"]
        assert not here.of(ev.AgentStalled, ev.JobRequeued)
        said = [row["text"] for row in await log(here)]
        assert "done, I think" in said
        assert any("nothing is published yet" in text for text in said)


async def test_one_that_stays_silent_is_given_up_rescued_and_goes_again(tmp_path: Path) -> None:
    profile = rehearsing("silent", stall_timeout_seconds=4, retries=1)
    async with box(tmp_path, jobs=1, profile=profile) as made, running(made) as here:
        await here.submit()
        await here.finished()

        assert [event.reason for event in here.of(ev.NudgeStarted)] == ["waiting"] * 2
        assert len(here.of(ev.AgentStalled)) == len(here.of(ev.WorkRescued)) == 2
        assert [event.counts for event in here.of(ev.JobRequeued)] == [True]
        assert [event.outcome for event in here.of(ev.JobEnded)] == ["stalled"]
        rows = await log(here)
        assert rows[-1]["kind"] == "pane", "what it showed at last"
        tokens = (await sealed(here))["tokens"]
        steps = [row for row in rows + await log(here, attempt=2) if row["kind"] == "say"]
        assert tokens == {"input": 1000 * len(steps), "output": 100 * len(steps), "cached": 0}


async def test_one_that_is_slow_and_says_so_is_left_alone(tmp_path: Path) -> None:
    """Twice the stall time goes by, with a word every two seconds."""
    profile = rehearsing("hang", stall_timeout_seconds=8, job_timeout_seconds=16)
    async with box(tmp_path, jobs=1, profile=profile) as made, running(made) as here:
        await here.submit()
        await here.finished()

        assert not here.of(ev.AgentFellQuiet, ev.NudgeStarted, ev.AgentStalled)
        assert [event.outcome for event in here.of(ev.JobEnded)] == ["timed-out"]


async def test_output_on_its_screen_is_activity_of_an_agent_that_writes_no_events(tmp_path: Path) -> None:
    """And the screen is all there is to see of it afterwards."""
    script = " ".join(["say:working pause:3"] * 4)
    profile = scripted(script, stall_timeout_seconds=8)
    async with box(tmp_path, jobs=1, profile=profile) as made, running(made) as here:
        await here.submit()
        await here.finished()

        assert not here.of(ev.AgentFellQuiet)
        assert [event.outcome for event in here.of(ev.JobEnded)] == ["clean"]
        rows = await log(here)
        assert {row["kind"] for row in rows} == {"pane"}
        assert sum(row["text"] == "working" for row in rows) == 4


async def test_one_that_asks_is_parked_until_it_is_answered(tmp_path: Path) -> None:
    profile = scripted("say:hello ask")
    async with box(tmp_path, jobs=1, profile=profile) as made, running(made) as here:
        await here.submit()
        await until("it is parked", lambda: here.state.batches["batch"].count(JobState.PARKED))
        status = snapshot.summary(here.state.batches["batch"])
        assert [entry["kind"] for entry in status["attention"]] == ["parked"]
        [attempt] = here.live()
        (here.devices.agents.state_dir(attempt.agent_id) / "permissions_waiting").unlink()
        await until("it is not parked any more", lambda: here.of(ev.JobUnparked))
        assert here.state.batches["batch"].job(attempt.key.job).state is JobState.RUNNING


async def test_by_policy_a_program_that_asks_is_given_up_and_nothing_is_typed(tmp_path: Path) -> None:
    profile = scripted("ask", on_parked="deny", retries=0)
    async with box(tmp_path, jobs=1, profile=profile) as made, running(made) as here:
        await here.submit()
        await here.finished()

        assert here.of(ev.JobParked)
        assert not here.of(ev.NudgeStarted)
        assert [event.outcome for event in here.of(ev.JobEnded)] == ["stalled"]


async def test_a_limit_is_no_stall_costs_no_retry_and_is_shown(tmp_path: Path) -> None:
    profile = scripted("limit", stall_timeout_seconds=6, retries=0)
    async with box(tmp_path, jobs=1, profile=profile) as made, running(made) as here:
        await here.submit()
        await until("it is to go again", lambda: here.of(ev.JobRequeued), 60)

        assert [event.problem for event in here.of(ev.AgentHindered)] == ["window"]
        assert not here.of(ev.NudgeStarted), "it is a program: nobody types into its terminal"
        [requeued] = here.of(ev.JobRequeued)
        assert not requeued.counts
        assert requeued.ready_at - requeued.at == 60
        [entry] = snapshot.summary(here.state.batches["batch"])["attention"]
        assert entry["kind"] == "window"
        assert "429" in entry["message"]


async def test_tokens_are_exact_over_a_restart_in_the_middle(tmp_path: Path) -> None:
    """Some are written while no daemon runs, some are read by one and some by the other; each counts once."""
    go_on, end = tmp_path / "go-on", tmp_path / "end"
    profile = scripted(f"steps:10 until:{go_on} steps:7 until:{end} steps:5")
    async with box(tmp_path / "box", jobs=2, profile=profile) as made:
        async with running(made) as here:
            await here.submit()
            await until("some are counted", lambda: len(here.of(ev.UsageCounted)) == 2)
        go_on.touch()
        async with running(made) as again:
            end.touch()
            await again.finished()

            batch = await sealed(again)
            of_one = sum(range(1, 23))
            assert batch["tokens"] == {"input": 2 * (22 * 100 + of_one), "output": 2 * of_one, "cached": 2 * 22 * 900}
            assert len(await log(again)) == len(await log(again, job=2)) == 44
            assert {event.model for event in again.of(ev.UsageCounted)} == {"scripted-1"}
