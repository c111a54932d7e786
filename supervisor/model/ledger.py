"""The ledger: what became of each job's work. It always adds up to the number of jobs."""

from dataclasses import dataclass
from enum import StrEnum

#: a note on a branch begins so where a fix of it can't be taken back alone
HELD_BACK = "it can't be reverted alone:"
#: and so where what it stands on is not the last any more
MOVED = "since it was submitted,"


class Fate(StrEnum):
    MERGED = "merged"
    DUPLICATE = "duplicate"
    EMPTY = "empty"
    CONFLICT = "conflict"
    REJECTED = "rejected"
    RESCUED = "rescued"
    CANCELLED = "cancelled"


#: its content is on the branch
ON_BRANCH = (Fate.MERGED, Fate.DUPLICATE)


@dataclass(frozen=True, slots=True)
class LedgerRow:
    fate: Fate
    #: why, for what was not merged
    detail: str = ""
    #: the commits that were brought home, and what they became
    commits: tuple[str, ...] = ()
    #: sentences for the reviewer about what merging has made of it; none where it is there as it was verified
    doubts: tuple[str, ...] = ()
