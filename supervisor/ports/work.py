"""The stages of agents' work: order, collect, verify, integrate."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from supervisor.model.attempt import Attempt, AttemptKey
from supervisor.model.batch import Batch
from supervisor.model.job import Job
from supervisor.model.ledger import LedgerRow
from supervisor.model.state import State
from supervisor.model.survey import Surveyed
from supervisor.model.verdict import Verdict
from supervisor.ports.agents import AgentOrder


@dataclass(frozen=True, slots=True)
class Collection:
    """What was collected of one attempt; its commits are under a ref of its own."""

    head: str = ""
    commits: int = 0
    #: the publication's claim about the work, as an outcome
    claim: str = ""
    detail: str = ""
    #: for a rescue: what could not be rescued, so that the agent must be kept; "": nothing
    unsaved: str = ""
    #: the path of its clone, if that is on this machine
    clone: str = ""


type Sign = Literal["published", "asks", "waits", "gone"]


@dataclass(frozen=True, slots=True)
class Picture:
    """The last known signs of the agents of a host, by their ids; `sum` tells the host what is known."""

    sum: str = ""
    signs: Mapping[str, frozenset[Sign]] = field(default_factory=dict)


class Collector(Protocol):
    """Collects the work of agents, which is hostile until it has been checked."""

    async def published(self, attempts: Sequence[Attempt]) -> set[AttemptKey]:
        """Which of these attempts, all on one host, have published. Raises DeviceFailed if that is unknown."""
        ...

    async def news(self, attempts: Sequence[Attempt], last: Picture) -> Picture:
        """Wait until the host of these attempts shows another picture than `last`, but for minutes at most.

        The change may be one of other agents, and is only a suspicion. Raises DeviceFailed if the host can't tell."""
        ...

    async def collect(self, batch: Batch, attempt: Attempt) -> Collection:
        """Raises Hostile if the work can't be accepted, DeviceFailed if it could not be fetched now."""
        ...

    async def rescue(self, batch: Batch, attempt: Attempt) -> Collection:
        """Collect whatever is there, published or not. Raises DeviceFailed if the agent can't be reached now.

        If `unsaved` names work that could not be rescued, the agent must not be destroyed."""
        ...

    async def lay_out(self, batch: Batch, attempt: Attempt) -> None:
        """Lay out the rescued work of the attempt that this one continues, for its order.

        Raises Hostile if the work is not fit for an agent, and DeviceFailed."""
        ...


@dataclass(frozen=True, slots=True)
class PutBack:
    """A claim that common runs could not settle."""

    why: str
    #: the size of the largest group that it may be in
    most: int = 1
    #: the jobs that may not be in its group
    meets: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Sitting:
    """What a judge of a group tells while it is at work, and what it may ask."""

    #: called with the number of a job, and its result: it is final, and told before the others are settled
    tell: Callable[[int, Verdict | PutBack], None] = lambda job, said: None
    #: how many of its runs may be under way now
    width: Callable[[], int] = lambda: 1


QUIET = Sitting()


class Judge(Protocol):
    """`pool`: the remote pool that verifies; "": this machine."""

    async def verify(self, batch: Batch, job: Job, pool: str = "") -> Verdict:
        """Settle one claim by runs of its own. Raises DeviceFailed."""
        ...

    async def verify_together(
        self, batch: Batch, jobs: Sequence[Job], pool: str = "", sitting: Sitting = QUIET
    ) -> Mapping[int, Verdict | PutBack]:
        """Settle what common runs can settle; no verdict is weaker than one of separate runs. Raises DeviceFailed."""
        ...

    async def survey(self, batch: Batch, files: Sequence[str]) -> Surveyed:
        """Run these files at the base, except those that were already run for a claim. Raises DeviceFailed."""
        ...


class Verifiers(Protocol):
    """Agents of ours that verify in remote pools."""

    #: the state of the daemon that they verify for
    state: Callable[[], State]
    #: ids of the verifiers that are needed
    live: set[str]
    #: pools in which claims wait for a verifier, and why
    problems: dict[str, str]

    async def tend(self) -> None:
        """Put away verifiers that nobody needs, for as long as the daemon runs."""
        ...


@dataclass(frozen=True, slots=True)
class Integration:
    ledger: Mapping[int, LedgerRow]
    #: in the person's repository; "": nothing was merged, or it could not be created there
    branch: str = ""
    #: its URL; "": none
    pull_request: str = ""
    #: the last merged commit
    head: str = ""
    #: problems that did not stop the integration
    problems: tuple[str, ...] = ()
    #: what a reader of the branch should know
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """The merge needs an agent's judgement; its task is prepared."""

    why: str


class Integrator(Protocol):
    async def integrate(self, batch: Batch, number: int) -> Integration | Judgement:
        """Resumable: after a crash, a second call gives the same result. It asks for judgement at most once."""
        ...


class Orders(Protocol):
    """Turns an attempt into the order by which mngr launches its agent."""

    def order(self, batch: Batch, attempt: Attempt) -> AgentOrder: ...
