"""The report of a batch as values, which `supervisorctl report` shows as text, as a page and as JSON.

Times are RFC 3339, durations are seconds. Texts by agents are bounded and printable, but not verified.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from supervisor.model.attempt import AttemptKey
from supervisor.model.evidence import Evidence
from supervisor.model.partial import SoFar
from supervisor.model.publication import Statement
from supervisor.observe.commit_review import CommitReview
from supervisor.observe.snapshot import SCHEMA_VERSION, View


class Standing(StrEnum):
    """The result or the current state of a job. Each job has exactly one, so the counts add up to the batch."""

    FIXED = "fixed"
    #: by the work of another job, which failed at the same place
    FIXED_BY_SIBLING = "fixed_by_sibling"
    IMPROVED = "improved"
    #: its test passed only some of the verification runs
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
    #: from submission to the end, or until now
    seconds: float
    pull_request: str = ""
    #: why it launches no more agents
    stopped: str = ""
    #: the result of the last partial integration
    so_far: SoFar | None = None
    #: the branch that was checked out at submission
    submitted_from: str = ""
    #: the unit of one job: a function, case, file or class
    per: str = "function"


@dataclass(frozen=True, slots=True)
class Tokens:
    input: int = 0
    output: int = 0
    cached: int = 0
    #: input, output and cached tokens together, for each test fixed or improved; None: no such test
    per_success: int | None = None


@dataclass(frozen=True, slots=True)
class Change:
    kind: str
    status: str
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Checked:
    """The verification: what clean runs by the daemon showed."""

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
    """Seconds: before agents started, at work, and the rest (waiting for a person, collection, verification)."""

    queued: float = 0.0
    worked: float = 0.0
    waited: float = 0.0


@dataclass(frozen=True, slots=True)
class JobReport:
    id: str
    test: str
    standing: str
    #: why it failed; "": it did not
    cause: str
    detail: str
    #: by the agent, as Markdown
    summary: str
    #: the attempt that wrote the summary; 0: nothing is kept
    told_in: int
    changes: tuple[Change, ...]
    #: the number of the agent's own commits, which are under `ref`
    commits: int
    head: str
    ref: str
    #: its fate; "": not known yet
    ledger: str
    ledger_detail: str
    #: its commits on the branch
    merged: tuple[str, ...]
    verification: Checked
    #: sentences about what a machine can't decide; a reviewer reads them first
    doubts: tuple[str, ...]
    evidence: Evidence | None
    runs: tuple[Run, ...]
    artifacts: tuple[str, ...]
    excerpt: tuple[str, ...]
    attempts: tuple[Try, ...]
    #: of the last attempt
    agent: str
    tokens: Tokens
    tool_calls: int
    model: str
    seconds: Spent
    #: who dropped all that it has on the branch; "": nobody
    dropped_by: str = ""


@dataclass(frozen=True, slots=True)
class Escalated:
    """Escalations with the same title, counted."""

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
    #: how often model providers refused to serve agents, by reason: limit, overload, login, credit
    hindrances: Mapping[str, int]
    escalations: tuple[Escalated, ...]
    slowest: tuple[Slow, ...]
    #: problems that did not stop the integration
    problems: tuple[str, ...]
    #: commands that show the branch
    review: tuple[str, ...]
    #: what to do next, in sentences
    next: tuple[str, ...]
    jobs: tuple[JobReport, ...]
    #: the integrator's job, which is not among `jobs`
    integrator: JobReport | None = None
    #: about the branch: its base, the tests that prove it, fixes that can't be reverted alone
    notes: tuple[str, ...] = ()
    #: the results of the batch's test files at its base; None: it has no survey
    survey: Mapping[str, Any] | None = None
    #: jobs that are fixed or improved but not on the branch, by fate
    unmerged: Mapping[str, int] = field(default_factory=dict)
    #: how often `select = "changed"` was wrong about this batch's tests, in words; "": nothing is known
    selector: str = ""
    #: the commits of the branch, those with doubts first, with what people said of each
    commits: tuple[CommitReview, ...] = ()
    schema_version: int = SCHEMA_VERSION

    @property
    def doubtful(self) -> tuple[JobReport, ...]:
        """The jobs with doubts, which a reviewer reads first; those on the branch come first."""
        found = [job for job in self.jobs if job.doubts]
        return tuple(sorted(found, key=lambda job: not job.merged))

    def having(self, *standings: Standing) -> tuple[JobReport, ...]:
        return tuple(job for job in self.jobs if job.standing in standings)


def as_data(report: Report) -> View:
    data: dict[str, Any] = asdict(report)
    return data


# --- the other inputs of a report


@dataclass(frozen=True, slots=True)
class Kept:
    """What the files of an attempt contain, if they are still kept."""

    attempt: int
    outcome: Statement | None = None
    artifacts: tuple[str, ...] = ()
    #: the last lines of its log
    excerpt: tuple[str, ...] = ()


class AttemptFiles(Protocol):
    """Reads the kept files of an attempt: bounded, with secrets masked. It blocks, so call it in a thread."""

    def outcome(self, key: AttemptKey) -> Statement | None: ...

    def artifacts(self, key: AttemptKey) -> tuple[str, ...]: ...

    def excerpt(self, key: AttemptKey) -> tuple[str, ...]: ...


class NoFiles:
    """For a batch without kept files."""

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
    """What is known only from the events."""

    jobs: Mapping[int, JobHistory] = field(default_factory=dict)
    hindrances: Mapping[str, int] = field(default_factory=dict)
    pull_request: str = ""
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
