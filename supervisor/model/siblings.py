"""Siblings: jobs of a batch whose tests fail at the base at the same place in code that they share."""

from dataclasses import dataclass, field, replace

from immutables import Map


@dataclass(frozen=True, slots=True)
class Fix:
    """The verified work of a job, as it is tried on the test of a sibling."""

    job: int
    #: its last commit
    head: str
    #: the pool in which it was made
    pool: str = ""
    #: why it does not help the sibling; "": that is not known yet, or it helps
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Family:
    #: where its tests fail, and why: `tests/conftest.py:12 in shop: ConnectionError: refused`
    place: str
    #: its jobs, held or not, in the order in which they became known
    jobs: tuple[int, ...] = ()
    #: the job whose agent the others wait for; 0: none
    first: int = 0
    #: how many of the jobs that the others waited for brought no fix
    failed: int = 0
    fix: Fix | None = None


@dataclass(frozen=True, slots=True)
class Siblings:
    families: Map[str, Family] = field(default_factory=Map)
    #: the family of each job that has one
    place_of: Map[int, str] = field(default_factory=Map)

    def of(self, job: int) -> Family | None:
        return self.families[self.place_of[job]] if job in self.place_of else None

    def with_family(self, family: Family) -> "Siblings":
        return replace(self, families=self.families.set(family.place, family))

    def joined(self, place: str, jobs: tuple[int, ...]) -> "Siblings":
        """Add these jobs to the family of that place. A job stays in the first family that it was seen in."""
        new = tuple(job for job in jobs if job not in self.place_of)
        family = self.families.get(place) or Family(place)
        more = replace(self, place_of=self.place_of.update(dict.fromkeys(new, place)))
        return more.with_family(replace(family, jobs=(*family.jobs, *new)))


NO_SIBLINGS = Siblings()
