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

#: What no agent may edit unless its profile allows it: files that decide how tests are run, who reviews and what is
#: installed. A pattern without a slash matches a name at any depth.
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


#: Agent types that get no messages: plain programs, which would read a message typed into their terminal as input.
#: `rehearsal` is not one of them: it plays an agent that ends its turn and reads its messages.
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
    """How the agents of a batch work, as resolved at submission: later edits of the configuration do not apply."""

    name: str = "default"
    agent: str = "claude"
    agent_args: tuple[str, ...] = ()
    #: for agent = "command": argv of a program that follows the agent contract
    command: tuple[str, ...] = ()
    #: in order of preference: the next pool takes the overflow
    pools: tuple[str, ...] = ("local",)
    #: maximum number of agents of one batch at once; 0: limited by the pools only
    slots: int = 0
    transfer: str = "git-mirror"
    keep_agents: str = "failed"
    setup: str = ""
    pytest: tuple[str, ...] = ("python", "-m", "pytest")
    #: the arguments after `--` of submit, added to every test run
    pytest_args: tuple[str, ...] = ()
    #: the unit of one job, as pytest collects it: function, case, file or class
    per: str = "function"
    #: folders of the repository that come first on PYTHONPATH in a test run, so that an editable install of the
    #: user's checkout does not shadow the agent's code
    python_path: tuple[str, ...] = ()
    #: environment of the agents, besides the contract's; `credential:NAME` refers to a credential file
    env: Mapping[str, str] = field(default_factory=dict)
    #: additional environment of the integrator's agent, such as credentials to push; no other agent sees it
    integrator_env: Mapping[str, str] = field(default_factory=dict)
    job_timeout_seconds: float = 3600
    stall_timeout_seconds: float = 600
    #: policy for an agent that asks for permission: notify, deny, or time-out
    on_parked: str = "notify"
    parked_timeout_seconds: float = 900
    retries: int = 1
    test_timeout_seconds: float = 120
    verify_runs: int = 2
    #: the largest number of claims that are verified together; 1: each by itself
    verify_group: int = 32
    #: time limit for gathering evidence, as a multiple of the time that these runs take; 0: gather none
    evidence_factor: float = 2
    #: additional tests to run on a branch: arguments for pytest; (): none; None: all tests of the packages it touches
    branch_tests: tuple[str, ...] | None = None
    #: time limit for each such run
    branch_tests_seconds: float = 600
    integrator: bool = True
    #: walls around what agents wrote when it runs in verification: auto, require or off
    sandbox: str = "auto"
    #: what runs inside them has the network: setup, always or never
    sandbox_network: str = "setup"
    #: more paths that may be read, and that may be written
    sandbox_read: tuple[str, ...] = ()
    sandbox_write: tuple[str, ...] = ()
    #: limits of one run; of memory 0: half of the machine's
    sandbox_memory_mb: int = 0
    sandbox_processes: int = 2048
    sandbox_disk_mb: int = 8192
    #: globs of paths that agents may edit (none: all paths), and of paths that they may never edit
    allow_paths: tuple[str, ...] = ()
    deny_paths: tuple[str, ...] = DENIED
    #: a folder of prompt templates that override the shipped ones
    prompts: str = ""
    #: "22:00-06:00": jobs start only inside it; "" for always
    window: str = ""
    #: the time zone of the window, by its IANA name
    timezone: str = "UTC"
    #: when to start the one automatic partial integration: at this share of jobs that are over, or this long after
    #: the first launch; 0: never
    integrate_share: float = 0
    integrate_after_seconds: float = 0
    #: limit for all its agents, including the integrator's, cached tokens included; 0: no limit
    budget_tokens: int = 0

    @property
    def is_talked_to(self) -> bool:
        """Whether its agents have turns and read messages."""
        return self.agent not in PROGRAMS


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
    author: str = ""
    priority: int = 0
    #: what its agents do: "tester" or "writer"; for a writer, `tests` holds the names of the things to write
    role: str = "tester"
    #: for writers, the task of each job, as JSON
    tasks: tuple[str, ...] = ()
    #: the number of cases of each entry of `tests`; (): one each
    cases: tuple[int, ...] = ()
    #: the batch whose jobs this one works on again
    retry_of: str = ""
    branch: str = ""
    #: the branch's last commit, and problems that did not stop the integration
    branch_head: str = ""
    problems: tuple[str, ...] = ()
    #: what a reader of the branch should know
    notes: tuple[str, ...] = ()
    #: the branch that was checked out at submission; "": none
    submitted_from: str = ""
    state: BatchState = BatchState.QUEUED
    paused: bool = False
    #: why it launches no more agents: "budget", for good; "login" or "credit", until a person resumes it
    stopped: str = ""
    stop_detail: str = ""
    window_open: bool = True
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
    #: the number of integrations so far, partial ones included
    integrations: int = 0
    #: the partial integration in progress, and the result of the last one
    partial: Partial | None = None
    so_far: SoFar | None = None
    #: jobs whose work a partial integration has already merged
    carried: frozenset[int] = frozenset()
    #: at least one job has ended with work; and the automatic partial integration has been requested
    brought: bool = False
    straggled: bool = False
    #: the job whose agent merges the others' work into one branch; None: not needed, or not yet
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

    def count(self, state: JobState) -> int:
        counted = self.counts.get(state, 0)
        return counted + (len(self.tests) - len(self.touched) if state is self.untouched else 0)

    @property
    def at_work(self) -> int:
        """The number of agents at work, including the integrator's."""
        integrates = self.integrator is not None and self.integrator.state in AT_WORK
        return sum(self.count(state) for state in AT_WORK) + integrates

    @property
    def is_spent(self) -> bool:
        """Its budget is spent: unstarted jobs will not start."""
        return self.stopped == "budget"

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
    def next_waiting(self) -> int | None:
        """The job to launch next. Requeued jobs come first: they are the batch's stragglers."""
        if self.stopped or self.state is BatchState.CANCELLED:
            return None
        if self.again:
            return self.again[0]
        return self.cursor + 1 if self.cursor < len(self.tests) else None
