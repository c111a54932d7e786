"""The ledger: what became of each job's work. It always adds up to the number of jobs."""

from dataclasses import dataclass
from enum import StrEnum


class Fate(StrEnum):
    MERGED = "merged"
    DUPLICATE = "duplicate"
    EMPTY = "empty"
    CONFLICT = "conflict"
    REJECTED = "rejected"
    RESCUED = "rescued"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class LedgerRow:
    fate: Fate
    #: why, for what was not merged
    detail: str = ""
    #: the commits that were brought home, and what they became
    commits: tuple[str, ...] = ()
