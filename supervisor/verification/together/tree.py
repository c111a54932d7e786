"""One tree with the work of several claims: what each claim changes there, and what tests reach. Blocking."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from supervisor.model.job import Job
from supervisor.model.node import cases_of, file_of, function_of
from supervisor.verification.evidence.contents import contents
from supervisor.verification.evidence.laying import Contents
from supervisor.verification.rules.judged import Doubt
from supervisor.verification.together.composing import Composed
from supervisor.verification.together.reaching import ALL, Reached, notices, reached_by
from supervisor.verification.together.touching import Touch, moved, touch
from supervisor.verification.works import Changes

_WHOLE = Touch(whole=True)


@dataclass(frozen=True, slots=True)
class Claimed:
    """A claim that policy does not refuse."""

    job: Job
    work: Changes
    doubts: tuple[Doubt, ...]

    @property
    def number(self) -> int:
        return self.job.number

    @property
    def test(self) -> str:
        return self.job.test

    @property
    def paths(self) -> frozenset[str]:
        """The files that it changes."""
        return frozenset(file.path for file in self.work.files)


class Tree:
    """Claims are identified by the numbers of their jobs."""

    def __init__(
        self,
        bare: Path,
        base: str,
        composed: Composed,
        claims: Sequence[Claimed],
        *,
        watched: Sequence[Claimed],
        notes: Mapping[str, Reached],
    ) -> None:
        """`claims`: whose work it has; `watched`: those whose files were run in it; `notes`: what each test of these
        files reached there."""
        self.sha, self._base, self._bare = composed.sha, base, bare
        self._left_out, self._notes = composed.left_out, notes
        tests = self._tests = {each.number: each.test for each in claims}
        self._cases = {test: cases_of(notes, test) for test in {*tests.values(), *map(file_of, tests.values())}}
        self._then = {each.number: self._brought(each) for each in claims}
        self._changes = {claim: self._change(then) for claim, then in self._then.items()}
        noticed = {each.number: {other: self._noticed(each.number, other) for other in tests} for each in watched}
        #: by claim, the others whose work its test, or the rest of its file, notices, and in which files
        self.noticed = {
            claim: {other: paths for other, paths in found.items() if paths and other != claim}
            for claim, found in noticed.items()
        }

    def now(self, paths: Iterable[str]) -> Contents:
        return contents(self._bare, self.sha, paths)

    @property
    def tests(self) -> frozenset[str]:
        return frozenset(function_of(test) for test in self._tests.values())

    def reached(self, nodes: Sequence[str]) -> Reached:
        """What these tests reach; a test that was not seen to run may reach anything."""
        found = reached_by(self._notes, nodes)
        return found if all(cases_of(self._notes, node) for node in nodes) else replace(found, is_opaque=True)

    @property
    def common(self) -> Reached:
        """What belongs to all tests."""
        return reached_by(self._notes, ())

    def missing(self) -> dict[int, frozenset[str]]:
        """Claims whose test, or the rest of its file, notices that the tree lacks their version of some files."""
        found = {claim: self._left_out.get(claim, frozenset()) for claim in self.noticed}
        return {
            claim: paths
            for claim, paths in found.items()
            if paths and notices(reached_by(self._notes, [file_of(self._tests[claim])]), dict.fromkeys(paths, _WHOLE))
        }

    def _noticed(self, claim: int, other: int) -> frozenset[str]:
        """The files in which its test, or the rest of its file without the other's test, notices the other's work. A
        file that both changed alike does not count: the claim alone would have it, too."""
        if claim == other:
            return frozenset()
        own, tests = self._then[claim], [*self._run_for(claim, other)]
        return frozenset(
            path
            for path, touched in self._changes[other].items()
            if not self._is_alike(own, other, path) and any(each.notices(path, touched) for each in tests)
        )

    def _run_for(self, claim: int, other: int) -> Iterator[Reached]:
        """What is reached by what all tests share, by its test, and by the rest of its file without the other's."""
        yield self._notes.get(ALL, Reached())
        yield from self._cases[self._tests[claim]].values()
        others = self._cases[self._tests[other]]
        yield from (each for test, each in self._cases[file_of(self._tests[claim])].items() if test not in others)

    def _is_alike(self, own: Contents, other: int, path: str) -> bool:
        return path in own and own[path] == self._then[other][path]

    def _brought(self, claim: Claimed) -> Contents:
        """The files that it changes, as its own commit has them, without those that the tree lacks."""
        own = sorted(claim.paths - self._left_out.get(claim.number, frozenset()))
        return contents(self._bare, claim.job.brought.head, own)

    def _change(self, then: Contents) -> dict[str, Touch]:
        """What its work touches in the tree. In a file that others change, too, some lines are theirs."""
        before, now = contents(self._bare, self._base, then), self.now(then)
        return {path: moved(touch(path, before[path], then[path]), then[path], now[path]) for path in then}
