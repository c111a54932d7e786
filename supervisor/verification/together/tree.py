"""One tree of the work of several claims: what each of them changes there, and what each test reaches. Blocking."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from supervisor.model.node import cases_of
from supervisor.verification.evidence.contents import Contents, contents
from supervisor.verification.together.reaching import Reached, notices, reached_by
from supervisor.verification.together.touching import Touch, touch


class Tree:
    """Claims have the numbers of their jobs."""

    def __init__(self, bare: Path, base: str, sha: str) -> None:
        self.sha, self._base, self._bare = sha, base, bare
        self._tests: Mapping[int, str] = {}
        self._notes: Mapping[str, Reached] = {}
        self._changes: dict[int, dict[str, Touch]] = {}
        self._noticed: dict[int, set[int]] = {}

    def watched(
        self, tests: Mapping[int, str], paths: Mapping[int, Sequence[str]], notes: Mapping[str, Reached]
    ) -> "Tree":
        """With the test of each claim, the files that it changes, and what was noted while all of it ran."""
        self._tests, self._notes = tests, notes
        self._changes = {claim: self._change(changed) for claim, changed in paths.items()}
        self._noticed = {
            claim: {other for other in tests if other != claim and self._notices(claim, other)} for claim in tests
        }
        return self

    def now(self, paths: Iterable[str]) -> Contents:
        return contents(self._bare, self.sha, paths)

    def reached(self, claim: int) -> Reached:
        """By its test."""
        return reached_by(self._notes, [self._tests[claim]])

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
        file = self._tests[claim].partition("::")[0]
        rest = cases_of(self._notes, file).keys() - cases_of(self._notes, self._tests[other]).keys()
        return notices(reached_by(self._notes, (self._tests[claim], *sorted(rest))), self._changes[other])

    def _change(self, paths: Sequence[str]) -> dict[str, Touch]:
        before, now = contents(self._bare, self._base, paths), self.now(paths)
        return {path: touch(path, before[path], now[path]) for path in paths}
