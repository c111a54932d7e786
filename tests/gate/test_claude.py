"""Batches of the real claude, through the gate, on a scripted model."""

import json
import time
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from supervisor.model import event as ev
from supervisor.model.hindrance import Hindrance
from tests.daemon.sandbox import running
from tests.gate.behind import behind, counts_of
from tests.scripted import batches
from tests.scripted.batches import RUNS, sealed
from tests.scripted.office import CLAUDE_PROGRAM, Part, publish
from tests.scripted.plays import Turn
from tests.waiting import until

pytestmark = [pytest.mark.real, pytest.mark.proof, pytest.mark.timeout(1200)]

#: what the gate holds, claude need not try again
PATIENCE = {"CLAUDE_CODE_MAX_RETRIES": "0"}


def soon() -> str:
    """A time of day in half a minute or more, as claude's provider tells it."""
    at = datetime.fromtimestamp(time.time() + 90, UTC)
    return f"You've hit your session limit · resets {at:%-I:%M}{at:%p} (UTC)".replace("AM", "am").replace("PM", "pm")


def hindered(name: str, status: int, times: int, words: str = "not now") -> Part:
    publishes = Turn("It passes.", publish(), refuses=(status, times), words=words)
    return Part(name, (RUNS, publishes, Turn("Done.")))


async def test_limits_overloads_and_a_used_up_window_fail_nobody_and_all_is_counted_to_the_token(
    tmp_path: Path,
) -> None:
    """None of it uses a retry of claude's or of the job's."""
    parts = [
        hindered("limited", 429, 2),
        hindered("overloaded", 529, 4),
        hindered("windowed", 429, 1, soon()),
        Part("plain", batches.CLEAN),
    ]
    async with behind(tmp_path, parts, slots=2, env=PATIENCE) as (made, model), running(made) as here:
        await here.submit()
        batch, jobs = await sealed(here, 600)

        assert {test: job["outcome"] for test, job in jobs.items()} == {part.test: "clean" for part in parts}
        assert batch["tokens"] == model.taken()
        assert [model.refused[part.test, 2] for part in parts] == [3, 5, 2, 1]
        assert not here.of(ev.AgentVanished, ev.AgentStalled, ev.JobRequeued, ev.NudgeStarted)
        with closing(counts_of(made)) as counts:
            assert {row.unknown for row in counts.taken()} == {0}


#: by itself it tries for minutes
IMPATIENT = partial(behind, env={"CLAUDE_CODE_MAX_RETRIES": "2"})


async def test_four_jobs_end_as_scripted_and_are_counted_to_the_token(tmp_path: Path) -> None:
    await batches.four_end_as_scripted_and_are_counted_to_the_token(tmp_path, CLAUDE_PROGRAM, IMPATIENT)


async def test_a_refused_login_stops_the_batch_until_a_person_has_seen_to_it(tmp_path: Path) -> None:
    await batches.a_refused_login_stops_the_batch_until_a_person_has_seen_to_it(tmp_path, CLAUDE_PROGRAM, IMPATIENT)


async def test_not_one_request_beyond_the_cap(tmp_path: Path) -> None:
    """A batch of eight, of which the cap has room for some requests."""
    cap = 600_000
    parts = [Part(f"part{number}", (RUNS, RUNS, RUNS, *batches.CLEAN)) for number in range(8)]
    async with behind(tmp_path, parts, slots=4, budget_tokens=cap) as (made, model), running(made) as here:
        await here.submit()
        batch, _ = await sealed(here, 900)

        spent = sum(sum(answer.usage.values()) for answer in model.answers)
        assert [event.reason for event in here.of(ev.BatchStopped)][-1] == "budget"
        assert (sum(batch["tokens"].values()), json.dumps(batch["tokens"])) == (spent, json.dumps(model.taken()))
        assert cap / 2 < spent <= cap
        with closing(counts_of(made)) as counts:
            assert sum(row.unknown for row in counts.taken()) + spent <= cap


async def test_an_accounts_day_costs_no_job_anything_and_holds_nobody_once_it_is_raised(tmp_path: Path) -> None:
    cap = 600_000
    parts = [Part(f"part{number}", (RUNS, RUNS, RUNS, *batches.CLEAN)) for number in range(4)]
    async with behind(tmp_path, parts, slots=4, accounts=["team"]) as (made, model):
        made.settings |= {"accounts": {"team": {"day_tokens": cap}}, "budget": {"grace": "20s", "guess_tokens": 1000}}
        async with running(made) as here:
            await here.submit()
            await until("the account is paused", lambda: here.of(ev.AccountPaused), 300)
            await until("its agents are put away", lambda: not here.state.attempts, 300)
            spent = sum(sum(answer.usage.values()) for answer in model.answers)
            assert cap / 2 < spent <= cap
            assert {event.reason for event in here.of(ev.AccountPaused)} <= {"cap", Hindrance.OVERLOAD}
            assert {event.counts for event in here.of(ev.JobRequeued)} == {False}
        made.settings |= {"accounts": {"team": {"day_tokens": 100 * cap}}}
        async with running(made) as here:
            batch, jobs = await sealed(here, 600)
            assert {test: job["outcome"] for test, job in jobs.items()} == {part.test: "clean" for part in parts}
            assert batch["tokens"] == model.taken()
