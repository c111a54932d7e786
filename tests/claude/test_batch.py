"""The real mngr, the real claude and a scripted model: what a batch comes to, and what is known of it."""

import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from supervisor.kinds.claude import OWN
from supervisor.model import event as ev
from supervisor.model.attempt import AttemptKey
from tests.claude.lags import within
from tests.daemon.sandbox import Running, running
from tests.scripted.office import Part, done, office, publish
from tests.scripted.plays import Turn
from tests.waiting import until

pytestmark = [pytest.mark.real, pytest.mark.proof, pytest.mark.timeout(1200)]

#: of claude at its model, before it ends its turn
TRIES = 3
WRONG = {"tests_passing_before": False}
RUNS = Turn("I will run it.", 'sh -c "$SUPERVISOR_RUN"')
CLEAN = (RUNS, Turn("There is nothing to do.", publish()), Turn("Done."))


def work(edit: str, subject: str, **outcome: Any) -> tuple[Turn, ...]:
    commit = f"git commit --quiet --all --message '{subject}'"
    return RUNS, Turn("I see.", f"{edit} && {commit}"), RUNS, Turn("So it is.", publish(**outcome)), Turn("Done.")


ADDS = {"scope": "One and one is two.", "check": "assert add(1, 1) == 2"}
MENDED = work("sed -i 's/a - b/a + b/' app.py", "[FIX_IMPL] Add", **WRONG, **done("FIX_IMPL"))
CORRECTED = work("sed -i 's/== 5/== 4/' tests/test_corrected.py", "[FIX_TEST] Four", **WRONG, **done("FIX_TEST"))
ZERO = "echo '    assert twice(0) == 0' >>tests/test_improved.py"
IMPROVED = work(ZERO, "[IMPROVE_TEST] Zero", **done("IMPROVE_TEST"))
GIVEN_UP = publish(**WRONG, tests_passing_after=False, **done("FIX_IMPL", "FAILED"))
#: it says that it has mended what it has not touched
BOASTS = work("touch notes && git add notes", "[FIX_IMPL] Add", **WRONG, **done("FIX_IMPL"))


def hindered(status: int, times: int) -> tuple[Turn, ...]:
    return RUNS, Turn("It passes.", publish(), refuses=(status, times)), Turn("Done.")


CLUMSY = Part("clumsy", (Turn("Where is it?", "cat nowhere"), *CLEAN))
LIMITED = Part("limited", hindered(429, 1))
PARTS = (
    Part("mended", MENDED, "fixed", **ADDS),
    Part("corrected", CORRECTED, "fixed", check="assert twice(2) == 5"),
    Part("improved", IMPROVED, "improved"),
    Part("clean", CLEAN),
    Part("blocked", (RUNS, Turn("No.", publish(blocked="a key is missing")), Turn("Done.")), "blocked"),
    Part("failed", (RUNS, Turn("No.", GIVEN_UP), Turn("Done.")), "failed", **ADDS),
    Part("boasting", BOASTS, "failed", **ADDS),
    Part("forgetful", (RUNS, Turn("All is well."), *CLEAN[1:])),
    CLUMSY,
    LIMITED,
    Part("overloaded", hindered(529, TRIES)),
    Part("plain", CLEAN),
)
NAMES = {number: part.name for number, part in enumerate(PARTS, 1)}


@dataclass
class Listener:
    """Reads the logs as somebody who follows them, and notes how old each line of a transcript is when it comes."""

    lags: list[float] = field(default_factory=list)
    places: dict[AttemptKey, int] = field(default_factory=dict)
    #: what was written while nobody could read it does not count
    since: float = 0.0
    heard_at: float = 0.0

    def until(self, here: Running, over: Callable[[], object]) -> Callable[[], Awaitable[object]]:
        async def heard() -> object:
            if time.monotonic() - self.heard_at > 0.25:
                for key in list(here.state.attempts):
                    await self.hear(here, key)
                self.heard_at = time.monotonic()
            return over()

        return heard

    async def hear(self, here: Running, key: AttemptKey) -> None:
        piece = await here.devices.logs.read(key, self.places.get(key, 0))
        self.places[key] = piece.next
        for line in piece.lines:
            entry = msgspec.json.decode(line)
            written = datetime.fromisoformat(entry["at"]).timestamp()
            if entry["source"] == OWN and written > self.since:
                self.lags.append(time.time() - written)


async def test_twelve_jobs_end_as_scripted_and_are_counted_to_the_token_over_a_restart(tmp_path: Path) -> None:
    listener = Listener()
    async with office(tmp_path, PARTS, env={"CLAUDE_CODE_MAX_RETRIES": str(TRIES - 1)}) as (made, model):
        async with running(made) as here:
            await here.submit()
            some = listener.until(here, lambda: len(here.of(ev.JobEnded)) >= 3 and here.live())
            await until("some have ended, and others are in the middle", some, 400)
        listener.since = time.time()
        async with running(made) as again:
            over = listener.until(again, lambda: "batch" not in again.state.batches)
            await until("the batch is over", over, 700)

            found = await again.devices.journal.sealed_batch("batch")
            assert found is not None
            jobs = {row["test"]: row for row in json.loads(found.jobs)["rows"]}
            assert {test: job["outcome"] for test, job in jobs.items()} == {part.test: part.outcome for part in PARTS}
            assert json.loads(found.status)["batch"]["tokens"] == model.taken()
            assert [jobs[CLUMSY.test]["errors"], jobs[LIMITED.test]["errors"]] == [1, 0]
            those_told_and_hindered([*here.events, *again.events])
    print(f"\n{within(7, listener.lags)}")


def those_told_and_hindered(events: list[ev.Event]) -> None:
    """A refusal that passes is nobody's business; one that ends a turn is known, and a word gets it going."""
    told = {(NAMES[event.job], event.reason) for event in events if isinstance(event, ev.NudgeStarted)}
    # The restart may have cut a launch short: an agent that was not told what to do waits, and is told.
    cut = {
        (NAMES[event.job], "waiting") for event in events if isinstance(event, ev.LaunchSucceeded) and event.adopted
    }
    # Whether it is first heard that its turn is over, or that it was refused, is chance: it is told once.
    overloaded = told & {("overloaded", "waiting"), ("overloaded", "again")}
    assert len(overloaded) == 1
    assert told - overloaded - cut == {("forgetful", "waiting")} - cut
    problems = [
        (NAMES[event.job], event.problem) for event in events if isinstance(event, ev.AgentHindered) and event.problem
    ]
    assert problems == [("overloaded", "overload")]
    assert not [event for event in events if isinstance(event, ev.AgentVanished | ev.AgentStalled)]
    assert not [event for event in events if isinstance(event, ev.JobRequeued) and event.counts]
