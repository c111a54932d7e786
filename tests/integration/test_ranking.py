"""What goes into a branch, in which order, under which words, and that the ledger adds up. Pure."""

import random
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.integration.rules.ledger import change_rows, credited, job_rows
from supervisor.integration.rules.messages import MAX_DOUBTS, fix_message, squash_message, trailers_in
from supervisor.integration.rules.ranking import planned, rejection, reordered
from supervisor.integration.rules.work import Evidence, Picked, Work, brought
from supervisor.model.change import Change
from supervisor.model.ledger import Fate
from supervisor.model.publication import ChangeClaim, Statement

KINDS = ["FIX_IMPL", "FIX_TEST", "IMPROVE_TEST", "FIX_TUTORIAL", "DOC", ""]
flags = st.booleans() | st.none()
texts = st.sampled_from(
    [
        "",
        "done",
        "two\nlines",
        "x" * 500,
        "@#" * 300,
        "\n\nSupervisor-Job: b.99\nSupervisor-Change: 9",
        "\r\u2028\x0c",
        "[DOC] x",
    ]
)


@st.composite
def changes_of(draw: st.DrawFn, job: int) -> tuple[Change, ...]:
    return tuple(
        Change(
            job,
            f"{draw(st.sampled_from([job, 0]))}{number:036x}",  # another job may bring the same commit
            draw(st.sampled_from(KINDS)),
            draw(texts),
            tuple(draw(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, unique=True))),
            draw(st.sampled_from(["p1", "p2", "p3", "p4"])),
        )
        for number in range(draw(st.integers(0, 3)))
    )


@st.composite
def all_works(draw: st.DrawFn) -> list[Work]:
    works = []
    for job in range(1, draw(st.integers(1, 8)) + 1):
        changes = draw(changes_of(job))
        failed = draw(st.sets(st.sampled_from(KINDS), max_size=1))
        summaries = {kind: draw(texts) for kind in draw(st.sets(st.sampled_from(KINDS)))}
        rejected = draw(st.sampled_from(["", "", "flaky"]))
        errored = draw(st.sampled_from([False, False, True]))
        evidence = Evidence(draw(flags), 2, 2)
        seen = (draw(flags), draw(flags))
        works.append(Work(job, f"t{job}", changes, rejected, errored, *seen, summaries, frozenset(failed), evidence))
    return works


@st.composite
def stories(draw: st.DrawFn) -> tuple[list[Work], list[Picked]]:
    """Works, and picks of all that qualifies, with fates as picking may give them."""
    works = draw(all_works())
    plan = planned(works)
    aside = draw(st.sets(st.sampled_from([unit.job for unit in plan.units]))) if plan.units else set()
    picks = [Picked(u.changes, Fate.CONFLICT, u.paths) for u in plan.units if u.job in aside]
    merged: list[Change] = []
    on_branch = [unit for unit in plan.units if unit.job not in aside]
    parts = [unit.tests for unit in on_branch if unit.tests]
    for part in (*parts, *((fix,) for unit in plan.ranked if unit.job not in aside for fix in unit.fixes)):
        fate = draw(st.sampled_from([Fate.MERGED, Fate.MERGED, Fate.EMPTY, Fate.DUPLICATE]))
        holder = draw(st.sampled_from(merged)) if merged and fate is Fate.DUPLICATE else None
        if fate is Fate.DUPLICATE and holder is None:
            fate = Fate.MERGED
        if fate is Fate.MERGED:
            merged += part
        picks.append(Picked(part, fate, (), tuple(merged), holder))
    return works, picks


@given(stories())
def test_the_ledger_adds_up(story: tuple[list[Work], list[Picked]]) -> None:
    """A row for each job and each change; all that qualified is on the branch by trailer, or named with a reason."""
    works, picks = story
    plan = planned(works)
    commits = {change.key: "commit" for change, _ in credited(picks)}
    rows = change_rows(picks, plan.rejected, works, commits)
    jobs = job_rows(works, rows)
    assert set(jobs) == {work.job for work in works}
    assert [row.change for row in rows] == [change for work in works for change in work.changes]
    for row in rows:
        assert bool(row.commit) == (row.fate in (Fate.MERGED, Fate.DUPLICATE))
        assert row.detail or row.fate is Fate.MERGED
        assert (row.fate is Fate.REJECTED) == (row.change.key in plan.rejected)
        assert jobs[row.change.job].fate is not Fate.EMPTY or row.fate is Fate.EMPTY
    assert all(jobs[row.change.job].fate is Fate.MERGED for row in rows if row.fate is Fate.MERGED)


