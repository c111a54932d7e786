"""A batch: one run over one repository at one base commit."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal

from immutables import Map

from supervisor.model.job import AT_WORK, INTEGRATOR, Job, JobState
from supervisor.model.ledger import LedgerRow
from supervisor.model.partial import Partial, SoFar
from supervisor.model.usage import NOTHING, Usage

#: What no agent may edit unless its profile says so: what decides how tests are run and who sees to it, and what is
#: installed. A pattern without a slash is a name at any depth.
DENIED = (
    ".git*",
    ".github/**",
    ".gitlab-ci*",
    ".circleci/**",
    ".buildkite/**",
    "Jenkinsfile",
    "azure-pipelines*",
    "*.review.json",
    "conftest.py",
    "pytest.ini",
    ".pytest.ini",
    "sitecustomize.py",
    "usercustomize.py",
    "pytest.py",
    "pytest/**",
    "_pytest/**",
    "*.lock",
    "*.lockb",
    "package-lock.json",
    "pnpm-lock.yaml",
    "requirements*.txt",
    "go.sum",
)


#: Agent types that nobody talks to: programs at work, which would take for input what is typed into their terminal.
#: `rehearsal` is not one of them: it plays an agent that ends its turn and reads what it is told.
PROGRAMS = frozenset({"command"})

type Role = Literal["tester", "integrator", "writer"]


class BatchState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    INTEGRATING = "integrating"
    FINISHED = "finished"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Profile:
    """How the agents of a batch work, as resolved when it was submitted: later edits change nothing here."""

    name: str = "default"
    agent: str = "claude"
    agent_args: tuple[str, ...] = ()
    #: argv of the program that obeys the agent contract, for agent = "command"
    command: tuple[str, ...] = ()
    #: in order of preference; the next one takes the overflow
    pools: tuple[str, ...] = ("local",)
    #: at most so many agents of one batch at once; 0: as many as the pools carry
    slots: int = 0
    transfer: str = "git-mirror"
    keep_agents: str = "failed"
    setup: str = ""
    pytest: tuple[str, ...] = ("python", "-m", "pytest")
    #: arguments after `--` of submit, for every run of a test
    pytest_args: tuple[str, ...] = ()
    #: what one job has of what pytest collects: function, case, file or class
    per: str = "function"
    #: folders of the repository that go first on PYTHONPATH when a test is run: what an editable install would find
    #: in the user's checkout is found in the agent's
    python_path: tuple[str, ...] = ()
    #: what agents get beside the contract; `credential:NAME` stands for a credential file
    env: Mapping[str, str] = field(default_factory=dict)
    #: what an integrator's agent gets besides, such as the credentials to push; no other agent sees it
    integrator_env: Mapping[str, str] = field(default_factory=dict)
    job_timeout_seconds: float = 3600
    stall_timeout_seconds: float = 600
    #: what to do about an agent that asks for permission: notify, deny, or time-out
    on_parked: str = "notify"
    parked_timeout_seconds: float = 900
    retries: int = 1
    test_timeout_seconds: float = 120
    verify_runs: int = 2
    #: evidence on a claim may take so many times as long as these runs; 0: none is gathered
    evidence_factor: float = 2
    #: what else is run on a branch: arguments for pytest; (): nothing; None: all tests of the packages it touches
    branch_tests: tuple[str, ...] | None = None
    #: how long these may take, each time
    branch_tests_seconds: float = 600
    integrator: bool = True
    #: globs of what agents may edit (none: everything), and of what they may not whatever else is said
    allow_paths: tuple[str, ...] = ()
    deny_paths: tuple[str, ...] = DENIED
    #: a folder of prompt templates that go before the shipped ones
    prompts: str = ""
    #: "22:00-06:00": jobs start only inside it; "" for always
    window: str = ""
    #: the time zone of the window, by its IANA name
    timezone: str = "UTC"
    #: when what is done so far is integrated, once: at this share of the batch's jobs that are over, or so long after
    #: its first launch; 0: never
    integrate_share: float = 0
    integrate_after_seconds: float = 0
    #: of all its agents, cached ones and the integrator's counted; 0: none
    budget_tokens: int = 0

    @property
    def is_talked_to(self) -> bool:
        """Whether its agents have turns, and read what they are told."""
        return self.agent not in PROGRAMS


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch and its jobs.

    A job that nothing has happened to yet has no record of its own: it is a line of `tests` that the cursor
    has not reached. So a batch of 10,000 jobs costs what has been done on it.
    """

    id: str
    #: order of submission
    number: int
    repo: str
    base: str
    tests: tuple[str, ...]
    profile: Profile
    created_at: float
    author: str = ""
    priority: int = 0
    #: what its agents do: "tester", or "writer": then `tests` are names of what is to be written
    role: str = "tester"
    #: for writers, the task of each job, as JSON
    tasks: tuple[str, ...] = ()
    #: how many cases each of `tests` has; (): one each
    cases: tuple[int, ...] = ()
    #: the batch whose jobs these are, when they are worked on again
    retry_of: str = ""
    branch: str = ""
    #: the branch's last commit, and what went wrong beside its making
    branch_head: str = ""
    problems: tuple[str, ...] = ()
    #: what a reader of the branch should know
    notes: tuple[str, ...] = ()
    #: the branch that it was submitted from; "": none was checked out
    submitted_from: str = ""
    state: BatchState = BatchState.QUEUED
    paused: bool = False
    #: why no agent is started any more: "budget", for good; "login" or "credit", until a person has seen to it
    stopped: str = ""
    stop_detail: str = ""
    window_open: bool = True
    #: its first launch
    started_at: float | None = None
    finished_at: float | None = None

    #: jobs that something has happened to, by number
    touched: Map[int, Job] = field(default_factory=Map)
    #: how many of the touched are in each state
    counts: Map[JobState, int] = field(default_factory=Map)
    #: jobs below this number are touched; from here on they wait in order
    cursor: int = 0
    #: jobs that go again, ready now, in order
    again: tuple[int, ...] = ()
    #: agents that hold a slot, and all that are not yet put away
    busy: int = 0
    agents: int = 0
    #: of both kinds: each has a number
    integrations: int = 0
    #: the integration of what is done so far that is under way, and what the last one came to
    partial: Partial | None = None
    so_far: SoFar | None = None
    #: jobs whose work one had already
    carried: frozenset[int] = frozenset()
    #: some job has ended with work; and the profile's partial integration was asked for
    brought: bool = False
    straggled: bool = False
    #: the job whose agent makes one branch of the others' work; None: it is not wanted, or not yet
    integrator: Job | None = None
    #: of all its jobs
    usage: Usage = NOTHING
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
        """Those that something has happened to, and the integrator's."""
        yield from self.touched.values()
        if self.integrator is not None:
            yield self.integrator

    def job_id(self, number: int) -> str:
        return f"{self.id}.{number}"

    def cases_of(self, number: int) -> int:
        """How many cases a job's test has."""
        return self.cases[number - 1] if self.cases and number != INTEGRATOR else 1

    def cases_in(self, tests: Iterable[str]) -> int:
        """How many cases these tests have together; one that is no job's has one."""
        known = dict(zip(self.tests, self.cases, strict=False))
        return sum(known.get(test, 1) for test in tests)

    def seconds_of(self, number: int) -> float:
        """How long a job's agent may take: each case beyond the first adds the time of a test."""
        more = (self.cases_of(number) - 1) * self.profile.test_timeout_seconds
        return self.profile.job_timeout_seconds + more

    def with_job(self, job: Job) -> "Batch":
        """The batch with this job's new record, and the counts to match. The integrator's job is not counted."""
        if job.number == INTEGRATOR:
            return replace(self, integrator=job)
        before = self.touched.get(job.number)
        counts = self.counts
        if before is not None:
            counts = counts.set(before.state, counts[before.state] - 1)
        counts = counts.set(job.state, counts.get(job.state, 0) + 1)
        return replace(self, touched=self.touched.set(job.number, job), counts=counts)

    def count(self, state: JobState) -> int:
        counted = self.counts.get(state, 0)
        return counted + (len(self.tests) - len(self.touched) if state is self.untouched else 0)

    @property
    def at_work(self) -> int:
        """Its agents at work, the integrator's included."""
        integrates = self.integrator is not None and self.integrator.state in AT_WORK
        return sum(self.count(state) for state in AT_WORK) + integrates

    @property
    def is_spent(self) -> bool:
        """Its budget is: what nothing has happened to is not begun any more."""
        return self.stopped == "budget"

    @property
    def untouched(self) -> JobState:
        """What a job is that nothing has happened to."""
        return JobState.CANCELLED if self.is_spent or self.state is BatchState.CANCELLED else JobState.QUEUED

    @property
    def is_drained(self) -> bool:
        """No job waits, runs or may come back, nor does the integrator's."""
        over = self.count(JobState.DONE) + self.count(JobState.CANCELLED)
        return over == len(self.tests) and (self.integrator is None or self.integrator.state.is_over)

    @property
    def next_waiting(self) -> int | None:
        """The job to launch next. One that goes again comes first: it is the straggler of the batch."""
        if self.stopped or self.state is BatchState.CANCELLED:
            return None
        if self.again:
            return self.again[0]
        return self.cursor + 1 if self.cursor < len(self.tests) else None
