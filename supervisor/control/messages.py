"""What the API takes and gives, as schemas. Answers may get more fields, never fewer."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

type Time = str
type Text = Annotated[str, Field(max_length=4096)]


def _whole(value: object) -> object:
    # JSON has one kind of number: 3.0 is an integer there.
    return int(value) if isinstance(value, float) and value.is_integer() else value


WHOLE = BeforeValidator(_whole)


class Asked(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Submission(Asked):
    repo: Annotated[str, Field(min_length=1, max_length=4096, pattern="^/", description="Path of a git checkout.")]
    base: Annotated[str, Field(pattern="^[0-9a-f]{40}$", description="The commit to start from.")]
    tests: Annotated[list[Annotated[Text, Field(min_length=1)]], Field(min_length=1, max_length=100_000)]
    profile: Annotated[str, Field(max_length=64)] = "default"
    pytest_args: Annotated[list[Text], Field(max_length=1000)] = []
    python_path: Annotated[
        list[Annotated[Text, Field(pattern="^[^/:][^:]*$")]],
        Field(
            max_length=20, description="Folders of the repository that go first on PYTHONPATH; else the profile's."
        ),
    ] = []
    priority: Annotated[int, Field(ge=-1000, le=1000), WHOLE] = 0
    role: Literal["tester", "writer"] = "tester"
    tasks: Annotated[
        list[dict[str, Any]], Field(max_length=100_000, description="For writers: what each of `tests` stands for.")
    ] = []
    cases: Annotated[
        list[Annotated[int, Field(ge=1, le=1_000_000), WHOLE]],
        Field(max_length=100_000, description="How many cases each of `tests` has; none: one each."),
    ] = []
    per: Annotated[Literal["function", "case", "file", "class"] | None, Field(description="What one job has.")] = None
    batch: Annotated[
        str | None,
        Field(pattern="^[a-z][a-z0-9]{3,19}$", description="Said again with the same id, it is the same submission."),
    ] = None


class Pausing(Asked):
    reason: Annotated[str, Field(max_length=200)] = ""


class Integrating(Asked):
    onto: Annotated[
        str, Field(max_length=200, pattern="^[^-]?", description="Make the branch again on this commit.")
    ] = ""


class Retrying(Asked):
    onto: Annotated[
        str, Field(max_length=200, pattern="^[^-]?", description="Of a batch that is over: start from this commit.")
    ] = ""


class Taking(Asked):
    branch: Annotated[str, Field(max_length=200, description="Instead of `supervisor/work/JOB`.")] = ""
    repo: Annotated[str, Field(max_length=4096, pattern="^(/|$)", description="Another one than the batch's.")] = ""


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
    """`changed` is false when it was so already."""

    changed: bool


class WorkRow(BaseModel):
    """The work of one attempt, or a batch's branch that could not be made."""

    model_config = ConfigDict(extra="allow")

    job: str
    test: str
    #: None: not known yet, or it is not the job's last work
    ledger: str | None
    why: str
    commits: int
    #: in the daemon's own repository; None: nothing could be taken
    ref: str | None
    head: str | None
    rescued: bool
    #: one that is kept for what could not be taken: its name, how to reach it, and what it has
    agent: dict[str, Any] | None


class Work(Dated):
    rows: list[WorkRow]


class TakenRow(BaseModel):
    job: str
    attempt: int | None
    head: str | None
    branch: str | None
    changed: bool
    #: why it could not be taken
    problem: str | None


class Taken(Dated):
    changed: bool
    repo: str
    rows: list[TakenRow]


class Checkout(Answer):
    repo: str
    base: str
    profile: str
    pytest: list[str]
    per: str
    python_path: list[str] = []
    has_setup: bool = False
    timeout_seconds: float


class Proposed(Dated):
    """What a writer's work comes to. `bundle` has its commits upon `base`, in base64."""

    job: str
    item: str
    kind: Literal["seed", "block", "stale"]
    tutorial: str
    seed: str
    block: str
    text: str
    verification: str
    reason: str
    execution: dict[str, Any] | None
    base: str
    head: str
    bundle: str
    confusions: list[dict[str, str]]


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
    #: a batch that was sealed by an older version says nothing of what follows
    #: why no agent is started any more: by its budget for good, otherwise until a person has seen to it
    stopped: Literal["budget", "login", "credit"] | None = None
    #: its agents at work
    at_work: int = 0
    #: what partial integrations have made
    so_far: dict[str, Any] | None = None
    #: the branch that could not be made in the repository: `ref`, `head` and `commits` in the daemon's own
    unlanded: dict[str, Any] | None = None
    #: the batch whose jobs these are, when they are worked on again
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
    batches: list[BatchView]
    attention: list[dict[str, Any]]
    #: what the state directory takes; null: not counted yet
    disk: dict[str, Any] | None = None


class JobRow(BaseModel):
    model_config = ConfigDict(extra="allow")

    id: str
    test: str
    #: how many cases its test has
    cases: int = 1
    state: str
    outcome: str | None
    ledger: str | None
    attempts: int
    agent: str | None
    pool: str | None
    queued_at: Time
    launched_at: Time | None
    published_at: Time | None
    collected_at: Time | None
    ended_at: Time | None
    #: a batch that was sealed by an older version has none
    doubts: list[str] = []
    #: of the ledger, for what was not merged
    ledger_why: str | None = None
    #: what its attempts have brought home or left, and where that is
    work: list[dict[str, Any]] = []
    evidence: dict[str, Any] | None = None


class JobStatus(Dated):
    job: JobRow


class Jobs(Dated):
    rows: list[JobRow]
    #: job 0, if merging took an agent's judgement
    integrator: JobRow | None = None


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
