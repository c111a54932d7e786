"""Events of a batch's integrations, partial and final."""

from collections.abc import Mapping
from dataclasses import dataclass

from supervisor.model.event.subjects import BatchEvent
from supervisor.model.ledger import LedgerRow


@dataclass(frozen=True, slots=True)
class IntegrationStarted(BatchEvent):
    """All jobs are over, and the integration of their verified work began."""

    number: int


@dataclass(frozen=True, slots=True)
class IntegrationResumed(BatchEvent):
    """The same integration continues after a restart or a failure."""

    number: int


@dataclass(frozen=True, slots=True)
class JudgementWanted(BatchEvent):
    """The merge needs judgement: an agent continues it as job 0, and the daemon then checks the result."""

    number: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class IntegrationFailed(BatchEvent):
    """An integration failed and will be retried."""

    number: int
    detail: str
    retry_at: float


@dataclass(frozen=True, slots=True)
class IntegrationEnded(BatchEvent):
    """The integration is complete: there is a branch, or nothing to merge; every job has a row in the ledger."""

    number: int
    #: a row for every job, by its number
    ledger: Mapping[int, LedgerRow]
    branch: str = ""
    #: its URL; "": none was opened
    pull_request: str = ""
    #: what went wrong and did not stop it
    problems: tuple[str, ...] = ()
    #: the last merged commit
    head: str = ""
    #: what a reader of the branch should know
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PartialWanted(BatchEvent):
    """A partial integration was requested: of the jobs that are over, while the rest is at work."""

    author: str = ""
    #: requested by its profile, not by a person
    automatic: bool = False


@dataclass(frozen=True, slots=True)
class PartialEvent(BatchEvent):
    #: partial and final integrations share one sequence of numbers
    number: int


@dataclass(frozen=True, slots=True)
class PartialStarted(PartialEvent):
    """A partial integration began."""

    #: the jobs that were over at its start; jobs that end later are not added
    jobs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PartialResumed(PartialEvent):
    """The same partial integration continues after a restart or a failure."""


@dataclass(frozen=True, slots=True)
class PartialFailed(PartialEvent):
    """A partial integration failed and will be retried."""

    detail: str
    retry_at: float


@dataclass(frozen=True, slots=True)
class PartialEnded(PartialEvent):
    """A partial integration is complete."""

    branch: str = ""
    #: its URL; "": none was opened
    pull_request: str = ""
    #: what went wrong and did not stop it
    problems: tuple[str, ...] = ()
    #: the last merged commit
    head: str = ""
    #: the number of jobs with work on the branch, and of those left for the final integration
    merged: int = 0
    left: int = 0
    #: what a reader of the branch should know
    notes: tuple[str, ...] = ()
