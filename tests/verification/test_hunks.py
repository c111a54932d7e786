"""Which lines two versions of a file do not share, and changes of one file that are merged."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.verification.evidence.laying import Content
from supervisor.verification.together.hunks import hunks, lines_of
from supervisor.verification.together.merging import merged
from supervisor.verification.together.touching import compared

FILES = st.lists(st.sampled_from([b"a\n", b"b\n", b"\n", b"c\r\n", b"\0\n"]), max_size=12).map(b"".join)
FUNCTIONS = ("first", "second", "third", "fourth")


def functions(**changed: str) -> Content:
    """A module of functions, some of them with another body."""
    parts = [f"def {name}(n):\n    a = n + 1\n    {changed.get(name, 'return a')}\n" for name in FUNCTIONS]
    return Content("\n\n".join(parts).encode())


@given(FILES, FILES, st.booleans())
def test_hunks_make_the_other_version(now: bytes, other: bytes, is_cut: bool) -> None:
    other = other.removesuffix(b"\n") if is_cut else other
    lines = lines_of(now)
    for hunk in reversed(hunks(now, other)):
        lines[hunk.start : hunk.end] = hunk.lines
    assert b"".join(lines) == other


BODIES = st.dictionaries(st.sampled_from(FUNCTIONS), st.sampled_from(("raise SystemError", "return None")))


@given(BODIES, BODIES)
def test_changes_of_different_functions_are_merged_and_so_are_equal_ones(
    mine: dict[str, str], its: dict[str, str]
) -> None:
    now, one, other = functions(), functions(**mine), functions(**its)
    if any(mine[name] != its[name] for name in mine.keys() & its.keys()):
        with pytest.raises(ValueError, match="the same lines"):
            merged(now, one, other)
    else:
        assert merged(now, one, other) == functions(**{**mine, **its})


@given(BODIES, BODIES)
def test_beside_ones_own_version_only_what_is_not_alike_is_touched(mine: dict[str, str], its: dict[str, str]) -> None:
    now = functions()
    own, other = (compared("tool.py", functions(**each), now) for each in (mine, its))
    returned = {name: 3 + 5 * place for place, name in enumerate(FUNCTIONS)}
    unlike = {returned[name] for name in its if mine.get(name) != its[name]}
    assert other.touch(without=own.hunks).lines == unlike
    assert other.touch().lines == {returned[name] for name in its}
