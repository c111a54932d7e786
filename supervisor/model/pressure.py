"""What is left of this machine, as last measured."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pressure:
    """The shares are of the last ten seconds in which tasks waited for a resource (pressure stall information)."""

    memory_free_mb: int
    memory_total_mb: int
    disk_free_mb: int
    #: descriptors that can still be opened
    files_free: int
    memory_share: float = 0.0
    io_share: float = 0.0