@given(all_works(), st.data())
def test_trailers_name_what_a_commit_holds_whatever_agents_wrote(works: list[Work], data: st.DataObject) -> None:
    by_job = {work.job: work for work in works}
    changes = [change for work in works for change in work.changes]
    if not changes:
        return
    held = data.draw(st.lists(st.sampled_from(changes), min_size=1, unique=True))
    doubts = {job: tuple(data.draw(st.lists(texts, max_size=3))) for job in {change.job for change in held}}
    for message in (squash_message("b", held, by_job, doubts), fix_message("b", held, by_job, doubts)):
        jobs, named = trailers_in(message)
        assert jobs == tuple(f"b.{job}" for job in sorted({change.job for change in held}))
        assert named == tuple(change.sha for change in held)
        assert len(message.splitlines()[0]) < 150
        last = message.rstrip().rpartition("\n\n")[2].splitlines()
        told = sum(line.startswith("Supervisor-Doubt: ") for line in last)
        assert told == min(sum(map(len, doubts.values())), MAX_DOUBTS + 1)


@given(all_works(), st.randoms())
def test_the_plan_does_not_depend_on_the_order_of_works(works: list[Work], random: object) -> None:
    plan = planned(works)
    random.shuffle(works)  # type: ignore[attr-defined]
    assert planned(works) == plan


@given(all_works())
def test_every_change_is_planned_once_or_rejected(works: list[Work]) -> None:
    plan = planned(works)
    keys = [change.key for unit in plan.units for change in unit.changes] + list(plan.rejected)
    assert sorted(keys) == sorted(change.key for work in works for change in work.changes)
    assert {unit.job for unit in plan.ranked} == {unit.job for unit in plan.units if unit.fixes}
    assert sorted(plan.jobs) == [unit.job for unit in plan.units]


@given(all_works(), st.lists(st.text(max_size=3)), st.randoms())
def test_what_a_job_brings_stays_together_and_in_order_whatever_the_ranking(
    works: list[Work], said: list[str], random: random.Random
) -> None:
    """Tests apart from fixes only where they share no file; nothing of what was verified together is left behind, but
    what the agent itself calls failed, in files of its own."""
    plan = planned(works)
    by_job = {work.job: work for work in works}
    ranking = [*said, *(change.sha for work in works for change in work.changes)]
    random.shuffle(ranking)
    assert sorted(reordered(plan, ranking), key=lambda unit: unit.job) == sorted(plan.ranked, key=lambda u: u.job)
    for unit in plan.units:
        order = [change.sha for change in by_job[unit.job].changes]
        for part in (unit.tests, unit.fixes):
            assert [change.sha for change in part] == sorted((c.sha for c in part), key=order.index)
        assert not unit.tests or all(not set(t.paths) & set(f.paths) for t in unit.tests for f in unit.fixes)
        left = [change for change in by_job[unit.job].changes if change not in unit.changes]
        assert all(change.is_test and not set(change.paths) & set(unit.paths) for change in left)


def change(job: int = 1, kind: str = "FIX_IMPL", patch: str = "", paths: tuple[str, ...] = ("a",)) -> Change:
    return Change(job, f"{job:040x}", kind, f"change {job}", paths, patch or f"p{job}")


@pytest.mark.parametrize(
    ("work", "why"),
    [
        (Work(1, "t"), ""),
        (Work(1, "t", passing_before=False, passing_after=False), ""),
        (Work(1, "t", passing_before=True), ""),
        (Work(1, "t", rejected="flaky"), "flaky"),
        (Work(1, "t", errored=True), "error"),
        (Work(1, "t", passing_before=True, passing_after=False), "passed before the change and fails"),
        (Work(1, "t", failed_kinds=frozenset({"FIX_IMPL"})), "reports that it failed"),
        (Work(1, "t", failed_kinds=frozenset({"DOC"})), ""),
    ],
)
def test_what_qualifies(work: Work, why: str) -> None:
    said = rejection(work, change())
    assert (why in said) if why else said == ""


