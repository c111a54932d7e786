"""A batch of four through the real daemon, mngr and program: what comes of it, whatever the kind of its agents."""

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from supervisor.model import event as ev
from supervisor.model import request as rq
from tests.daemon.sandbox import Running, running
from tests.scripted.office import Office, Part, Program, done, office, publish
from tests.scripted.plays import Model, Turn
from tests.waiting import until

#: where it is done: an office, whatever is around it
type Place = Callable[..., AbstractAsyncContextManager[tuple[Office, Model]]]
WRONG = {"tests_passing_before": False}
RUNS = Turn("I will run it.", 'sh -c "$SUPERVISOR_RUN"')
CLEAN = (RUNS, Turn("There is nothing to do.", publish()), Turn("Done."))
MENDS = "sed -i 's/a - b/a + b/' app.py && git commit --quiet --all --message '[FIX_IMPL] Add'"
MENDED = (
    RUNS,
    Turn("I see.", MENDS),
    RUNS,
    Turn("So it is.", publish(**WRONG, **done("FIX_IMPL"))),
    Turn("Done."),
)
#: until the login is mended
REFUSED = Turn("I will run it.", RUNS.run, refuses=(401, 999))
FOUR = (
    Part("mended", MENDED, "fixed", scope="One and one is two.", check="assert add(1, 1) == 2"),
    Part("clean", (Turn("Where is it?", "cat nowhere"), *CLEAN)),
    Part("limited", (RUNS, Turn("It passes.", publish(), refuses=(429, 1)), Turn("Done."))),
    Part("forgetful", (RUNS, Turn("All is well."), *CLEAN[1:])),
)


async def sealed(here: Running, timeout: float) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is kept of the batch, and its jobs by their tests."""
    await until("the batch is over", lambda: "batch" not in here.state.batches, timeout)
    found = await here.devices.journal.sealed_batch("batch")
    assert found is not None
    return json.loads(found.status)["batch"], {row["test"]: row for row in json.loads(found.jobs)["rows"]}


async def four_end_as_scripted_and_are_counted_to_the_token(
    folder: Path, program: Program, place: Place = office
) -> None:
    """One of them meets a limit that passes, and one ends its turn without having published."""
    async with place(folder, FOUR, slots=2, program=program) as (made, model), running(made) as here:
        await here.submit()
        batch, jobs = await sealed(here, 600)

        assert {test: job["outcome"] for test, job in jobs.items()} == {part.test: part.outcome for part in FOUR}
        assert batch["tokens"] == model.taken()
        assert [model.refused[FOUR[2].test, 2], jobs[FOUR[1].test]["errors"]] == [2, 1]
        # On a busy machine codex may break off a first turn, and is told to begin: that is no reminder.
        nudges = {(event.job, event.reason) for event in here.of(ev.NudgeStarted)}
        assert {(job, reason) for job, reason in nudges if reason != "unheard"} == {(4, "waiting")}
        assert not [event for event in here.of(ev.AgentHindered) if event.problem and "the gate" not in event.detail]
        assert not here.of(ev.AgentVanished, ev.AgentStalled)
        assert not [event for event in here.of(ev.JobRequeued) if event.counts]


async def a_refused_login_stops_the_batch_until_a_person_has_seen_to_it(
    folder: Path, program: Program, place: Place = office
) -> None:
    parts = [Part("one", (REFUSED, *CLEAN[1:])), *(Part(name, CLEAN) for name in ("two", "three", "four"))]
    async with place(folder, parts, slots=1, program=program) as (made, model), running(made) as here:
        await here.submit()
        await until("the batch is stopped", lambda: here.of(ev.BatchStopped), 300)
        stopped = here.of(ev.BatchStopped)[0]
        assert (stopped.reason, "the model's provider refuses the login" in stopped.detail) == ("login", True)
        await until("its agent is put away", lambda: not here.state.attempts, 60)
        assert not here.of(ev.JobEnded)

        model.accepts_everybody = True
        await here.daemon.loop.inbox.ask(rq.Resume("batch"))
        batch, _ = await sealed(here, 600)

        assert (batch["outcomes"]["clean"], batch["stopped"]) == (4, None)
        assert batch["tokens"] == model.taken()
        assert [event.counts for event in here.of(ev.JobRequeued)] == [False]
