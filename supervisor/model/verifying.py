"""What is being verified: claims that wait for a slot, and groups of claims that have one.

A group holds one slot, whatever its size. It has the name of its first claim.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from immutables import Map

from supervisor.model.attempt import AttemptKey

#: the most claims that are verified together at first
FIRST_SIZE = 32


@dataclass(frozen=True, slots=True)
class Group:
    #: claims without a verdict yet
    left: frozenset[AttemptKey]
    size: int
    #: the remote pool whose slot it holds; "": one of this machine
    pool: str = ""
    #: it was too large: a run of all its claims settled nothing
    is_red: bool = False


@dataclass(frozen=True, slots=True)
class Verifying:
    slots: int = 1
    #: claims that wait, each with the size of the largest group that it may be in
    waiting: Map[AttemptKey, int] = field(default_factory=Map)
    groups: Map[AttemptKey, Group] = field(default_factory=Map)
    #: the group of each claim that has one
    group_of: Map[AttemptKey, AttemptKey] = field(default_factory=Map)
    #: the jobs that a claim may not share a group with: their work affects its test, or its work affects theirs
    apart: Map[AttemptKey, frozenset[int]] = field(default_factory=Map)
    #: by batch: the size of its next group; it grows while groups are green and shrinks when one is red
    sizes: Map[str, int] = field(default_factory=Map)

    def with_waiting(self, key: AttemptKey, most: int) -> "Verifying":
        return replace(self, waiting=self.waiting.set(key, most))

    def with_apart(self, key: AttemptKey, jobs: Iterable[int]) -> "Verifying":
        known = self.apart.get(key, frozenset[int]())
        return replace(self, apart=self.apart.set(key, known.union(jobs)))

    def are_apart(self, one: AttemptKey, other: AttemptKey) -> bool:
        return other.job in self.apart.get(one, ()) or one.job in self.apart.get(other, ())

    def busy(self, pool: str = "") -> int:
        """The number of slots in use in the pool."""
        return sum(group.pool == pool for group in self.groups.values())

    def begun(self, key: AttemptKey, first: AttemptKey, pool: str = "") -> "Verifying":
        group = self.groups.get(first) or Group(frozenset(), 0, pool)
        group = replace(group, left=group.left | {key}, size=group.size + 1)
        waiting = self.waiting.delete(key) if key in self.waiting else self.waiting
        return replace(
            self, waiting=waiting, groups=self.groups.set(first, group), group_of=self.group_of.set(key, first)
        )

    def left(self, key: AttemptKey, *, is_red: bool = False) -> "Verifying":
        """Remove the claim from the waiting ones or from its group; the last one to leave frees the slot."""
        waiting = self.waiting.delete(key) if key in self.waiting else self.waiting
        if (first := self.group_of.get(key)) is None:
            return replace(self, waiting=waiting)
        group = self.groups[first]
        group = replace(group, left=group.left - {key}, is_red=group.is_red or is_red)
        more = replace(self, waiting=waiting, group_of=self.group_of.delete(key))
        if group.left:
            return replace(more, groups=self.groups.set(first, group))
        return replace(more, groups=self.groups.delete(first), sizes=_resized(self.sizes, key.batch, group))

    def from_the_start(self) -> "Verifying":
        return Verifying(slots=self.slots, sizes=self.sizes)

    def size(self, batch: str) -> int:
        return self.sizes.get(batch, FIRST_SIZE)

    def forget(self, batch: str) -> "Verifying":
        sizes = self.sizes.delete(batch) if batch in self.sizes else self.sizes
        return replace(
            self, sizes=sizes, apart=Map((key, jobs) for key, jobs in self.apart.items() if key[0] != batch)
        )


def _resized(sizes: Map[str, int], batch: str, group: Group) -> Map[str, int]:
    """A green group that was smaller than allowed says nothing about larger ones."""
    size = sizes.get(batch, FIRST_SIZE)
    if group.is_red:
        return sizes.set(batch, max(1, min(size, group.size) // 2))
    return sizes.set(batch, 2 * size) if group.size >= size else sizes
