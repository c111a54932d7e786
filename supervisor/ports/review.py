"""Offering a batch's branch to people for review, and revising it by their decisions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from supervisor.model.batch import Batch
from supervisor.model.review import Review


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


@dataclass(frozen=True, slots=True)
class Revised:
    """What became of each reversal, and of the text of the pull request: the fields of `RevisionEnded`."""

    reverted: Mapping[str, str] = field(default_factory=dict)
    restored: Mapping[str, str] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    #: all commits that the branch of the pull request no longer has
    out_there: tuple[str, ...] = ()
    #: why the text of the pull request does not say that yet, if a retry may work, and how long to wait before it
    unsaid: str = ""
    wait_seconds: float = 0.0


class Reviser(Protocol):
    async def revise(self, review: Review) -> Revised:
        """Make the reversals that are due as new commits on top of the branch, wherever it is by now, and update the
        text of its pull request.

        Idempotent: a reversal that the branch already has needs no commit. Raises DeviceFailed if a retry may work;
        `problems` and `notes` say what can't be done."""
        ...
