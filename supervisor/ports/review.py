"""Where work is offered to people for review."""

from dataclasses import dataclass
from typing import Protocol

from supervisor.model.batch import Batch


@dataclass(frozen=True, slots=True)
class Offer:
    #: "": none was made
    pull_request: str = ""
    #: why, where one was wanted
    problems: tuple[str, ...] = ()


class PullRequests(Protocol):
    async def open(self, batch: Batch, head: str) -> Offer:
        """One for a batch as it is integrated: its ledger and its branch are known, and `head` is what was merged.
        Asked again it finds the one that is there. It takes its time, and never fails: what went wrong is told."""
        ...
