"""What people ask the daemon to do. A request is answered after its events are durable on disk."""

from dataclasses import dataclass

from supervisor.model.account import UNLIMITED, AccountSpec, Budget
from supervisor.model.event import PoolSpec
from supervisor.model.profile import Profile
from supervisor.model.review import ReviewedBranch, Verdict


@dataclass(frozen=True, slots=True)
class Submit:
    batch: str
    repo: str
    base: str
    tests: tuple[str, ...]
    profile: Profile
    priority: int = 0
    author: str = ""
    role: str = "tester"
    tasks: tuple[str, ...] = ()
    #: the number of cases of each entry of `tests`; (): one each
    cases: tuple[int, ...] = ()
    retry_of: str = ""
    #: the branch that was checked out; "": none
    submitted_from: str = ""
    #: jobs that the selector would have skipped
    audited: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Cancel:
    """`job` 0: the whole batch."""

    batch: str
    job: int = 0
    author: str = ""


@dataclass(frozen=True, slots=True)
class Retry:
    """`job` 0: every job of the batch that did not end well."""

    batch: str
    job: int = 0
    author: str = ""


@dataclass(frozen=True, slots=True)
class IntegrateSoFar:
    """Integrate the jobs of the batch that are over, while the rest is at work."""

    batch: str
    author: str = ""


@dataclass(frozen=True, slots=True)
class ReviewCommits:
    """Accept or drop commits of the branch of a batch that is over, or take that back."""

    batch: str
    branch: ReviewedBranch
    commits: tuple[str, ...]
    verdict: Verdict
    author: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Pause:
    """`batch` "": the whole queue."""

    batch: str = ""
    author: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Resume:
    batch: str = ""
    author: str = ""


@dataclass(frozen=True, slots=True)
class SetSlots:
    pool: str
    slots: int
    author: str = ""


@dataclass(frozen=True, slots=True)
class Configure:
    """The pools of a new configuration. The daemon itself sends it at start and at a reload."""

    pools: tuple[PoolSpec, ...]
    verify_slots: int = 1


@dataclass(frozen=True, slots=True)
class ConfigureAccounts:
    """The accounts and the budget of a new configuration, likewise."""

    accounts: tuple[AccountSpec, ...]
    budget: Budget = UNLIMITED


type Request = (
    Submit
    | Cancel
    | Retry
    | IntegrateSoFar
    | ReviewCommits
    | Pause
    | Resume
    | SetSlots
    | Configure
    | ConfigureAccounts
)
