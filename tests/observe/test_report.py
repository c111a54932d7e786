"""The report: every job has its place in it, the numbers add up, and it says the same of a batch that left memory."""

from dataclasses import asdict, replace

import msgspec
import pytest

from supervisor.integration.review.offer import body
from supervisor.model import event as ev
from supervisor.model.job import INTEGRATOR, Brought, Job, JobState
from supervisor.model.ledger import HELD_BACK, Fate, LedgerRow
from supervisor.model.outcome import Outcome
from supervisor.model.publication import Escalation, Statement
from supervisor.observe.report import History, Report, Spent, as_data
from supervisor.observe.report_fold import kept, report
from supervisor.observe.report_history import history, rebuilt
from supervisor.observe.report_html import html
from supervisor.observe.report_text import text
from tests.adapters.story import everything
from tests.flow.world import World
from tests.observe.night import (
    BATCH,
    BLOCKED,
    CLEAN,
    DOUBT,
    FIXED,
    FLAKY,
    HEAD,
    ON_BRANCH,
    SLOW,
    TESTS,
    Files,
    Night,
    a_night,
    bare,
)


def counted(report: Report) -> dict[str, int]:
    return {word: count for word, count in report.counts.items() if count}


def test_every_job_is_counted_once() -> None:
    report = a_night().report()
    assert counted(report) == {
        "fixed": 1,
        "improved": 1,
        "clean": 1,
        "flaky": 1,
        "blocked": 1,
        "failed": 3,
        "never_started": 1,
        "cancelled": 1,
    }
    assert sum(report.counts.values()) == report.submitted == len(report.jobs) == TESTS
    assert sum(report.ledger.values()) == TESTS


def test_a_batch_that_left_memory_is_reported_as_it_was() -> None:
    night = a_night()
    assert BATCH not in night.world.state.batches
    assert night.sealed is not None
    again = rebuilt(BATCH, night.events)
    assert replace(again, number=0) == replace(night.sealed, number=0)


@pytest.mark.parametrize("batch", ["first", "second"])
def test_whatever_has_happened_to_a_batch_it_can_be_made_again(batch: str) -> None:
    """Beside others, over restarts, with every kind of trouble: its own events are enough."""
    events = [event for event in everything("c0ffee") if getattr(event, "batch", "") == batch]
    assert rebuilt(batch, events).id == batch


def test_while_the_batch_runs_the_report_says_what_is_under_way() -> None:
    night = Night()
    assert counted(night.report()) == {"waiting": 1, "working": TESTS - 1}
    report = night.work().report()
    assert (report.batch.state, report.batch.finished_at) == ("running", None)
    assert sum(report.counts.values()) == TESTS
    assert report.next[0] == "It is not over: `supervisorctl follow b` shows its progress."


def test_failures_are_told_by_their_cause() -> None:
    causes = {failure.cause: failure.jobs for failure in a_night().report().failures}
    assert causes == {
        "refused: skip": ("b.6",),
        "its agent ended without publishing": ("b.7",),
        "ran out of time": ("b.8",),
    }


def test_failures_that_differ_only_in_numbers_and_names_are_one_cause() -> None:
    world = World(local=3).submit("b", 3)
    for job, path in ((1, "/tmp/a1"), (2, "/tmp/b2"), (3, "/tmp/c")):
        known = replace(world.job(job), detail=f"tmux: no server on {path} after {job} s")
        world.state = world.state.with_job("b", replace(known, state=JobState.DONE, outcome=Outcome.FAILED))
    (failure,) = bare(world.batch()).failures
    assert (failure.cause, failure.count) == ("tmux: no server on … after … s", 3)


