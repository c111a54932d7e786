"""A pool: a provider with a number of slots, and the hosts it spreads its agents over."""

from dataclasses import dataclass, field, replace

from immutables import Map


@dataclass(frozen=True, slots=True)
class Pool:
    name: str
    provider: str
    slots: int
    #: existing hosts to use, such as those of an ssh pool; none: the local machine, or new hosts
    hosts: tuple[str, ...] = ()
    #: for new hosts; 0: this provider makes none
    agents_per_host: int = 0

    #: agents that hold a slot
    busy: int = 0
    #: agents whose work is safe and that are still to be put away
    lingering: int = 0
    #: agents on each host, put away or not
    members: Map[str, int] = field(default_factory=Map)
    #: hosts that could not be made
    broken: frozenset[str] = frozenset()
    #: existing hosts that did not give an agent, and until when the others go first
    avoided: Map[str, float] = field(default_factory=Map)
    #: launches in a row that failed by the provider's fault
    failures: int = 0
    #: nothing is launched here until it has rested
    resting: bool = False

    @property
    def has_room(self) -> bool:
        # Agents that are being put away still take memory: when they pile up, launching waits for them.
        return not self.resting and self.busy < self.slots and self.lingering <= self.slots

    def with_member(self, host: str, change: int) -> "Pool":
        left = self.members.get(host, 0) + change
        members = self.members.set(host, left) if left > 0 else self.members.delete(host)
        return replace(self, members=members, broken=self.broken if left > 0 else self.broken - {host})
