"""Who paused the queue or a batch, and when: kept for those who ask why nothing is launched."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pausing:
    at: float
    by: str = ""
