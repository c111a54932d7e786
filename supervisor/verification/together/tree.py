"""One tree of the work of several claims: what each of them changes there, and what each test reaches. Blocking."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from supervisor.model.node import cases_of, file_of, function_of
from supervisor.verification.evidence.contents import Contents, contents
from supervisor.verification.together.composing import Composed
from supervisor.verification.together.reaching import Reached, notices, reached_by
from supervisor.verification.together.touching import Touch, moved, touch

_WHOLE = Touch(whole=True)


class Tree:
    """Claims have the numbers of their jobs."""

    def __init__(self, bare: Path, base: str, composed: Composed) -> None:
        self.sha, self._base, self._bare = composed.sha, base, bare
        self._left_out = composed.left_out
        self._tests: Mapping[int, str] = {}
        self._notes: Mapping[str, Reached] = {}
        self._changes: dict[int, dict[str, Touch]] = {}
        self._noticed: dict[int, set[int]] = {}

    def watched(
        self, tests: Mapping[int, str], work: Mapping[int, tuple[str, Sequence[str]]], notes: Mapping[str, Reached]
    ) -> "Tree":
        """With the test of each claim, its last commit and the files that it changes, and what was noted while all of
        it ran."""
        self._tests, self._notes = tests, notes
        self._changes = {claim: self._change(claim, head, paths) for claim, (head, paths) in work.items()}
        self._noticed = {
            claim: {other for other in tests if other != claim and self._notices(claim, other)} for claim in tests
        }
        return self

    def now(self, paths: Iterable[str]) -> Contents:
        return contents(self._bare, self.sha, paths)

    @property
    def tests(self) -> frozenset[str]:
        return frozenset(function_of(test) for test in self._tests.values())

    def reached(self, claim: int) -> Reached:
        """By its test."""
        return reached_by(self._notes, [self._tests[claim]])

    def missing(self) -> set[int]:
        """Claims whose test, or the rest of its file, notices that the tree has not their version of a file."""
        return {
            claim
            for claim, paths in self._left_out.items()
            if paths and notices(reached_by(self._notes, [file_of(self._tests[claim])]), dict.fromkeys(paths, _WHOLE))
        }

    def entangled(self) -> set[int]:
        """Without them nobody is left who notices what another one changes; who meets the most others goes first."""
        gone: set[int] = set()
        while meets := self._meetings(gone):
            gone.add(max(sorted(meets), key=lambda claim: meets[claim]))
        return gone

    def is_free_of(self, left: Iterable[int], others: set[int]) -> bool:
        """Whether the others' work makes no difference to those that are left."""
        return not any(self._noticed[claim] & others for claim in left)

    def _meetings(self, gone: set[int]) -> dict[int, int]:
        """How many others each claim notices, or is noticed by."""
        counts: dict[int, int] = {}
        for claim, noticed in self._noticed.items():
            for other in noticed - gone if claim not in gone else ():
                counts[claim] = counts.get(claim, 0) + 1
                counts[other] = counts.get(other, 0) + 1
        return counts

    def _notices(self, claim: int, other: int) -> bool:
        """By its test, or by the rest of its file, the other's own test left out."""
        file = cases_of(self._notes, file_of(self._tests[claim])).keys()
        rest = file - cases_of(self._notes, self._tests[other]).keys()
        return notices(reached_by(self._notes, (self._tests[claim], *sorted(rest))), self._changes[other])

    def _change(self, claim: int, head: str, paths: Sequence[str]) -> dict[str, Touch]:
        """Where it stands in the tree. Of a file that others change, too, some lines are theirs."""
        own = [path for path in paths if path not in self._left_out.get(claim, frozenset())]
        before, then, now = contents(self._bare, self._base, own), contents(self._bare, head, own), self.now(own)
        return {path: moved(touch(path, before[path], then[path]), then[path], now[path]) for path in own}
