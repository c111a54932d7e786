"""Who paused the queue or a batch, and when: kept to explain why nothing is launched."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pausing:
    at: float
    by: str = ""
