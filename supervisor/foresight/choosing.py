"""Which of the collected tests become jobs, and why the others do not."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from supervisor.foresight.past import Before

#: the share of the tests that a selector skips which is run all the same, at least one
AUDITED_SHARE = 0.05

#: why a test is skipped; "": it is not
type Reason = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Skipped:
    test: str
    why: str


@dataclass(frozen=True, slots=True)
class Chosen:
    tests: tuple[str, ...]
    skipped: tuple[Skipped, ...] = ()
    #: those of `tests` that are run only to find out whether the selector was right
    audited: frozenset[str] = frozenset()
    #: why a test is chosen although it might have been skipped, if a selector had to find out
    because: Mapping[str, str] | None = None

    def without(self, reason: Reason) -> "Chosen":
        reasons = {test: reason(test) for test in self.tests}
        left = tuple(test for test, why in reasons.items() if not why)
        gone = tuple(Skipped(test, why) for test, why in reasons.items() if why)
        return replace(self, tests=left, skipped=(*self.skipped, *gone), audited=self.audited & set(left))


def only_failed(last: Mapping[str, Before]) -> Reason:
    def reason(test: str) -> str:
        if (before := last.get(test)) is None:
            return "no batch has worked on it, so it did not fail"
        return f"it was left {before.outcome} by batch {before.batch}" if before.is_well else ""

    return reason


def sampled(tests: Sequence[str], most: int, seed: str) -> Reason:
    """Skip all but a random sample. The same seed draws the same tests, whatever else is collected."""
    taken = set(_drawn(tests, most, seed))
    return lambda test: "" if test in taken else f"it is not in the sample of {most} (seed {seed})"


def limited(tests: Sequence[str], most: int) -> Reason:
    taken = set(tests[:most])
    return lambda test: "" if test in taken else f"the limit is {most}"


def audited(chosen: Chosen, skipped: Iterable[Skipped], seed: str, share: float = AUDITED_SHARE) -> Chosen:
    """Take back a share of the tests that a selector skipped."""
    tests = [each.test for each in skipped]
    most = max(1, math.ceil(share * len(tests))) if tests and share else 0
    taken = frozenset(_drawn(tests, most, f"audit {seed}"))
    left = tuple(each for each in chosen.skipped if each.test not in taken)
    back = set(chosen.tests) | taken
    return replace(chosen, tests=tuple(back), skipped=left, audited=chosen.audited | taken)


def in_order(chosen: Chosen, tests: Sequence[str]) -> Chosen:
    """Sort the tests as they were collected."""
    place = {test: number for number, test in enumerate(tests)}
    return replace(
        chosen,
        tests=tuple(sorted(chosen.tests, key=place.__getitem__)),
        skipped=tuple(sorted(chosen.skipped, key=lambda each: place[each.test])),
    )


def _drawn(tests: Sequence[str], most: int, seed: str) -> list[str]:
    return sorted(tests, key=lambda test: sha256(f"{seed}/{test}".encode()).digest())[:most]
