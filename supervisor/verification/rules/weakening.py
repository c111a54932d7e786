"""Weakened expectations: each old check is looked up among the new ones."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from supervisor.verification.rules.comparisons import EXACT, PART
from supervisor.verification.rules.expectations import Expectation, clipped
from supervisor.verification.rules.judged import Doubt


def weakened(
    before: Iterable[Expectation], after: Iterable[Expectation], test: str, still: Mapping[str, frozenset[str]]
) -> Iterator[Doubt]:
    """Cases for an old check: it is still there, or elsewhere; it is there on some paths only; another check is as
    strict; another check expects something else of the same value; it is gone.

    Runs of the job's test settle no doubts about other tests or about inputs that a test no longer has. `still`: the
    literal values of each test now."""
    for old, doubt in _weakened(before, after):
        is_own = old.where == test.partition("[")[0] or old.where.startswith(f"{test}::")
        is_given = set(old.inputs) <= still.get(old.where, frozenset())
        yield doubt if is_own and is_given else Doubt(doubt.sentence)


def _weakened(before: Iterable[Expectation], after: Iterable[Expectation]) -> Iterator[tuple[Expectation, Doubt]]:
    old, new = list(before), list(after)
    gone, extra = _without(old, new), _without(new, old)
    kept = {each.key for each in new if each.sure}
    for each in old:
        if each not in gone and each.sure and each.key not in kept:
            yield each, Doubt(f"{each.where}: checks `{each.text}` only on some paths", "strength")
    for each in gone:
        if any(covers(other, each) for other in extra):
            continue
        near = sorted((other for other in extra if _is_near(other, each)), key=partial(_distance, each))
        absent = Doubt(f"{each.where}: no longer checks `{each.text}`", "strength")
        yield each, _otherwise(each, near[0]) if near else absent


def _without(some: list[Expectation], others: list[Expectation]) -> list[Expectation]:
    """The difference of two multisets of expectations."""
    left = Counter(each.key for each in others)
    found = []
    for each in some:
        if left[each.key] > 0:
            left[each.key] -= 1
        else:
            found.append(each)
    return found


def covers(new: Expectation, old: Expectation) -> bool:
    """Whether the new check can't pass where the old one fails, as far as that can be read."""
    if not (new.sure or not old.sure) or not (new.roots & old.roots or new.subject == old.subject):
        return False
    if new.lossy - old.lossy:
        return False
    if new.operator.startswith("raises") or old.operator.startswith("raises"):
        return new.operator == old.operator and new.rank >= old.rank and _contains(new.expected, old.expected)
    if new.subject == old.subject and new.operator == "Eq" and new.expected is not None:
        return _holds(old, new.expected[0])
    if new.is_general:
        everything = {*old.inputs, *([repr(old.expected[0])] if old.expected else [])}
        return new.rank >= old.rank and old.expected is not None and everything <= new.around
    if new.expected is None or old.expected is None or new.rank < old.rank or not _is_same_thing(new, old):
        return False
    if old.rank == PART or new.operator.startswith("call"):
        return _contains(new.expected, old.expected)
    return _text(new.expected[0]) == _text(old.expected[0])


def _is_same_thing(new: Expectation, old: Expectation) -> bool:
    """Whether both check the same value in different ways: the same inputs in the same order, the same part of the
    result, and nothing in between that could invent an answer."""
    if "_1" in new.subject:
        same_inputs = set(old.inputs) <= {*new.inputs, *new.around}
    elif new.operator.startswith("call"):
        left = iter(new.inputs)
        same_inputs = all(each in left for each in old.inputs)
    else:
        same_inputs = old.inputs == tuple(each for each in new.inputs if each in old.inputs or each not in old.behind)
        same_inputs = same_inputs and not set(new.inputs) & ({repr(old.expected[0])} if old.expected else set())
    kinds = {each for each in new.made_of if not each.startswith(".")}
    asked = {each for each in old.made_of if each.startswith(".")}
    return same_inputs and kinds <= old.made_of and asked <= new.made_of


def _holds(old: Expectation, value: object) -> bool:
    """Whether the old expectation holds for this value."""
    if old.operator == "" or old.operator.startswith("call"):
        return bool(value)  # any truthy value was enough
    expected = old.expected[0] if old.expected else None
    if old.expected is None:
        return False
    try:
        match old.operator:
            case "Eq" | "Is":
                return bool(value == expected) or _text(value) == _text(expected)
            case "In":
                return expected in value  # type: ignore[operator]
            case "NotIn":
                return expected not in value  # type: ignore[operator]
            case "Ins":
                return value in expected  # type: ignore[operator]
            case "NotEq":
                return bool(value != expected)
            case "Gt":
                return bool(value > expected)  # type: ignore[operator]
            case "GtE":
                return bool(value >= expected)  # type: ignore[operator]
            case "Lt":
                return bool(value < expected)  # type: ignore[operator]
            case "LtE":
                return bool(value <= expected)  # type: ignore[operator]
    except TypeError:
        return False
    return False


def _contains(new: tuple[object] | None, old: tuple[object] | None) -> bool:
    if old is None or new is None:
        return new == old
    return new == old or (isinstance(old[0], str) and _text(old[0]) in _text(new[0]))


def _text(value: object) -> str:
    """A value as text; a list of lines is the text of these lines."""
    lines = value if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value) else None
    if lines is not None:
        return "\n".join(map(str, lines)).strip()
    return value.strip() if isinstance(value, str) else repr(value)


def _is_near(new: Expectation, old: Expectation) -> bool:
    return new.where == old.where and (bool(new.roots & old.roots) or new.subject == old.subject)


def _distance(old: Expectation, new: Expectation) -> tuple[bool, bool, bool, int]:
    return (
        new.subject != old.subject,
        new.expected != old.expected,
        new.operator != old.operator,
        abs(new.rank - old.rank),
    )


def _otherwise(old: Expectation, new: Expectation) -> Doubt:
    both = old.expected is not None and new.expected is not None
    if both and old.operator == new.operator and old.subject == new.subject and EXACT in (old.rank, new.rank):
        assert old.expected is not None
        assert new.expected is not None
        return Doubt(f"{old.where}: expects {_value(new.expected[0])} instead of {_value(old.expected[0])}")
    asks_elsewhere = (
        not new.lossy - old.lossy
        and old.rank <= new.rank
        and old.expected == new.expected
        and old.expected is not None
    )
    said, was = (new.text, old.text) if new.text != old.text else (clipped(new.key), clipped(old.key))
    return Doubt(f"{old.where}: checks `{said}` instead of `{was}`", "strength" if asks_elsewhere else "")


def _value(value: object) -> str:
    return clipped(repr(value))
