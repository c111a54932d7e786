"""What becomes of agents' work: ordered, collected, judged, integrated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from supervisor.model.attempt import Attempt, AttemptKey
from supervisor.model.batch import Batch
from supervisor.model.job import Job
from supervisor.model.ledger import LedgerRow
from supervisor.model.verdict import Verdict
from supervisor.ports.agents import AgentOrder


@dataclass(frozen=True, slots=True)
class Collection:
    """What was brought home of one attempt, safe under a ref of its own."""

    head: str = ""
    commits: int = 0
    #: what a publication says of the work, as an outcome
    claim: str = ""
    detail: str = ""
    #: of a rescue, what could not be taken: then its agent must be kept; "" where all was, or there was nothing
    unsaved: str = ""
    #: and where its clone is, on this machine
    clone: str = ""


class Collector(Protocol):
    """Brings home what agents leave. It is hostile until it has been checked."""

    async def published(self, attempts: Sequence[Attempt]) -> set[AttemptKey]:
        """Which of these, all of one host, have published: one look. DeviceFailed: it can't be had now."""
        ...

    async def collect(self, batch: Batch, attempt: Attempt) -> Collection:
        """Raises Hostile when it can't be accepted, DeviceFailed when it could not be fetched now."""
        ...

    async def rescue(self, batch: Batch, attempt: Attempt) -> Collection:
        """Whatever is there, published or not, also nothing. DeviceFailed: it can't be looked at now.
        What it could not take is named in `unsaved`, and then the agent must not be destroyed."""
        ...


class Judge(Protocol):
    async def verify(self, batch: Batch, job: Job) -> Verdict: ...


@dataclass(frozen=True, slots=True)
class Integration:
    ledger: Mapping[int, LedgerRow]
    #: in the person's repository; "": nothing was merged, or it could not be made there
    branch: str = ""
    #: where it is offered for review
    pull_request: str = ""
    #: the last commit of what was merged
    head: str = ""
    #: what went wrong and did not stop it
    problems: tuple[str, ...] = ()
    #: what a reader of the branch should know
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """An agent's is wanted: what it is to do is prepared."""

    why: str


class Integrator(Protocol):
    async def integrate(self, batch: Batch, number: int) -> Integration | Judgement:
        """Resumable: asked again after a crash it comes to the same end. Judgement is wanted at most once."""
        ...


class Orders(Protocol):
    """Turns an attempt into all that mngr needs to know to launch it."""

    def order(self, batch: Batch, attempt: Attempt) -> AgentOrder: ...
