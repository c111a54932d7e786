"""The check in both directions: every block is cited by a test, every test cites a block, no citation is stale."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from pathlib import Path

from supervisor.e2e.tutorial.blocks import Block, Tutorial, parse
from supervisor.e2e.tutorial.citations import Citation, Rejected, Test, Unreadable, find_tests
from supervisor.e2e.tutorial.fidelity import Fidelity, fidelity
from supervisor.e2e.tutorial.matching import Matcher, Nearest


@dataclass(frozen=True, slots=True)
class Cited:
    test: Test
    citation: Citation
    block: Block
    fidelity: Fidelity


@dataclass(frozen=True, slots=True)
class Stale:
    """A citation that equals no block."""

    test: Test
    citation: Citation
    nearest: Nearest


@dataclass(frozen=True)
class Allowed:
    """The gaps that the baseline allows: block ids and test ids."""

    blocks: frozenset[str] = frozenset()
    tests: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Report:
    script: str
    tutorial: Tutorial
    tests: tuple[Test, ...]
    cited: tuple[Cited, ...]
    stale: tuple[Stale, ...]
    unreadable: tuple[Unreadable, ...]
    today: date
    allowed: Allowed = field(default_factory=Allowed)

    @cached_property
    def by_block(self) -> dict[str, list[Cited]]:
        """Block id → its citations, in the script's order; an uncited block has an empty list."""
        found: dict[str, list[Cited]] = {block.id: [] for block in self.tutorial.blocks}
        for cited in self.cited:
            found[cited.block.id].append(cited)
        return found

    @property
    def cited_blocks(self) -> int:
        return sum(bool(cited) for cited in self.by_block.values())

    @cached_property
    def waived(self) -> tuple[Block, ...]:
        return tuple(block for block in self._without_test() if block.waiver and block.waiver.is_valid(self.today))

    @cached_property
    def uncited(self) -> tuple[Block, ...]:
        return tuple(
            block for block in self._without_test() if not block.waiver or not block.waiver.is_valid(self.today)
        )

    @property
    def citing_tests(self) -> tuple[Test, ...]:
        return tuple(test for test in self.tests if test.citations)

    @property
    def uncited_tests(self) -> tuple[Test, ...]:
        return tuple(test for test in self.tests if not test.citations)

    @property
    def matched_tests(self) -> int:
        """Tests with at least one citation that equals a block."""
        return len({cited.test.id for cited in self.cited})

    @property
    def rejected(self) -> tuple[tuple[Test, Rejected], ...]:
        return tuple((test, rejected) for test in self.tests for rejected in test.rejected)

    @property
    def new_uncited(self) -> tuple[Block, ...]:
        return tuple(block for block in self.uncited if block.id not in self.allowed.blocks)

    @property
    def new_uncited_tests(self) -> tuple[Test, ...]:
        return tuple(test for test in self.uncited_tests if test.id not in self.allowed.tests)

    @property
    def exit_code(self) -> int:
        """0: no gaps; 1: gaps; 2: a file can't be parsed."""
        if self.tutorial.problems or self.unreadable:
            return 2
        return int(bool(self.new_uncited or self.new_uncited_tests or self.stale or self.rejected))

    def allowing(self, allowed: Allowed) -> "Report":
        return replace(self, allowed=allowed)

    def _without_test(self) -> Iterable[Block]:
        return (block for block in self.tutorial.blocks if not self.by_block[block.id])


def check(script: Path, roots: Iterable[Path], *, today: date) -> Report:
    """Read a script and the tests under some folders, and compare them."""
    tutorial = parse(script.read_text(encoding="utf-8", errors="replace"))
    tests, unreadable = find_tests(roots)
    return compare(script.as_posix(), tutorial, tests, unreadable, today=today)


def compare(
    script: str, tutorial: Tutorial, tests: Iterable[Test], unreadable: Iterable[Unreadable] = (), *, today: date
) -> Report:
    matcher = Matcher(tutorial.blocks)
    tests = tuple(tests)
    cited: list[Cited] = []
    stale: list[Stale] = []
    for test in tests:
        for citation in test.citations:
            blocks = matcher.blocks_of(citation)
            if not blocks:
                stale.append(Stale(test, citation, matcher.nearest(citation)))
            cited += (
                Cited(test, citation, block, fidelity(block.commands, test.conduct.commands)) for block in blocks
            )
    return Report(script, tutorial, tests, tuple(cited), tuple(stale), tuple(unreadable), today)
