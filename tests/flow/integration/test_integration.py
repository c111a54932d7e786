"""What goes into a branch, in which order, under which words, and that the ledger adds up. Pure."""

import re
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from supervisor.flow.integration.ledger import change_rows, groups_to_commit, job_rows
from supervisor.flow.integration.messages import fix_message, squash_message, trailers_in
from supervisor.flow.integration.ranking import grouped, planned, rejection
from supervisor.flow.integration.work import Change, Evidence, Group, Picked, Work, brought
from supervisor.model.ledger import Fate
from supervisor.model.publication import ChangeClaim, Outcome

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
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def changes_of(draw: st.DrawFn, job: int) -> tuple[Change, ...]:
    return tuple(
        Change(
            job,
            f"{job:04x}{number:036x}",
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
    picks: list[Picked] = []
    merged: list[Change] = []
    for group in (*plan.tests, *plan.fixes):
        fate = draw(st.sampled_from([Fate.MERGED, Fate.MERGED, Fate.CONFLICT, Fate.EMPTY, Fate.DUPLICATE]))
        rivals = tuple(rival for rival in merged if set(rival.paths) & set(group.leader.paths))
        if fate is Fate.DUPLICATE and not rivals:
            fate = Fate.MERGED
        if fate is Fate.MERGED:
            merged.append(group.leader)
        picks.append(Picked(group, fate, group.leader.paths, rivals))
    return works, picks


@unhurried
@given(stories())
def test_the_ledger_adds_up(story: tuple[list[Work], list[Picked]]) -> None:
    """A row for each job and each change; all that qualified is on the branch by trailer, or named with a reason."""
    works, picks = story
    plan = planned(works)
    committed = groups_to_commit(picks)
    holders = {change.sha: "commit" for group in committed for change in group.changes}
    rows = change_rows(picks, plan.rejected, works, holders)
    jobs = job_rows(works, rows)
    assert set(jobs) == {work.job for work in works}
    assert [row.change for row in rows] == [change for work in works for change in work.changes]
    for row in rows:
        assert bool(row.commit) == (row.fate in (Fate.MERGED, Fate.DUPLICATE))
        assert row.detail or row.fate is Fate.MERGED
        assert (row.fate is Fate.REJECTED) == (row.change.sha in plan.rejected)
        assert jobs[row.change.job].fate is not Fate.EMPTY or row.fate is Fate.EMPTY
    assert all(jobs[row.change.job].fate is Fate.MERGED for row in rows if row.fate is Fate.MERGED)


@unhurried
@given(stories())
def test_trailers_name_what_a_commit_holds_whatever_agents_wrote(story: tuple[list[Work], list[Picked]]) -> None:
    works, picks = story
    by_job = {work.job: work for work in works}
    for group in groups_to_commit(picks):
        for message in (squash_message("b", [group], by_job), fix_message("b", group, by_job)):
            jobs, changes = trailers_in(message)
            assert jobs == tuple(f"b.{job}" for job in group.jobs)
            assert changes == tuple(change.sha for change in group.changes)
            assert len(message.splitlines()[0]) < 150


@unhurried
@given(all_works(), st.randoms())
def test_the_plan_does_not_depend_on_the_order_of_works(works: list[Work], random: object) -> None:
    plan = planned(works)
    random.shuffle(works)  # type: ignore[attr-defined]
    assert planned(works) == plan


@unhurried
@given(all_works())
def test_every_change_is_planned_once_or_rejected(works: list[Work]) -> None:
    plan = planned(works)
    groups = (*plan.tests, *plan.fixes)
    shas = [change.sha for group in groups for change in group.changes] + list(plan.rejected)
    assert sorted(shas) == sorted(change.sha for work in works for change in work.changes)
    assert all(group.leader.is_test for group in plan.tests)
    assert not any(group.leader.is_test for group in plan.fixes)


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
        (Work(1, "t", passing_before=True, passing_after=False), "passed before and fails"),
        (Work(1, "t", failed_kinds=frozenset({"FIX_IMPL"})), "says that it failed"),
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
    assert [group.leader.job for group in plan.fixes] == [3, 2, 1, 5]


def test_the_same_patch_as_test_and_as_fix_is_not_one() -> None:
    assert len(grouped([change(1, "DOC", "same"), change(2, "FIX_IMPL", "same")])) == 2


def test_a_summary_that_plays_trailer_is_only_text() -> None:
    group = Group((change(),))
    lie = "done\n\nSupervisor-Job: b.99\nSupervisor-Change: " + "9" * 40
    works = {1: Work(1, "t", group.changes, summaries={"FIX_IMPL": lie})}
    assert trailers_in(fix_message("b", group, works)) == (("b.1",), (group.leader.sha,))


@pytest.mark.parametrize("words", ["fixes #1", "closes ann/shop#2", "@ann look", "GH-3", "see https://x.example/4"])
def test_what_agents_say_in_a_commit_calls_nobody_and_closes_nothing(words: str) -> None:
    loud = replace(change(), subject=words)
    works = {1: Work(1, "t", (loud,), summaries={"FIX_IMPL": words})}
    for message in (fix_message("b", Group((loud,)), works), squash_message("b", [Group((loud,))], works)):
        assert not re.search(r"@\w|#\d|GH-\d|://", message)
        assert words in message.replace("\u200b", "")


def test_a_duplicate_by_content_is_credited_where_it_was_done() -> None:
    first, second, late = change(1, "DOC"), change(2, "FIX_IMPL"), change(3, "FIX_IMPL")
    picks = [
        Picked(Group((first,)), Fate.MERGED),
        Picked(Group((second,)), Fate.MERGED),
        Picked(Group((late,)), Fate.DUPLICATE, rivals=(first, second)),
        Picked(Group((replace(late, job=4, sha="4" * 40),)), Fate.DUPLICATE, rivals=(first,)),
    ]
    assert [[one.job for one in group.changes] for group in groups_to_commit(picks)] == [[1, 4], [2, 3]]


def test_a_report_becomes_work() -> None:
    """A commit that no claim covers goes in with the others; commits without any claim don't."""
    claims = (ChangeClaim("FIX_IMPL", "SUCCEEDED", "done"), ChangeClaim("DOC", "FAILED", "no"))
    report = Outcome(claims, tests_passing_before=False, tests_passing_after=True)
    changes = (change(kind="FIX_IMPL"), change(kind="DOC"), change(kind="FIX_TEST"))
    work = brought(1, "t", report, changes, evidence=Evidence(True, 2, 2))
    assert [bool(rejection(work, one)) for one in changes] == [False, True, False]
    assert work.summaries["FIX_IMPL"] == "done"
    assert rejection(brought(1, "t", report, changes, rejected="flaky"), changes[0]) == "flaky"
    assert rejection(brought(1, "t", Outcome(), changes), changes[0]) == "its agent claims no change"
    assert brought(1, "t", Outcome(), ()).rejected == ""
