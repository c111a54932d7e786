"""A pool: a provider with a number of slots, and the hosts it spreads its agents over."""

from dataclasses import dataclass, field, replace

from immutables import Map


@dataclass(frozen=True, slots=True)
class Pool:
    name: str
    provider: str
    slots: int
    #: existing hosts, such as those of an ssh pool; none: the local machine, or new hosts
    hosts: tuple[str, ...] = ()
    #: capacity of each new host; 0: this provider creates no hosts
    agents_per_host: int = 0

    #: the number of agents that hold a slot
    busy: int = 0
    #: the number of agents whose work is safe and that are not yet put away
    lingering: int = 0
    #: the number of agents on each host that are not yet put away
    members: Map[str, int] = field(default_factory=Map)
    #: hosts that could not be created
    broken: frozenset[str] = frozenset()
    #: existing hosts where a launch failed, and until when other hosts are preferred
    avoided: Map[str, float] = field(default_factory=Map)
    #: consecutive launches that failed because of the provider
    failures: int = 0
    #: nothing is launched here until its back-off is over
    resting: bool = False

    @property
    def has_room(self) -> bool:
        # Agents that are being put away still use memory: when too many linger, launches wait.
        return not self.resting and self.busy < self.slots and self.lingering <= self.slots

    def with_member(self, host: str, change: int) -> "Pool":
        left = self.members.get(host, 0) + change
        members = self.members.set(host, left) if left > 0 else self.members.delete(host)
        return replace(self, members=members, broken=self.broken if left > 0 else self.broken - {host})