def test_what_the_machine_found_stands_beside_what_the_agent_said() -> None:
    job = a_night().report().jobs[FIXED - 1]
    assert job.summary.startswith("The total was cut off")
    assert [(change.kind, change.status) for change in job.changes] == [
        ("FIX_IMPL", "SUCCEEDED"),
        ("FIX_TEST", "FAILED"),
    ]
    checked = job.verification
    assert (checked.verdict, checked.runs, checked.passed, checked.failed_before) == ("verified", 2, 2, True)
    assert (job.ledger, job.merged, job.head, job.ref) == ("merged", (ON_BRANCH,), HEAD, "refs/supervisor/b/1/1")


def test_doubts_come_first_and_evidence_stands_with_the_runs() -> None:
    told = [row.strip() for row in text(a_night().report()).splitlines()]
    assert told[told.index("LOOK FIRST") + 2] == DOUBT
    job = told.index("b.1  tests/test_it.py::test_1  [merged]")
    assert told[job + 1].split(maxsplit=1) == ["doubt", DOUBT]
    assert "evidence  reaches 9 lines (8 before); catches 6 of 6 faults; needs shop.py" in told[job:]


def test_time_is_told_apart_and_adds_up() -> None:
    report = a_night().report()
    job = report.jobs[FIXED - 1]
    assert (job.seconds.queued, job.seconds.worked) == (0.0, 660.0)
    assert [(each.number, each.how) for each in job.attempts] == [(1, "published")]
    assert report.jobs[SLOW - 1].seconds.worked == 960.0
    assert [(each.job, each.seconds) for each in report.slowest][:1] == [("b.8", 960.0)]


def test_tokens_are_told_by_job_and_by_what_they_achieved() -> None:
    report = a_night().report()
    assert asdict(report.tokens) == {"input": 6000, "output": 600, "cached": 60_000, "per_success": 33_300}
    assert (report.jobs[0].tool_calls, report.jobs[0].model) == (7, "m-1")
    assert report.hindrances == {"limit": 1}


def test_the_same_escalation_is_told_once_and_blockers_come_first() -> None:
    found = a_night().report().escalations
    assert [(each.kind, each.title, each.count, each.jobs) for each in found] == [
        ("BLOCKER", "There is no network here.", 1, ("b.5",)),
        ("UNCAUGHT_BUG", "Undo loses a line", 1, ("b.6",)),
        ("SHARED_PATTERN", "Every test waits for the prompt.", 2, ("b.1", "b.2")),
    ]
    assert found[2].locations == ("tests/conftest.py", "tests/test_it.py:3")


def test_the_next_steps_follow_from_the_numbers() -> None:
    steps = a_night().report().next
    assert steps[0] == "Review https://github.example/shop/pull/7."
    assert steps[1] == "First read the doubts about 1 job: b.1."
    assert steps[2] == "Fix this: the push was slow."
    assert "Look at 1 blocker first: There is no network here." in steps
    assert any(step.startswith("Resolve 1 conflict: b.2.") for step in steps)
    assert "Retry what never started: `supervisorctl retry b.10`." in steps


def integrated(night: Night, *, doubts: tuple[str, ...] = (), notes: tuple[str, ...] = ()) -> Report:
    """The same night, whose integration came to something else."""
    batch = rebuilt(BATCH, night.events)
    batch = replace(batch, ledger=batch.ledger.update({FIXED: LedgerRow(Fate.MERGED, "", (ON_BRANCH,), doubts)}))
    events = [replace(each, notes=notes) if isinstance(each, ev.IntegrationEnded) else each for each in night.events]
    return report(batch, history(events, night.world.now), {}, night.world.now)


def test_a_fix_that_is_not_on_the_branch_is_counted_as_such() -> None:
    """In the head, in what to do next, and in the title of a pull request."""
    report = a_night().report()
    assert report.unmerged == {"conflict": 1}
    assert "not merged  1 conflict, of the fixed and improved" in text(report)
    batch = rebuilt(BATCH, a_night().events)
    rejected = replace(batch, ledger=batch.ledger.set(FIXED, LedgerRow(Fate.REJECTED, "breaks t.py::test_x")))
    steps = bare(rejected).next
    assert any(step.startswith("See why the integration rejected 1 verified change: b.1.") for step in steps)


