"""What an integrator is asked, and that no change is lost when its branch takes the machine's place."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from supervisor.integration.rules.checking import given_up, ranked, untrue, with_reasons
from supervisor.integration.rules.ledger import ChangeRow
from supervisor.integration.rules.questions import questions, repeated
from supervisor.model.change import Change
from supervisor.model.ledger import ON_BRANCH, Fate

FATES = [Fate.MERGED, Fate.DUPLICATE, Fate.CONFLICT, Fate.REJECTED, Fate.EMPTY]


def change(number: int, path: str = "", kind: str = "FIX_IMPL", alike: str = "") -> Change:
    return Change(number, f"c{number}", kind, "", (path or f"file{number}",), f"p{number}", alike)


rows = st.lists(st.sampled_from(FATES), max_size=8).map(
    lambda fates: [
        ChangeRow(change(n), fate, "", f"m{n}" if fate in ON_BRANCH else "") for n, fate in enumerate(fates)
    ]
)
names = st.integers(0, 9).map(lambda number: f"c{number}")


@given(rows, st.dictionaries(names, st.just("why")), st.dictionaries(st.integers(0, 9), st.just("left out")))
def test_a_reason_changes_no_row_but_those_that_stay_in_conflict(
    before: list[ChangeRow], reasons: dict[str, str], left_out: dict[int, str]
) -> None:
    for was, row in zip(before, with_reasons(before, reasons, left_out), strict=True):
        said = left_out.get(was.change.job, "") or reasons.get(was.change.sha, "")
        expected = said if was.fate is Fate.CONFLICT else ""
        assert row == replace(was, detail=expected)


def test_what_it_says_of_things_that_it_was_not_asked_about_is_told() -> None:
    said = list(untrue({"c1": "too hard", "c2": "ugly"}, ["c3", "c9\x1b"], {"c1"}, {"c3"}))
    assert said == [
        "the integrator lists c2 as failed, which is not in conflict",
        "the integrator ranks c9?, which is not a fix on this branch",
    ]


@given(
    st.recursive(
        st.none() | st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_whatever_an_integrator_says_it_gave_up_is_read_or_left(said: object) -> None:
    assert all(isinstance(word, str) for entry in given_up({"failed": said}).items() for word in entry)
    assert all(ranked({"ranking": said}))
    assert (
        given_up({"failed": [{"change": "c1", "reason": " too\n hard "}, said]}).get("c1", "too hard") == "too hard"
    )


def test_three_alike_in_two_files_are_one_matter_and_the_same_patch_is_one_change() -> None:
    alike = [change(1, "a", alike="x"), change(2, "a", alike="x"), change(3, "b", alike="x")]
    assert [len(group) for group in repeated(alike)] == [3]
    assert repeated(alike[:2]) == ()
    assert repeated([replace(each, paths=("a",)) for each in alike]) == ()
    assert repeated([replace(each, patch_id="same") for each in alike]) == ()
    assert repeated([replace(each, alike_id="") for each in alike]) == ()


def test_fixes_are_put_to_it_in_the_order_of_the_branch_and_one_alone_needs_none() -> None:
    merged = [ChangeRow(change(n), Fate.MERGED, "", f"m{n}") for n in (1, 2)]
    asked = questions(merged, ["m2", "m1"], ())
    assert [each.sha for each in asked.ranking] == ["c2", "c1"]
    assert asked.why == "2 fixes to rank"
    assert questions(merged[:1], ["m1"], ()).why == ""
