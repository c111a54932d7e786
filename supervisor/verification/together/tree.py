"""One tree with the work of several claims: what each claim changes there, and what each test reaches. Blocking."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from supervisor.model.job import Job
from supervisor.model.node import cases_of, file_of, function_of
from supervisor.verification.evidence.contents import contents
from supervisor.verification.evidence.laying import Contents
from supervisor.verification.rules.judged import Doubt
from supervisor.verification.together.composing import Composed
from supervisor.verification.together.reaching import Reached, notices, reached_by
from supervisor.verification.together.touching import Touch, moved, touch
from supervisor.verification.works import Changes

_WHOLE = Touch(whole=True)


@dataclass(frozen=True, slots=True)
class Claimed:
    """A claim that policy does not refuse."""

    job: Job
    work: Changes
    doubts: tuple[Doubt, ...]


class Tree:
    """Claims are identified by the numbers of their jobs."""

    def __init__(
        self, bare: Path, base: str, composed: Composed, claims: Sequence[Claimed], notes: Mapping[str, Reached]
    ) -> None:
        """`notes`: what each test reached in a run of all their files in the tree."""
        self.sha, self._base, self._bare = composed.sha, base, bare
        self._left_out, self._notes = composed.left_out, notes
        tests = self._tests = {each.job.number: each.job.test for each in claims}
        self._then = {each.job.number: self._brought(each) for each in claims}
        self._changes = {claim: self._change(then) for claim, then in self._then.items()}
        self._noticed = {
            claim: {other for other in tests if other != claim and self._notices(claim, other)} for claim in tests
        }

    def now(self, paths: Iterable[str]) -> Contents:
        return contents(self._bare, self.sha, paths)

    @property
    def tests(self) -> frozenset[str]:
        return frozenset(function_of(test) for test in self._tests.values())

    def reached(self, claim: int) -> Reached:
        """What its test reaches."""
        return reached_by(self._notes, [self._tests[claim]])

    @property
    def common(self) -> Reached:
        """What belongs to all tests."""
        return reached_by(self._notes, ())

    def missing(self) -> set[int]:
        """Claims whose test, or the rest of its file, notices that the tree lacks their version of a file."""
        return {
            claim
            for claim, paths in self._left_out.items()
            if paths and notices(reached_by(self._notes, [file_of(self._tests[claim])]), dict.fromkeys(paths, _WHOLE))
        }

    def entangled(self) -> set[int]:
        """Claims to put back, so that no test notices another claim's work; the one that meets most goes first."""
        gone: set[int] = set()
        while meets := self._meetings(gone):
            gone.add(max(sorted(meets), key=lambda claim: meets[claim]))
        return gone

    def is_free_of(self, left: Iterable[int], others: set[int]) -> bool:
        """Whether no claim that is left notices the others' work."""
        return not any(self._noticed[claim] & others for claim in left)

    def _meetings(self, gone: set[int]) -> dict[int, int]:
        """How many others each claim notices, or is noticed by."""
        counts: dict[int, int] = {}
        for claim, noticed in self._noticed.items():
            for other in noticed - gone if claim not in gone else ():
                counts[claim] = counts.get(claim, 0) + 1
                counts[other] = counts.get(other, 0) + 1
        return counts

    def meets(self, claim: int) -> frozenset[int]:
        """The claims whose work its test notices, and those whose tests notice its work."""
        return frozenset(
            self._noticed[claim] | {other for other, noticed in self._noticed.items() if claim in noticed}
        )

    def _notices(self, claim: int, other: int) -> bool:
        """Whether its test, or the rest of its file without the other's test, notices the other's work. A file that
        both changed alike does not count: the claim alone would have it, too."""
        file = cases_of(self._notes, file_of(self._tests[claim])).keys()
        rest = file - cases_of(self._notes, self._tests[other]).keys()
        own = self._then[claim]
        change = {path: each for path, each in self._changes[other].items() if not self._is_alike(own, other, path)}
        return notices(reached_by(self._notes, (self._tests[claim], *sorted(rest))), change)

    def _is_alike(self, own: Contents, other: int, path: str) -> bool:
        return path in own and own[path] == self._then[other][path]

    def _brought(self, claim: Claimed) -> Contents:
        """The files that it changes, as its own commit has them, without those in conflict."""
        left_out = self._left_out.get(claim.job.number, frozenset())
        own = [file.path for file in claim.work.files if file.path not in left_out]
        return contents(self._bare, claim.job.brought.head, own)

    def _change(self, then: Contents) -> dict[str, Touch]:
        """What its work touches in the tree. In a file that others change, too, some lines are theirs."""
        before, now = contents(self._bare, self._base, then), self.now(then)
        return {path: moved(touch(path, before[path], then[path]), then[path], now[path]) for path in then}
