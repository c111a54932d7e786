"""Patterns of failures: what the failed attempts of a batch have in common."""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from immutables import Map


class Fingerprint(NamedTuple):
    """Failures with the same fingerprint count as the same failure."""

    #: where it failed, as a state of a job: launching, running, collecting or verifying
    stage: str
    #: the outcome that the attempt would have alone
    outcome: str
    #: the class of the exception that the message names; "": none
    exception: str
    #: the message without what differs from job to job: numbers, paths, ids, quoted text
    message: str


@dataclass(frozen=True, slots=True)
class Pattern:
    fingerprint: Fingerprint
    #: the message of the first failure, unchanged
    sample: str
    #: how many attempts had ended when it was first seen
    since: int = 0
    #: the jobs that failed in this way, and when each first did
    jobs: Map[int, float] = field(default_factory=Map)
    #: whether it says something about the surroundings of the tests; only such a pattern trips the breaker
    counts: bool = True
    #: the breaker tripped because of it; and how many jobs it had when a person resumed the batch
    tripped: bool = False
    accepted: int = 0

    @property
    def count(self) -> int:
        return len(self.jobs)

    @property
    def numbers(self) -> tuple[int, ...]:
        """Its jobs, in the order in which they failed."""
        return tuple(sorted(self.jobs, key=lambda number: (self.jobs[number], number)))


@dataclass(frozen=True, slots=True)
class Failures:
    patterns: Map[Fingerprint, Pattern] = field(default_factory=Map)
    #: jobs whose last attempt failed in a way that counts, with its fingerprint
    failing: Map[int, Fingerprint] = field(default_factory=Map)
    #: jobs whose last attempt says nothing against the surroundings of the tests
    well: Map[int, bool] = field(default_factory=Map)
    #: attempts that ended, well or not
    ended: int = 0
    #: the breaker tripped because nearly everything fails; and how many jobs failed when a person last resumed it
    tripped: bool = False
    accepted: int = 0

    def with_failure(self, pattern: Pattern, job: int, at: float) -> "Failures":
        known = self.patterns.get(pattern.fingerprint) or replace(pattern, since=self.ended)
        if job not in known.jobs:
            known = replace(known, jobs=known.jobs.set(job, at))
        found = replace(self, patterns=self.patterns.set(known.fingerprint, known))
        if not pattern.counts:
            return found.with_success(job)
        well = self.well.delete(job) if job in self.well else self.well
        return replace(found, failing=self.failing.set(job, known.fingerprint), well=well, ended=self.ended + 1)

    def with_success(self, job: int) -> "Failures":
        failing = self.failing.delete(job) if job in self.failing else self.failing
        return replace(self, failing=failing, well=self.well.set(job, True), ended=self.ended + 1)

    def with_trip(self, pattern: Fingerprint | None) -> "Failures":
        if pattern is None:
            return replace(self, tripped=True)
        return replace(self, patterns=self.patterns.set(pattern, replace(self.patterns[pattern], tripped=True)))

    def accepting(self) -> "Failures":
        """A person has seen what tripped the breaker: it trips again only if that grows."""
        seen = [pattern for pattern in self.patterns.values() if pattern.tripped]
        if not seen and not self.tripped:
            return self
        patterns = self.patterns
        for pattern in seen:
            patterns = patterns.set(pattern.fingerprint, replace(pattern, tripped=False, accepted=pattern.count))
        return replace(self, patterns=patterns, tripped=False, accepted=len(self.failing))

    @property
    def share(self) -> float:
        """The share of the jobs that were tried that fail."""
        tried = len(self.failing) + len(self.well)
        return len(self.failing) / tried if tried else 0.0

    @property
    def largest_first(self) -> tuple[Pattern, ...]:
        return tuple(sorted(self.patterns.values(), key=lambda each: (-each.count, each.since, each.fingerprint)))
