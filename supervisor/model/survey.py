"""The survey of a batch: the results of its test files at the base, before any agent works on them.

The files are run in groups, each of which takes a verify slot. The state has counts and some names; the results of
every test are kept in the state directory.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from immutables import Map

#: the most red tests, and the most flaky tests, that are named
MOST_NAMED = 50


@dataclass(frozen=True, slots=True)
class Surveyed:
    """The results of some files at the base. Each case of a test counts."""

    green: int = 0
    red: int = 0
    #: passed in one of two runs; no test is run twice only to find this out
    flaky: int = 0
    skipped: int = 0
    #: in files that could not be run
    unrun: int = 0
    #: the names of some
    red_tests: tuple[str, ...] = ()
    flaky_tests: tuple[str, ...] = ()
    #: the one cause of all that is red or was not run, in words that are the same for all tests; "": none, or several
    cause: str = ""
    #: the message of one of them
    sample: str = ""
    #: why nothing could be run, such as a setup that fails
    problem: str = ""
    #: the time of the runs
    seconds: float = 0.0
    #: the time of the longest setup
    setup_seconds: float = 0.0
    #: if siblings are held: how many of the red ones fail at a place of shared code
    shared: int = 0
    #: for one group: the jobs that fail at each such place, by its description
    families: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def tests(self) -> int:
        return self.green + self.red + self.flaky + self.skipped + self.unrun

    @property
    def bad(self) -> int:
        return self.red + self.unrun

    def __add__(self, other: "Surveyed") -> "Surveyed":
        return Surveyed(
            green=self.green + other.green,
            red=self.red + other.red,
            flaky=self.flaky + other.flaky,
            skipped=self.skipped + other.skipped,
            unrun=self.unrun + other.unrun,
            red_tests=(self.red_tests + other.red_tests)[:MOST_NAMED],
            flaky_tests=(self.flaky_tests + other.flaky_tests)[:MOST_NAMED],
            cause=self._common_cause(other),
            sample=self.sample or other.sample,
            problem=self.problem or other.problem,
            seconds=self.seconds + other.seconds,
            setup_seconds=max(self.setup_seconds, other.setup_seconds),
            shared=self.shared + other.shared,
            families=_together(self.families, other.families),
        )

    def _common_cause(self, other: "Surveyed") -> str:
        if self.bad and other.bad:
            return self.cause if self.cause == other.cause else ""
        return self.cause if self.bad else other.cause


def _together(
    some: Mapping[str, tuple[int, ...]], others: Mapping[str, tuple[int, ...]]
) -> Mapping[str, tuple[int, ...]]:
    return {**some, **{place: (*some.get(place, ()), *jobs) for place, jobs in others.items()}}


NOTHING_FOUND = Surveyed()


@dataclass(frozen=True, slots=True)
class Survey:
    #: all that is surveyed, in the order of the jobs; (): there is no survey
    files: tuple[str, ...] = ()
    #: how many of them have been begun
    cursor: int = 0
    #: those of them that have to be begun again
    again: tuple[str, ...] = ()
    #: groups that have a slot, by their number
    under_way: Map[int, tuple[str, ...]] = field(default_factory=Map)
    #: the number of the last group
    groups: int = 0
    #: how many files have been run, or could not be
    over: int = 0
    #: the survey starts again when a person resumes a batch that it stopped, and does not stop that batch again
    round: int = 0
    found: Surveyed = NOTHING_FOUND

    @property
    def is_due(self) -> bool:
        return bool(self.again) or self.cursor < len(self.files)

    def awaits(self, file: str) -> bool:
        """Whether the file is running or will be run."""
        if self.over == len(self.files):
            return False
        under_way = any(file in files for files in self.under_way.values())
        return under_way or file in self.again or file in self.files[self.cursor :]

    def next_files(self, most: int) -> tuple[str, ...]:
        return self.again[:most] or self.files[self.cursor : self.cursor + most]

    def begun(self, number: int, files: tuple[str, ...]) -> "Survey":
        """Give the next files that are due to a group."""
        survey = replace(self, under_way=self.under_way.set(number, files), groups=number)
        if self.again:
            return replace(survey, again=self.again[len(files) :])
        return replace(survey, cursor=self.cursor + len(files))

    def ended(self, number: int, found: Surveyed) -> "Survey":
        over, found = self.over + len(self.under_way[number]), replace(found, families={})
        return replace(self, under_way=self.under_way.delete(number), over=over, found=self.found + found)

    def abandoned(self, number: int) -> "Survey":
        again = self.under_way[number] + self.again
        return replace(self, under_way=self.under_way.delete(number), again=again)

    def interrupted(self) -> "Survey":
        """Nothing is under way: the daemon has started."""
        survey = self
        for number in sorted(self.under_way, reverse=True):
            survey = survey.abandoned(number)
        return survey

    def anew(self) -> "Survey":
        return Survey(self.files, groups=self.groups, round=self.round + 1)


NO_SURVEY = Survey()
