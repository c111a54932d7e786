"""What the real claude took is counted to the token, also after it has published and when it is stopped."""

import json
from collections import Counter
from pathlib import Path

import pytest

from supervisor.model import event as ev
from tests.daemon.sandbox import running
from tests.scripted.office import Part, office, publish
from tests.scripted.plays import Model, Turn

pytestmark = [pytest.mark.real, pytest.mark.proof, pytest.mark.timeout(600)]

PUBLISHES = Turn("There is nothing to do.", publish())
TALKS = (PUBLISHES, Turn("I will look again.", "sleep 2; git status"), Turn("And again.", "git log"), Turn("Done."))
PARTS = (
    Part("brief", (PUBLISHES, Turn("Done."))),
    Part("talking", TALKS),
    Part("endless", (Turn("I will wait.", "sleep 1"), Turn("I will wait more.", "sleep 600")), "timed-out"),
)


def answers(model: Model) -> Counter[str]:
    """How many answers each test had, but the first, which is given before its name is known."""
    return Counter(answer.test for answer in model.answers)


async def test_every_answer_counts_whenever_it_comes(tmp_path: Path) -> None:
    async with office(tmp_path, PARTS, job_timeout_seconds=45, retries=0) as (made, model), running(made) as here:
        await here.submit()
        await here.finished(timeout=400)
        assert {event.job: event.outcome for event in here.of(ev.JobEnded)} == {
            1: "clean",
            2: "clean",
            3: "timed-out",
        }
        found = await here.devices.journal.sealed_batch("batch")
        assert found is not None
        assert json.loads(found.status)["batch"]["tokens"] == model.taken(), answers(model)
        expected = {part.test: len(part.turns) for part in PARTS} | {"": len(PARTS)}
        assert answers(model) == expected, "no agent was stopped before its turn was over"
