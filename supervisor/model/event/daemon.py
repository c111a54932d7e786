"""Events of the daemon, its queue and its pools."""

from dataclasses import dataclass

from supervisor.model.event.subjects import Event
from supervisor.model.pressure import Pressure


@dataclass(frozen=True, slots=True)
class DaemonStarted(Event):
    """A daemon started and continues from the state that it read."""

    version: str = ""


@dataclass(frozen=True, slots=True)
class PoolSpec:
    """A pool as configured."""

    name: str
    provider: str
    slots: int
    hosts: tuple[str, ...] = ()
    agents_per_host: int = 0
    #: creations per second, the same for all pools of a provider; 0: no limit
    launch_rate: float = 0.0
    #: how long a new host lives; 0: as long as it is wanted, or not known
    host_seconds: float = 0.0
    #: mngr's arguments for a new host
    build_args: tuple[str, ...] = ()
    #: as many slots as this machine has room for, `slots` at most
    auto: bool = False
    #: the number of verifications at a time in a remote pool; 0: by its slots
    verify_slots: int = 0


@dataclass(frozen=True, slots=True)
class PoolsConfigured(Event):
    """The pools were configured, at a start or a reload."""

    pools: tuple[PoolSpec, ...] = ()
    verify_slots: int = 1


@dataclass(frozen=True, slots=True)
class SlotsChanged(Event):
    """A person changed the number of slots of a pool."""

    pool: str
    slots: int
    author: str = ""


@dataclass(frozen=True, slots=True)
class PressureSeen(Event):
    """The free resources of this machine have changed: pools with `slots = "auto"` follow them."""

    pressure: Pressure


@dataclass(frozen=True, slots=True)
class PoolRested(Event):
    """A pool is used again after its provider failed."""

    pool: str


@dataclass(frozen=True, slots=True)
class LaunchRateChanged(Event):
    """The rate at which a provider is asked for new hosts or agents has changed: it refused some, or created some."""

    provider: str
    #: creations per second; 0: as configured
    rate: float
    refused: bool = False


@dataclass(frozen=True, slots=True)
class QueuePaused(Event):
    """A person paused the queue: no batch launches agents until it is resumed."""

    author: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class QueueResumed(Event):
    """A person resumed the queue: agents are launched again."""

    author: str = ""


@dataclass(frozen=True, slots=True)
class OrphanDestroyed(Event):
    """An agent of this installation without an attempt was found, its work rescued, and the agent destroyed."""

    agent_id: str
    agent_name: str = ""


@dataclass(frozen=True, slots=True)
class OlderStateAccepted(Event):
    """A person continues with a state older than what was acknowledged: a restored backup or a salvaged journal.

    Until a person resumes the queue, nothing is launched, and no agent unknown to this state is put away."""

    #: the sequence numbers of the last event found and of the last one acknowledged; 0: unknown
    last: int
    acknowledged: int = 0
    salvaged: bool = False


@dataclass(frozen=True, slots=True)
class ClearingStarted(Event):
    """What finished batches left is checked, and deleted if its retention time is over."""


@dataclass(frozen=True, slots=True)
class ClearingEnded(Event):
    """What finished batches left was deleted, as far as its retention time is over."""

    #: the batches whose logs and publications were deleted
    forgotten: tuple[str, ...] = ()
    #: deleted refs whose commits were never merged
    lost: tuple[str, ...] = ()
    #: kept agents that were destroyed
    agents: tuple[str, ...] = ()
    #: what could not be deleted, and why
    problems: tuple[str, ...] = ()
    #: when to check again; 0: when the next batch is sealed
    again_at: float = 0