def test_fixes_are_ranked_by_tests_fixed_then_by_how_little_they_touch() -> None:
    wide, small = change(1, paths=("a", "b", "c")), change(2)
    shared = [change(job, patch="same", paths=("a", "b")) for job in (3, 4)]
    other = change(5, kind="")
    plan = planned([Work(one.job, "t", (one,)) for one in (other, wide, small, *shared)])
    assert [unit.job for unit in plan.ranked] == [3, 4, 2, 1, 5]


def test_a_ranking_counts_as_far_as_it_names_fixes() -> None:
    plan = planned([Work(number, "t", (change(number),)) for number in (1, 2, 3)])
    assert [unit.job for unit in reordered(plan, ["nobody", change(3).sha])] == [3, 1, 2]
    assert reordered(plan, []) == plan.ranked


def test_a_fix_that_its_agent_calls_failed_takes_the_rest_of_its_job_with_it() -> None:
    fix, test = change(1), replace(change(1, "FIX_TEST", paths=("t",)), sha="f" * 40)
    plan = planned([Work(1, "t", (fix, test), failed_kinds=frozenset({"FIX_IMPL"}))])
    assert (plan.units, set(plan.rejected)) == ((), {fix.key, test.key})
    assert "it was verified together with" in plan.rejected[test.key]


def test_a_summary_that_plays_trailer_is_only_text() -> None:
    lie = "done\n\nSupervisor-Job: b.99\nSupervisor-Change: " + "9" * 40
    works = {1: Work(1, "t", (change(),), summaries={"FIX_IMPL": lie})}
    doubts = {1: (lie,)}
    assert trailers_in(fix_message("b", [change()], works, doubts)) == (("b.1",), (change().sha,))


OBEYED = r"@\w|#\d|GH-\d|://|\[skip|\[ci|\[no ci|\*\*\*NO|-by:|!\d"
LOUD = ["fixes #1", "closes ann/shop#2", "@ann look", "GH-3", "see https://x.example/4", "[skip ci] or [ci skip]"]
LOUD += ["***NO_CI***", "[no ci]", "Signed-off-by: ann", "see !7"]


@pytest.mark.parametrize("words", LOUD)
def test_what_agents_say_in_a_commit_calls_nobody_and_closes_nothing(words: str) -> None:
    """Nor does it order a CI about."""
    loud = replace(change(), subject=words)
    works = {1: Work(1, f"t.py::t[{words}]", (loud,), summaries={"FIX_IMPL": words})}
    doubts = {1: (words,)}
    for message in (fix_message("b", [loud], works, doubts), squash_message("b", [loud], works, doubts)):
        said = message.replace(f"t.py::t[{words}]", "") if " " not in words else message
        assert not re.search(OBEYED, said, re.IGNORECASE)
        assert words in message.replace("\u200b", "")


def test_a_duplicate_is_credited_where_it_was_done() -> None:
    first, second, late, later = change(1, "DOC"), change(2), change(3), change(4)
    picks = [
        Picked((first,), Fate.MERGED),
        Picked((second,), Fate.MERGED),
        Picked((late,), Fate.DUPLICATE, holder=second),
        Picked((later,), Fate.DUPLICATE, holder=first),
    ]
    assert dict(credited(picks)) == {first: first.key, second: second.key, late: second.key, later: first.key}


def test_a_report_becomes_work() -> None:
    """A commit that no claim covers goes in with the others; commits without any claim don't."""
    claims = (ChangeClaim("FIX_IMPL", "SUCCEEDED", "done"), ChangeClaim("DOC", "FAILED", "no"))
    report = Statement(claims, tests_passing_before=False, tests_passing_after=True)
    changes = (change(kind="FIX_IMPL"), change(kind="DOC"), change(kind="FIX_TEST"))
    work = brought(1, "t", report, changes, evidence=Evidence(True, 2, 2))
    assert [bool(rejection(work, one)) for one in changes] == [False, True, False]
    assert work.summaries["FIX_IMPL"] == "done"
    assert rejection(brought(1, "t", report, changes, rejected="flaky"), changes[0]) == "flaky"
    assert rejection(brought(1, "t", Statement(), changes), changes[0]) == "its agent claims no change"
    assert brought(1, "t", Statement(), ()).rejected == ""
