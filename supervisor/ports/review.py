"""Offering a batch's branch to people for review."""

from dataclasses import dataclass
from typing import Protocol

from supervisor.model.batch import Batch


@dataclass(frozen=True, slots=True)
class Offer:
    #: its URL; "": none was opened
    pull_request: str = ""
    #: why a configured pull request was not opened
    problems: tuple[str, ...] = ()


class PullRequests(Protocol):
    async def open(self, batch: Batch, head: str) -> Offer:
        """Open one for an integrated batch, whose ledger and branch are known; `head` is the last merged commit.

        Idempotent: a second call finds the existing one. It may be slow, and never raises: `problems` says what
        went wrong."""
        ...
