"""The report of a batch as values: what `supervisorctl report` shows as text, as a page and as JSON.

Times are RFC 3339, durations seconds. What agents wrote is bounded and printable, but still their word.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from supervisor.model.attempt import AttemptKey
from supervisor.model.evidence import Evidence
from supervisor.model.partial import SoFar
from supervisor.model.publication import Statement
from supervisor.observe.snapshot import SCHEMA_VERSION, View


class Standing(StrEnum):
    """What came of a job, or how it stands: each job has one of these, so they add up to the batch."""

    FIXED = "fixed"
    IMPROVED = "improved"
    #: its test passed only some of the times that it was run again
    FLAKY = "flaky"
    BLOCKED = "blocked"
    FAILED = "failed"
    PARKED = "parked"
    WORKING = "working"
    WAITING = "waiting"
    CLEAN = "clean"
    NEVER_STARTED = "never_started"
    CANCELLED = "cancelled"

    @property
    def words(self) -> str:
        return self.value.replace("_", " ")


@dataclass(frozen=True, slots=True)
class BatchFacts:
    id: str
    state: str
    repo: str
    base: str
    branch: str
    profile: str
    author: str
    created_at: str
    finished_at: str | None
    #: from its submission to its end, or until now
    seconds: float
    pull_request: str = ""
    #: why it started no more agents
    stopped: str = ""
    #: what the last partial integration came to
    so_far: SoFar | None = None
    #: the branch that it was submitted from
    submitted_from: str = ""
    #: what one job had: a function, case, file or class
    per: str = "function"


@dataclass(frozen=True, slots=True)
class Tokens:
    input: int = 0
    output: int = 0
    cached: int = 0
    #: of the input, output and cache together, for each test that is fixed or improved; None: there is none
    per_success: int | None = None


@dataclass(frozen=True, slots=True)
class Change:
    kind: str
    status: str
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Checked:
    """What clean runs by the machine showed."""

    verdict: str
    reason: str = ""
    runs: int = 0
    passed: int = 0
    failed_before: bool | None = None


@dataclass(frozen=True, slots=True)
class Run:
    name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Try:
    """One attempt."""

    number: int
    agent: str
    pool: str
    started_at: str
    ended_at: str | None = None
    how: str = ""


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds: before its agents started, at work, and all else: for a person, collection, verification."""

    queued: float = 0.0
    worked: float = 0.0
    waited: float = 0.0


@dataclass(frozen=True, slots=True)
class JobReport:
    id: str
    test: str
    standing: str
    #: of a failure
    cause: str
    detail: str
    #: the agent's words, as Markdown
    summary: str
    #: which attempt said so; 0: nothing is kept
    told_in: int
    changes: tuple[Change, ...]
    #: of the agent's own, under `ref`
    commits: int
    head: str
    ref: str
    #: "" until it is known
    ledger: str
    ledger_detail: str
    #: on the branch
    merged: tuple[str, ...]
    verification: Checked
    #: sentences about what no machine can decide, to be read first
    doubts: tuple[str, ...]
    evidence: Evidence | None
    runs: tuple[Run, ...]
    artifacts: tuple[str, ...]
    excerpt: tuple[str, ...]
    attempts: tuple[Try, ...]
    #: the last one's
    agent: str
    tokens: Tokens
    tool_calls: int
    model: str
    seconds: Spent


@dataclass(frozen=True, slots=True)
class Escalated:
    """The same thing, as often as agents said it."""

    kind: str
    title: str
    count: int
    jobs: tuple[str, ...]
    detail: str = ""
    locations: tuple[str, ...] = ()

    @property
    def is_blocker(self) -> bool:
        return self.kind == "BLOCKER"


@dataclass(frozen=True, slots=True)
class Failure:
    cause: str
    count: int
    jobs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Slow:
    job: str
    test: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Report:
    as_of: str
    batch: BatchFacts
    submitted: int
    #: by standing; they add up to `submitted`
    counts: Mapping[str, int]
    failures: tuple[Failure, ...]
    ledger: Mapping[str, int]
    tokens: Tokens
    #: how often providers said no, by the reason: limit, overload, login
    hindrances: Mapping[str, int]
    escalations: tuple[Escalated, ...]
    slowest: tuple[Slow, ...]
    #: what went wrong with the integration, and did not stop it
    problems: tuple[str, ...]
    #: commands that show the branch
    review: tuple[str, ...]
    #: sentences
    next: tuple[str, ...]
    jobs: tuple[JobReport, ...]
    #: the agent that was asked for judgement; it is none of the jobs
    integrator: JobReport | None = None
    #: about the branch: what it stands on, what it was proved by, what can't be taken back alone
    notes: tuple[str, ...] = ()
    #: fixed or improved, and not on the branch, by what became of it
    unmerged: Mapping[str, int] = field(default_factory=dict)
    schema_version: int = SCHEMA_VERSION

    @property
    def doubtful(self) -> tuple[JobReport, ...]:
        """Those that a reviewer looks at first: what is on the branch before what is not."""
        found = [job for job in self.jobs if job.doubts]
        return tuple(sorted(found, key=lambda job: not job.merged))

    def having(self, *standings: Standing) -> tuple[JobReport, ...]:
        return tuple(job for job in self.jobs if job.standing in standings)


def as_data(report: Report) -> View:
    data: dict[str, Any] = asdict(report)
    return data


# --- what it is made from, beside the batch


@dataclass(frozen=True, slots=True)
class Kept:
    """What the files of an attempt still tell."""

    attempt: int
    outcome: Statement | None = None
    artifacts: tuple[str, ...] = ()
    #: the last lines of its log
    excerpt: tuple[str, ...] = ()


class AttemptFiles(Protocol):
    """Reads what is kept of an attempt: bounded, without secrets. Blocking: for a thread."""

    def outcome(self, key: AttemptKey) -> Statement | None: ...

    def artifacts(self, key: AttemptKey) -> tuple[str, ...]: ...

    def excerpt(self, key: AttemptKey) -> tuple[str, ...]: ...


class NoFiles:
    """Nothing is kept."""

    def outcome(self, key: AttemptKey) -> Statement | None:
        return None

    def artifacts(self, key: AttemptKey) -> tuple[str, ...]:
        return ()

    def excerpt(self, key: AttemptKey) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class JobHistory:
    tries: tuple[Try, ...] = ()
    seconds: Spent = Spent()


@dataclass(frozen=True, slots=True)
class History:
    """What only the events tell."""

    jobs: Mapping[int, JobHistory] = field(default_factory=dict)
    hindrances: Mapping[str, int] = field(default_factory=dict)
    pull_request: str = ""
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