def test_doubts_come_first_in_what_a_reviewer_reads() -> None:
    told = integrated(a_night(), doubts=("`x = 2` is missing",))
    assert [job.id for job in told.doubtful] == ["b.1"]
    assert told.review[0].endswith(f"show {ON_BRANCH[:12]}")
    assert any(step.startswith("First read the doubts about 1 job: b.1") for step in told.next)
    shown = text(told)
    assert shown.index("LOOK FIRST") < shown.index("PROBLEMS") < shown.index("REVIEW")
    assert "`x = 2` is missing" in html(told)
    words = body(told)
    assert words.index("### Look at these first") < words.index("### Escalations") if told.escalations else words


def test_that_each_fix_can_be_reverted_alone_is_said_only_where_it_was_seen() -> None:
    night = a_night()
    assert "can be reverted alone" in body(integrated(night))
    held = body(integrated(night, notes=(f"{HELD_BACK} {ON_BRANCH[:12]} ([FIX_IMPL] x): app.py",)))
    assert "one fix of the implementation can't be reverted alone; all others can" in held
    assert "### About the branch" in held


def test_a_batch_whose_files_were_cleaned_still_gives_its_numbers() -> None:
    report = a_night().report(Files({}))
    assert report.counts == a_night().report().counts
    assert report.jobs[FIXED - 1].summary == ""
    assert report.jobs[FIXED - 1].verification.passed == 2


def test_without_events_the_batch_itself_is_enough() -> None:
    night = a_night()
    assert night.sealed is not None
    assert bare(night.sealed).counts == night.report().counts


def test_agents_words_are_bounded() -> None:
    loud = Statement(
        summary="x" * 20_000, escalations=tuple(Escalation("k" * 9, "t" * 300, "d" * 20_000) for _ in "ab")
    )
    report = a_night().report(Files({CLEAN: loud, BLOCKED: loud, FLAKY: loud}))
    assert max(len(job.summary) for job in report.jobs) == 4_000
    assert (len(report.escalations), len(report.escalations[0].detail)) == (1, 4_000)


def test_a_report_is_data_and_comes_back_from_it() -> None:
    report = a_night().report()
    assert msgspec.convert(msgspec.json.decode(msgspec.json.encode(as_data(report))), Report) == report


def test_the_integrator_is_told_of_and_is_none_of_the_jobs() -> None:
    night = a_night()
    assert night.sealed is not None
    asked = Job(INTEGRATOR, "", JobState.DONE, attempts=1, outcome=Outcome.IMPROVED, brought=Brought(head=HEAD))
    batch = replace(night.sealed, integrator=asked)
    word = Statement(summary="Two fixes were one.", escalations=(Escalation("BLOCKER", "The fixtures race."),))
    found = kept(Files({INTEGRATOR: word}), batch)
    made = report(batch, History(), found, night.world.now)
    assert made.integrator is not None
    assert (made.integrator.id, made.integrator.summary) == ("b.0", "Two fixes were one.")
    assert (len(made.jobs), sum(made.counts.values())) == (TESTS, TESTS)
    assert made.escalations[0].jobs == ("b.0",)
    assert "INTEGRATOR" in text(made)
    assert "Two fixes were one." in html(made)


def test_the_integrators_time_begins_when_it_is_wanted() -> None:
    wanted = ev.JudgementWanted(1000.0, BATCH, 1, why="two conflicts")
    started = ev.LaunchStarted(1010.0, BATCH, INTEGRATOR, 1, "agent-1", "sv-b-0-1", "local", "local")
    ended = (ev.WorkPublished(1050.0, BATCH, INTEGRATOR, 1), ev.JobEnded(1055.0, BATCH, INTEGRATOR, "improved"))
    told = history([wanted, started, *ended], now=2000.0).jobs[INTEGRATOR]
    assert told.seconds == Spent(10.0, 40.0, 5.0)
