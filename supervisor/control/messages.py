"""The schemas of the API's requests and answers. Fields may be added to answers, never removed."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

type Time = str
type Select = Literal["all", "failed", "red", "changed"]
type Text = Annotated[str, Field(max_length=4096)]


def _whole(value: object) -> object:
    # JSON does not distinguish integers from floats: 3.0 is an integer.
    return int(value) if isinstance(value, float) and value.is_integer() else value


WHOLE = BeforeValidator(_whole)


class Asked(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Submission(Asked):
    repo: Annotated[
        str, Field(min_length=1, max_length=4096, pattern="^/", description="The path of a git checkout.")
    ]
    base: Annotated[str, Field(pattern="^[0-9a-f]{40}$", description="The commit to start from.")]
    tests: Annotated[list[Annotated[Text, Field(min_length=1)]], Field(min_length=1, max_length=100_000)]
    profile: Annotated[str, Field(max_length=64)] = "default"
    pytest_args: Annotated[list[Text], Field(max_length=1000)] = []
    python_path: Annotated[
        list[Annotated[Text, Field(pattern="^[^/:][^:]*$")]],
        Field(
            max_length=20, description="Folders of the repository to put first on PYTHONPATH; default: the profile's."
        ),
    ] = []
    priority: Annotated[int, Field(ge=-1000, le=1000), WHOLE] = 0
    carry_over: Annotated[bool, Field(description="First what the last batch had no agent for.")] = False
    role: Literal["tester", "writer"] = "tester"
    tasks: Annotated[
        list[dict[str, Any]], Field(max_length=100_000, description="For writers: what each of `tests` stands for.")
    ] = []
    cases: Annotated[
        list[Annotated[int, Field(ge=1, le=1_000_000), WHOLE]],
        Field(max_length=100_000, description="How many cases each of `tests` has; default: one each."),
    ] = []
    per: Annotated[Literal["function", "case", "file", "class"] | None, Field(description="The unit of one job.")] = (
        None
    )
    select: Annotated[Select | None, Field(description="How `tests` were chosen.")] = None
    audited: Annotated[list[Text], Field(max_length=100_000, description="Tests that it would have skipped.")] = []
    batch: Annotated[
        str | None,
        Field(
            pattern="^[a-z][a-z0-9]{3,19}$",
            description="Makes the request idempotent: repeated with this id, it submits once.",
        ),
    ] = None


class Pausing(Asked):
    reason: Annotated[str, Field(max_length=200)] = ""


class Integrating(Asked):
    onto: Annotated[
        str, Field(max_length=200, pattern="^[^-]?", description="Rebuild the branch on this commit.")
    ] = ""


class Retrying(Asked):
    onto: Annotated[
        str, Field(max_length=200, pattern="^[^-]?", description="For a batch that is over: start from this commit.")
    ] = ""


class Taking(Asked):
    branch: Annotated[str, Field(max_length=200, description="Default: `supervisor/work/JOB`.")] = ""
    repo: Annotated[str, Field(max_length=4096, pattern="^(/|$)", description="Default: the batch's.")] = ""


class Slots(Asked):
    slots: Annotated[int, Field(ge=0, le=100_000), WHOLE]


# --- answers


class Answer(BaseModel):
    model_config = ConfigDict(extra="allow")

    schema_version: Literal[1]


class Dated(Answer):
    as_of: Time


class Submitted(Answer):
    batch: str
    jobs: int
    changed: bool


class Changed(Answer):
    """`changed` is false if the request had no effect, because it was so already."""

    changed: bool


class Invited(Dated):
    token: str
    #: of programs: a bearer token for `/metrics` and `/feed.atom` of the dashboard alone
    reader_token: str = ""
    #: on 127.0.0.1; 0: on the socket only
    port: int
    #: the Unix socket that the dashboard is served on, too
    socket: str


class Checkout(Answer):
    repo: str
    base: str
    profile: str
    pytest: list[str]
    per: str
    select: str = "all"
    python_path: list[str] = []
    has_setup: bool = False
    timeout_seconds: float


class BatchView(BaseModel):
    model_config = ConfigDict(extra="allow")

    id: str
    state: Literal["queued", "running", "integrating", "finished", "cancelled"]
    repo: str
    base: str
    branch: str | None
    created_at: Time
    finished_at: Time | None
    jobs: dict[str, int]
    outcomes: dict[str, int]
    ledger: dict[str, int]
    tokens: dict[str, int]
    attention: list[dict[str, Any]]
    #: the fields that follow are absent from a batch that an older version sealed
    #: why no more agents are launched: "budget" is final, the others last until a person acts
    stopped: Literal["budget", "login", "credit", "survey", "breaker"] | None = None
    #: why only a few of its jobs may start now
    waits_for: str | None = None
    #: failures by fingerprint (stage, outcome, exception, normalised message): count, jobs, a sample
    patterns: list[dict[str, Any]] = []
    #: for each place of shared code at which several tests fail: the place, the number of jobs that are held, and the
    #: job whose agent they wait for
    siblings: list[dict[str, Any]] = []
    #: once it is finished: for how many seconds its accounts were paused, by the limit that did it
    held_up: dict[str, float] = {}
    #: the number of its agents at work
    at_work: int = 0
    #: claims that wait to be verified and that are, and the verify slots that all batches share
    verify: dict[str, int] = {}
    #: what its test files came to at the base: counts of tests, names of some; null: there is no survey
    survey: dict[str, Any] | None = None
    #: the result of its partial integration
    so_far: dict[str, Any] | None = None
    #: the branch that could not be created in the user's repository: its `ref`, `head` and `commits` in the daemon's
    unlanded: dict[str, Any] | None = None
    #: the batch whose jobs this one retries
    retry_of: str | None = None
    problems: list[str] = []
    notes: list[str] = []
    submitted_from: str | None = None


class BatchStatus(Dated):
    batch: BatchView


class Batches(Dated):
    rows: list[BatchView]


class Queue(Dated):
    paused: bool
    pause_reason: str
    agents: int
    pools: list[dict[str, Any]]
    #: the verify slots: how many there are and are busy, the claims in them, those that wait, and the files that are
    #: run at their base
    verify: dict[str, int] = {}
    batches: list[BatchView]
    attention: list[dict[str, Any]]
    #: the size of the state directory; null: not measured yet
    disk: dict[str, Any] | None = None
    #: what has come of traces since the daemon started: spans that a collector was told, and those that were dropped;
    #: null: none is configured
    telemetry: dict[str, Any] | None = None


class JobRow(BaseModel):
    model_config = ConfigDict(extra="allow")

    id: str
    test: str
    #: how many cases its test has
    cases: int = 1
    #: the selector would have skipped it
    audited: bool = False
    failed_before: bool | None = None
    state: str
    outcome: str | None
    #: the job that it is held for, or whose verified work was tried on its test
    sibling: str | None = None
    ledger: str | None
    attempts: int
    agent: str | None
    pool: str | None
    queued_at: Time
    launched_at: Time | None
    published_at: Time | None
    collected_at: Time | None
    ended_at: Time | None
    #: empty for a batch that an older version sealed
    doubts: list[str] = []
    #: why the ledger has this entry, if the work was not merged
    ledger_why: str | None = None
    #: the work of its attempts, and where it is
    work: list[dict[str, Any]] = []
    evidence: dict[str, Any] | None = None
    #: of the terminals that its test used: at the base, in the runs of its verification, in its agent's own runs;
    #: of one job only
    recordings: list[dict[str, Any]] = []


class JobStatus(Dated):
    job: JobRow


class Jobs(Dated):
    rows: list[JobRow]
    #: job 0, if an integrator was launched
    integrator: JobRow | None = None


class AtWork(Dated):
    #: each with its state, health, pool, agent, tokens, and since when it is so
    rows: list[dict[str, Any]]


class EventRow(BaseModel):
    model_config = ConfigDict(extra="allow")

    seq: int
    at: Time
    kind: str
    batch: str | None
    job: str | None
    attempt: int | None


class Events(Dated):
    rows: list[EventRow]


class ErrorBody(BaseModel):
    code: str
    message: str
    hint: str
    exit_code: int


class ErrorAnswer(BaseModel):
    error: ErrorBody
