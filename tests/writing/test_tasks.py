"""What is still to be written, and what may become of a seed."""

from datetime import date
from pathlib import Path

import pytest

from supervisor.e2e.tutorial.blocks import parse
from supervisor.e2e.tutorial.check import check
from supervisor.e2e.tutorial.review import BadReview, Entry, Review
from supervisor.e2e.tutorial.writing import NotFilled, Task, accepted, proposed, seed_tasks, sync_tasks

SCRIPT = """\
#!/bin/sh
## Things

# make a thing
thing new

# Managing things,
# many of them

# the last of them
thing last
"""
SEED = "# Managing things,\n# many of them"
FILLED = SCRIPT.replace(SEED, f"{SEED}\nthing list --all")


def the_seed() -> Task:
    [task] = seed_tasks("tutorial.sh", parse(SCRIPT).seeds)
    return task


def test_a_seed_is_a_task_that_knows_its_place() -> None:
    task = the_seed()
    assert (task.item, task.line, task.section) == ("seed:7-managing-things-many-of-them", 7, ("Things",))
    assert task.text == SEED


def test_a_filled_seed_is_one_block_that_begins_with_its_words() -> None:
    block = proposed(SCRIPT, FILLED, the_seed())
    assert block.text == f"{SEED}\nthing list --all"
    assert accepted(SCRIPT, SEED, block.text) == FILLED


@pytest.mark.parametrize(
    ("after", "why"),
    [
        (SCRIPT, "no command yet"),
        (SCRIPT.replace(SEED, f"{SEED}\n# still thinking"), "not exactly one block"),
        (SCRIPT.replace(SEED, "# Managing\nthing list"), "no command yet"),
        (SCRIPT.replace(SEED, "# Managing things\n# some\nthing list"), "the seed's comment was changed"),
        (FILLED.replace("thing new", "thing old"), "other parts"),
        (FILLED + "thing more\n", "other parts"),
        (SCRIPT.replace(SEED, f"{SEED}\nthing list\n\nthing again"), "not exactly one block"),
        (SCRIPT.replace(SEED, f"{SEED}\necho 'open"), "can't be parsed"),
        ("", "no command yet"),
    ],
)
def test_what_is_no_filled_seed_is_said_so(after: str, why: str) -> None:
    with pytest.raises(NotFilled, match=why):
        proposed(SCRIPT, after, the_seed())


def test_a_block_is_accepted_where_its_seed_is_now() -> None:
    """Lines may have moved since; a seed that is gone, or there twice, is refused."""
    moved = SCRIPT.replace("thing new", "thing new\nthing newer")
    assert accepted(moved, SEED, f"{SEED}\nthing list") == moved.replace(SEED, f"{SEED}\nthing list")
    with pytest.raises(NotFilled, match="no seed"):
        accepted(FILLED, SEED, f"{SEED}\nthing list")
    with pytest.raises(NotFilled, match="more than one"):
        accepted(f"{SCRIPT}\n{SEED}\n", SEED, f"{SEED}\nthing list")


def test_stale_citations_come_first_and_their_blocks_are_not_asked_for_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    script, tests = Path("tutorial.sh"), Path("test_it.py")
    script.write_text("# one\nthing one --now\n\n# two\nthing two\n")
    tests.write_text('def test_one(e2e):\n    e2e.write_tutorial_block("""\n    # one\n    thing one\n    """)\n')
    tasks = list(sync_tasks("tutorial.sh", "tests", check(script, [tests], today=date(2026, 1, 1))))

    assert [task.kind for task in tasks] == ["stale", "block"]
    assert tasks[0].test == "test_it.py::test_one"
    assert "+thing one --now" in tasks[0].diff
    assert tasks[1].text == "# two\nthing two"
    assert {task.stale_before for task in tasks} == {1}


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../x", "a\0b"])
def test_a_task_stays_in_its_repository(path: str) -> None:
    with pytest.raises(ValueError, match="leads out"):
        Task("seed:1", "seed", path)


def test_a_draft_never_takes_a_decision_back(tmp_path: Path) -> None:
    script = tmp_path / "tutorial.sh"
    review = Review.of(script)
    assert review.note("b-1", Entry("drafted", SEED, "k.1"))
    assert Review.of(script).undecided_seeds == {SEED}
    assert review.note("b-1", Entry("rejected", SEED, "k.1"))
    assert not review.note("b-1", Entry("drafted", SEED, "k.1"))

    assert Review.of(script).blocks == {"b-1": Entry("rejected", SEED, "k.1")}
    assert Review.of(script).undecided_seeds == set()


@pytest.mark.parametrize("text", ["{}", "[]", "{", '{"blocks": {"a": {"state": "fine", "seed": "", "job": ""}}}'])
def test_a_record_that_can_not_be_read_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "tutorial.review.json").write_text(text)
    with pytest.raises(BadReview):
        Review.of(tmp_path / "tutorial.sh")
