"""A pool: a provider with a number of slots, and the hosts it spreads its agents over."""

import math
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
    #: how long a new host lives; 0: as long as it is wanted, or not known
    host_seconds: float = 0.0
    #: mngr's arguments for a new host
    build_args: tuple[str, ...] = ()
    #: `slots` follows the pressure of this machine, up to `most`
    auto: bool = False
    most: int = 0
    #: the number of verifications at a time, if it is remote; 0: derived from its slots
    verify_slots: int = 0

    #: the number of agents that hold a slot
    busy: int = 0
    #: the number of agents whose work is safe and that are not yet put away
    lingering: int = 0
    #: the number of agents on each host that are not yet put away
    members: Map[str, int] = field(default_factory=Map)
    #: when the creation of each new host began
    born: Map[str, float] = field(default_factory=Map)
    #: hosts that could not be created
    broken: frozenset[str] = frozenset()
    #: existing hosts where a launch failed, and until when other hosts are preferred
    avoided: Map[str, float] = field(default_factory=Map)
    #: consecutive launches that failed because of the provider
    failures: int = 0
    #: nothing is launched here until its back-off is over
    resting: bool = False
    #: why the last of them failed
    trouble: str = ""

    @property
    def has_room(self) -> bool:
        # Agents that are being put away still use memory: when too many linger, launches wait.
        return not self.resting and self.busy < self.slots and self.lingering <= self.slots

    @property
    def verifies_at_once(self) -> int:
        """In a remote pool: one for every four agents, and for each host."""
        return self.verify_slots or max(1, len(self.hosts), self.slots // 4)

    def lives_until(self, host: str) -> float:
        return self.born[host] + self.host_seconds if self.host_seconds and host in self.born else math.inf

    def with_member(self, host: str, change: int) -> "Pool":
        left = self.members.get(host, 0) + change
        if left > 0:
            return replace(self, members=self.members.set(host, left))
        born = self.born.delete(host) if host in self.born else self.born
        return replace(self, members=self.members.delete(host), broken=self.broken - {host}, born=born)
