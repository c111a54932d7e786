"""The real claude, when its model refuses the login and when the tokens of its batch are spent."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from supervisor.model import event as ev
from supervisor.model import request as rq
from tests.daemon.sandbox import Running, running
from tests.scripted.office import Part, office, publish
from tests.scripted.plays import Turn
from tests.waiting import until

pytestmark = [pytest.mark.real, pytest.mark.proof, pytest.mark.timeout(600)]

RUNS = Turn("I will run it.", 'sh -c "$SUPERVISOR_RUN"')
CLEAN = Turn("There is nothing to do.", publish())
OVER = Turn("Done.")
#: until the login is mended
ALWAYS = (401, 999)


async def sealed(here: Running) -> dict[str, Any]:
    await until("the batch is over", lambda: "batch" not in here.state.batches, 300)
    found = await here.devices.journal.sealed_batch("batch")
    assert found is not None
    batch: dict[str, Any] = json.loads(found.status)["batch"]
    return batch


async def test_a_refused_login_stops_the_batch_until_a_person_has_seen_to_it(tmp_path: Path) -> None:
    refused = Turn("I will run it.", RUNS.run, refuses=ALWAYS)
    parts = [Part("one", (refused, CLEAN, OVER)), Part("two", (RUNS, CLEAN, OVER))]
    env = {"CLAUDE_CODE_MAX_RETRIES": "2"}  # by itself it tries for minutes
    async with office(tmp_path, parts, slots=1, env=env) as (made, model), running(made) as here:
        await here.submit()
        await until("the batch is stopped", lambda: here.of(ev.BatchStopped), 200)
        stopped = here.of(ev.BatchStopped)[0]
        assert (stopped.reason, "the model's provider refuses the login" in stopped.detail) == ("login", True)
        await until("its agent is put away", lambda: not here.state.attempts, 60)
        assert not here.of(ev.JobEnded)

        model.accepts_everybody = True
        await here.daemon.loop.inbox.ask(rq.Resume("batch"))
        batch = await sealed(here)

        assert (batch["outcomes"]["clean"], batch["stopped"]) == (2, None)
        assert [event.counts for event in here.of(ev.JobRequeued)] == [False]


async def test_a_budget_that_is_spent_lets_agents_wrap_up_and_begins_nothing_more(tmp_path: Path) -> None:
    thinks = Turn("I will think about it.", "sleep 10")
    parts = [Part(name, (RUNS, thinks, CLEAN, OVER)) for name in ("one", "two")]
    async with office(tmp_path, parts, slots=1, budget_tokens=60_000) as (made, model), running(made) as here:
        await here.submit()
        batch = await sealed(here)

        assert (batch["stopped"], batch["outcomes"]["clean"], batch["outcomes"]["cancelled"]) == ("budget", 1, 1)
        assert Counter(event.reason for event in here.of(ev.NudgeStarted)) == {"budget": 1}
        assert here.of(ev.AgentNudged)[0].delivered
        assert len(here.of(ev.LaunchStarted)) == 1
        assert sum(batch["tokens"].values()) == sum(sum(answer.usage.values()) for answer in model.answers)
