"""A batch: one run over one repository at one base commit."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum

from immutables import Map

from supervisor.model.job import AT_WORK, INTEGRATOR, Job, JobState
from supervisor.model.ledger import LedgerRow
from supervisor.model.node import file_of
from supervisor.model.partial import Partial, SoFar
from supervisor.model.pattern import Failures, Pattern
from supervisor.model.pausing import Pausing
from supervisor.model.profile import Profile
from supervisor.model.siblings import NO_SIBLINGS, Siblings
from supervisor.model.survey import NO_SURVEY, Survey
from supervisor.model.usage import NOTHING, Usage


class BatchState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    INTEGRATING = "integrating"
    FINISHED = "finished"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Origin:
    """Who submitted it, and from what."""

    author: str = ""
    #: the branch that was checked out; "": none
    branch: str = ""
    #: the batch whose jobs this one works on again
    retry_of: str = ""
    #: jobs that the selector would have skipped, run to find out whether it was right
    audited: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Stop:
    """Why a batch launches no more agents."""

    #: "budget", for good; "login", "credit", "survey" or "breaker", until a person resumes it; "": it launches them
    reason: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Integrations:
    """How the work of a batch is merged, partial integrations included."""

    #: the number of integrations so far
    count: int = 0
    #: why the last try failed; it will be retried
    trouble: str = ""
    #: the partial integration in progress, and the result of the last one
    partial: Partial | None = None
    so_far: SoFar | None = None
    #: jobs whose work a partial integration has already merged
    carried: frozenset[int] = frozenset()
    #: at least one job has ended with work
    has_work: bool = False
    #: the automatic partial integration has been requested
    is_asked: bool = False

    @property
    def is_partial_at_work(self) -> bool:
        return self.partial is not None and not self.partial.trouble

    def with_partial(self, partial: Partial | None) -> "Integrations":
        return replace(self, partial=partial)


@dataclass(frozen=True, slots=True)
class Result:
    """The result of the last integration."""

    branch: str = ""
    #: the branch's last commit
    head: str = ""
    #: what went wrong and did not stop it
    problems: tuple[str, ...] = ()
    #: what a reader of the branch should know
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch and its jobs.

    An untouched job (one without any event) has no record of its own: it is an entry of `tests` that the cursor has
    not reached. So the memory and time of a batch of 10,000 jobs grow with the jobs that have begun.
    """

    id: str
    #: order of submission
    number: int
    repo: str
    base: str
    tests: tuple[str, ...]
    profile: Profile
    created_at: float
    origin: Origin = Origin()
    priority: int = 0
    #: what its agents do: "tester" or "writer"; for a writer, `tests` holds the names of the things to write
    role: str = "tester"
    #: for writers, the task of each job, as JSON
    tasks: tuple[str, ...] = ()
    #: the number of cases of each entry of `tests`; (): one each
    cases: tuple[int, ...] = ()
    state: BatchState = BatchState.QUEUED
    paused: bool = False
    pausing: Pausing | None = None
    cancelled_by: str = ""
    stop: Stop = Stop()
    window_open: bool = True
    #: for how long its accounts were paused, by reason: before it was submitted, and from then until it finished
    paused_before: Map[str, float] = field(default_factory=Map)
    held_up: Map[str, float] = field(default_factory=Map)
    #: the time of its first launch
    started_at: float | None = None
    finished_at: float | None = None

    #: jobs with at least one event, by number
    touched: Map[int, Job] = field(default_factory=Map)
    #: the number of touched jobs in each state
    counts: Map[JobState, int] = field(default_factory=Map)
    #: jobs up to this number are touched; later ones wait in order
    cursor: int = 0
    #: requeued jobs that are ready now, in order
    again: tuple[int, ...] = ()
    #: the number of agents that hold a slot, and of all agents not yet put away
    busy: int = 0
    agents: int = 0
    integrations: Integrations = Integrations()
    result: Result = Result()
    #: the job whose agent merges the others' work into one branch; None: not needed, or not yet
    integrator: Job | None = None
    #: what its failed attempts have in common
    failures: Failures = field(default_factory=Failures)
    #: the number of times that published work was collected
    through: int = 0
    survey: Survey = NO_SURVEY
    siblings: Siblings = NO_SIBLINGS
    #: of all its jobs; money in micro-dollars
    usage: Usage = NOTHING
    money: int = 0
    #: the number of attempts that ended without a refusal by their provider, and what they used
    ended: int = 0
    ended_usage: Usage = NOTHING
    ledger: Map[int, LedgerRow] = field(default_factory=Map)

    def has_job(self, number: int) -> bool:
        return 1 <= number <= len(self.tests) or (number == INTEGRATOR and self.integrator is not None)

    def job(self, number: int) -> Job:
        if number == INTEGRATOR and self.integrator is not None:
            return self.integrator
        if (job := self.touched.get(number)) is not None:
            return job
        return Job(number=number, test=self.tests[number - 1], state=self.untouched)

    def jobs(self) -> Iterator[Job]:
        return (self.job(number) for number in range(1, len(self.tests) + 1))

    def begun(self) -> Iterator[Job]:
        """The touched jobs, and the integrator's."""
        yield from self.touched.values()
        if self.integrator is not None:
            yield self.integrator

    def job_id(self, number: int) -> str:
        return f"{self.id}.{number}"

    def cases_of(self, number: int) -> int:
        """The number of cases of a job's test."""
        return self.cases[number - 1] if self.cases and number != INTEGRATOR else 1

    def cases_in(self, tests: Iterable[str]) -> int:
        """The total number of cases of these tests; a test that belongs to no job counts as one."""
        known = dict(zip(self.tests, self.cases, strict=False))
        return sum(known.get(test, 1) for test in tests)

    def seconds_of(self, number: int) -> float:
        """The time limit of a job's agent: each case beyond the first adds the time limit of one test run."""
        more = (self.cases_of(number) - 1) * self.profile.test_timeout_seconds
        return self.profile.job_timeout_seconds + more

    def with_job(self, job: Job) -> "Batch":
        """The batch with this job's new record and updated counts. The integrator's job is not counted."""
        if job.number == INTEGRATOR:
            return replace(self, integrator=job)
        before = self.touched.get(job.number)
        counts = self.counts
        if before is not None:
            counts = counts.set(before.state, counts[before.state] - 1)
        counts = counts.set(job.state, counts.get(job.state, 0) + 1)
        return replace(self, touched=self.touched.set(job.number, job), counts=counts)

    def merging(self, integrations: Integrations) -> "Batch":
        return replace(self, integrations=integrations)

    def count(self, state: JobState) -> int:
        counted = self.counts.get(state, 0)
        return counted + (len(self.tests) - len(self.touched) if state is self.untouched else 0)

    @property
    def at_work(self) -> int:
        """The number of agents at work, including the integrator's."""
        integrates = self.integrator is not None and self.integrator.state in AT_WORK
        return sum(self.count(state) for state in AT_WORK) + integrates

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """The patterns of its failed attempts, the one with the most jobs first."""
        return self.failures.largest_first

    @property
    def is_spent(self) -> bool:
        """Its budget is spent: unstarted jobs will not start."""
        return self.stop.reason == "budget"

    @property
    def untouched(self) -> JobState:
        """The state of a job without any event."""
        return JobState.CANCELLED if self.is_spent or self.state is BatchState.CANCELLED else JobState.QUEUED

    @property
    def is_drained(self) -> bool:
        """Every job is over, including the integrator's: none waits, runs or will be requeued."""
        over = self.count(JobState.DONE) + self.count(JobState.CANCELLED)
        return over == len(self.tests) and (self.integrator is None or self.integrator.state.is_over)

    @property
    def next_queued(self) -> int | None:
        """The job to launch next. Requeued jobs come first: they are the batch's stragglers."""
        if self.stop.reason or self.state is BatchState.CANCELLED:
            return None
        if self.again:
            return self.again[0]
        return self.cursor + 1 if self.cursor < len(self.tests) else None

    @property
    def next_waiting(self) -> int | None:
        """The job to launch next, if it may be launched now."""
        number = self.next_queued
        return None if number is None or self.awaits_survey(number) else number

    def awaits_survey(self, number: int) -> bool:
        """Whether the job's file must be run at the base before its siblings are known."""
        if not self.profile.hold_siblings or number in self.touched or number == INTEGRATOR:
            return False
        return self.survey.awaits(file_of(self.tests[number - 1]))
