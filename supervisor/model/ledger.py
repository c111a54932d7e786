"""The ledger: the fate of each job's work. Its numbers always add up to the number of jobs."""

from dataclasses import dataclass
from enum import StrEnum

#: the start of a note on a branch: a fix that can't be reverted alone
HELD_BACK = "it can't be reverted alone:"
#: the start of a note on a branch: its base is no longer the latest commit
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
    #: why the work was not merged
    detail: str = ""
    #: the collected commits, and the commits that they became
    commits: tuple[str, ...] = ()
    #: sentences for the reviewer about what the merge changed; none if the work is merged as verified
    doubts: tuple[str, ...] = ()
