"""Every key of the configuration: its type, its default, and what it means.

The comment above a key (`#:`) and the docstring of a table are the text of the reference and of the man page.
"""

import os
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from supervisor import paths
from supervisor.kinds import kind_of
from supervisor.model.denied import DENIED
from supervisor.settings.alerting import AlertTable, MailTable, WebhookTable
from supervisor.settings.dashboard import DashboardTable
from supervisor.settings.gate import GateTable
from supervisor.settings.governing import AccountTable, BudgetTable, PriceTable, RefusalTable
from supervisor.settings.policies import PolicyTable
from supervisor.settings.pools import PoolTable
from supervisor.settings.scheduling import ScheduleTable
from supervisor.settings.telemetry import TelemetryTable
from supervisor.settings.values import (
    PREFIX,
    AbsolutePath,
    Duration,
    Name,
    Seconds,
    Words,
    absolute_text,
    credential,
    environment,
    inside,
    timezone_name,
    window_of_day,
)


class Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class MngrTable(Table):
    """The mngr that starts the agents."""

    #: the mngr program, version 0.2 or later
    command: Annotated[str, Field(min_length=1)] = "mngr"
    #: keep a process with mngr's code loaded and fork it for each call; plain calls are the fallback
    warm: bool = True
    #: the deadline of every mngr call except `mngr create`
    call_timeout_seconds: Seconds = 60
    #: the deadline of `mngr create`, which may have to create a host first
    create_timeout_seconds: Seconds = 600
    #: HOME of every mngr call, and so of local agents; default `STATE_DIR/home`. Never change it while agents live
    home: AbsolutePath | None = None
    #: the folder with the socket of the local agents' tmux server; default `STATE_DIR/tmux`. Never change it while
    #: agents live
    tmux_tmpdir: AbsolutePath | None = None
    #: whether to watch `mngr observe` between listings; `auto`: if this mngr has it
    observe: Literal["auto", "always", "never"] = "auto"
    #: the time between two listings of a provider's agents; ten times that while all its hosts tell what is new
    list_seconds: Seconds = 30


class GitHubTable(Table):
    """Push the branch of a batch and open a draft pull request."""

    #: `credential:NAME`, a credential file with the token; without a token nothing is pushed
    token: Annotated[str, AfterValidator(credential)] = ""
    #: the API; for an Enterprise server `https://HOST/api/v3`
    api_url: Annotated[str, Field(pattern=r"^https?://[^\s/]+")] = "https://api.github.com"
    #: the remote of your repository that the branch is pushed to
    remote: Name = "origin"
    #: the branch to merge into; empty: the branch you submitted from, otherwise the repository's default branch
    base: str = ""
    #: `owner/name` for each profile; without an entry it is taken from the remote's URL
    repositories: dict[Name, Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$")]] = {}


class KeepTable(Table):
    """How long the data of finished batches is kept. If one of the limits is exceeded, the oldest go first."""

    #: after this many days only the summary of a batch is left
    days: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 60
    #: the number of finished batches whose data is kept
    batches: Annotated[int, Field(ge=1)] = 200
    #: the size of the whole state directory
    megabytes: Annotated[int, Field(ge=1)] = 20_000


class IntegrateAtTable(Table):
    """Create a branch of the finished work before the batch is over: once, as soon as one of the conditions holds."""

    #: the share of jobs that are over, such as 0.9
    share: Annotated[float, Field(gt=0, lt=1)] | None = None
    #: the time since the first launch, such as "2h"
    after: Duration | None = None


class ProfileTable(Table):
    """How the agents of a batch work: `supervisorctl submit --profile NAME`."""

    #: the profile from which this one takes the keys that it leaves out; without one, the defaults below apply
    inherits: str = ""
    #: a mngr agent type, such as `claude`; `rehearsal` needs no model; `command` runs your own program
    agent: Annotated[str, Field(min_length=1)] = "claude"
    #: arguments for the agent program; default: those of its kind, with which it never asks for permission
    agent_args: Words = kind_of("claude").args
    #: for `agent = "command"`: the program and its arguments
    command: Words = ()
    #: the account of its agents, see `[accounts]`; empty: that of the kind of agent
    account: str = ""
    #: several accounts in order of preference; when one is paused or full, the next one is used
    accounts: Words = ()
    #: pools in order of preference; when one is full, the next one is used
    pools: Annotated[Words, Field(min_length=1)] = ("local",)
    #: the number of agents of one batch at a time; 0: as many as the pools have slots
    slots: Annotated[int, Field(ge=0)] = 0
    #: how a local agent gets its clone
    transfer: Literal["git-mirror", "git-worktree"] = "git-mirror"
    #: which agents stay, stopped, after their work is safe: `failed` keeps those that did not publish. An agent whose
    #: work could not be saved completely is always kept
    keep_agents: Literal["all", "failed", "none"] = "failed"
    #: a shell command that prepares every checkout, such as `uv sync`
    setup: str = ""
    #: globs of the files that decide what `setup` leaves, which then serves every checkout with the same ones; `[]`:
    #: run it each time; default: lock files, and whatever the setup opens
    setup_inputs: Words | None = None
    #: the command that runs pytest in a checkout, such as `["uv", "run", "pytest"]`
    pytest: Annotated[Words, Field(min_length=1)] = ("python", "-m", "pytest")
    #: what one job is: a test function with all its cases, or one case, class or file
    per: Literal["function", "case", "file", "class"] = "function"
    #: folders that come first on PYTHONPATH, such as `["src"]`; `submit` detects them if it can
    python_path: Annotated[Words, AfterValidator(inside)] = ()
    #: environment variables for agents; `credential:NAME` is replaced by the content of that credential file
    env: Annotated[dict[str, str], AfterValidator(environment)] = {}
    #: additional environment variables for the integrator's agent only
    integrator_env: Annotated[dict[str, str], AfterValidator(environment)] = {}
    #: the time limit of one agent on a job with one case; each further case adds `test_timeout_seconds`
    job_timeout_seconds: Seconds = 3600
    #: an agent without activity for this long is stalled
    stall_timeout_seconds: Seconds = 600
    #: what to do if an agent asks for permission: notify a person, say no, or give the agent up after a while
    on_parked: Literal["notify", "deny", "time-out"] = "notify"
    #: with `on_parked = "time-out"`: how long to wait
    parked_timeout_seconds: Seconds = 900
    #: new attempts after a crash or a stall; rate limits and refused logins do not count
    retries: Annotated[int, Field(ge=0)] = 1
    #: when so many jobs fail in the same way at the same stage, their batch is paused; 0: never for a number
    breaker_jobs: Annotated[int, Field(ge=0)] = 5
    #: the same as a share of all jobs of the batch, such as 0.2; the smaller of the two counts; 0: never for a share
    breaker_share: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0
    #: in a batch of more than 10 jobs, so many must come through (published and collected) before the others start
    canaries: Annotated[int, Field(ge=0, le=3)] = 0
    #: the time limit of one test case, in the agent's runs and in verification
    test_timeout_seconds: Seconds = 120
    #: how often each claim is run again; 0: nothing is verified
    verify_runs: Annotated[int, Field(ge=0)] = 2
    #: how many claims are verified together at most; 1: each by itself
    verify_group: Annotated[int, Field(ge=1, le=100)] = 32
    #: what is run at the base; `full`: all files of the batch, beside the agents; `file`: a file when a claim needs
    #: it; `none`: as little as verdicts need: for a claim that a test was clean, only that test
    survey: Literal["full", "file", "none"] = "full"
    #: launch a job only after its file was run at the base (`survey = "full"`), and of those that fail at the same
    #: place of shared code, such as a broken fixture, launch only one: its verified fix is tried on the others
    hold_siblings: bool = False
    #: the pools in which claims are verified; default: each in the pool where its work was made. `["local"]`: all on
    #: this machine, also what was written elsewhere. Work that was made in none of them is verified in the first
    verify_pools: Words = ()
    #: the time for evidence, as a multiple of the time of those runs; 0: no evidence is gathered
    evidence_factor: Annotated[float, Field(ge=0)] = 2
    #: pytest arguments for additional tests that must pass on the branch; `[]`: none; default: the tests of all
    #: packages that the branch touches
    branch_tests: Words | None = None
    #: the time limit of these tests; the report names those that were not run
    branch_tests_seconds: Seconds = 600
    #: start an agent if merging needs judgement; `false`: merge by machine only
    integrator: bool = True
    #: create a branch before the batch is over, see below
    integrate_at: IntegrateAtTable = IntegrateAtTable()
    #: walls around what agents wrote when it runs in verification; `auto`: where this machine can build them,
    #: `require`: nothing is verified without them, `off`: none
    sandbox: Literal["auto", "require", "off"] = "auto"
    #: what has the network inside of the walls; everything else has a loopback only
    sandbox_network: Literal["setup", "always", "never"] = "setup"
    #: absolute paths that may be read inside of the walls, besides the system's folders and the tool chain
    sandbox_read: tuple[AbsolutePath, ...] = ()
    #: absolute paths that may be written inside of the walls, such as a cache
    sandbox_write: tuple[AbsolutePath, ...] = ()
    #: the memory that one run may use, in MB; 0: half of the machine's
    sandbox_memory_mb: Annotated[int, Field(ge=0)] = 0
    #: the number of processes and threads that one run may have
    sandbox_processes: Annotated[int, Field(ge=16)] = 2048
    #: what one run may write to disk, in MB
    sandbox_disk_mb: Annotated[int, Field(ge=16)] = 8192
    #: walls around agents of this machine; `auto`: where it can build them, `require`: no agent starts without them,
    #: `off`: none. Inside, `sandbox_read`, `sandbox_write`, `sandbox_memory_mb` (0: no limit) and `sandbox_processes`
    #: hold for the agent, too; it has the network
    agent_walls: Literal["auto", "require", "off"] = "off"
    #: globs of files that agents may edit; empty: everything that is not denied
    allow_paths: Words = ()
    #: globs of files that agents may not edit, even if allowed; a name without `/` matches at any depth
    deny_paths: Words = DENIED
    #: a folder with prompt templates that replace or extend the shipped ones
    prompts: Annotated[str, AfterValidator(absolute_text)] = ""
    #: which tests get an agent: all, those that last ended badly, that fail now, or that a change since may concern
    select: Literal["all", "failed", "red", "changed"] = "all"
    #: of the tests that `changed` skips, this share (and one at least) runs all the same, to find out whether that is
    #: right; 0: none
    audit_share: Annotated[float, Field(ge=0, le=1)] = 0.05
    #: a daily time such as "22:00-06:00"; jobs start only inside it, running ones finish
    window: Annotated[str, AfterValidator(window_of_day)] = ""
    #: the time zone of the window, such as Europe/Berlin; empty: this machine's
    timezone: Annotated[str, AfterValidator(lambda name: name and timezone_name(name))] = ""
    #: the tokens that a batch may use, cached ones and the integrator's included; default: no limit
    budget_tokens: Annotated[int, Field(ge=1)] | None = None
    #: the same in dollars, for accounts that are paid with money
    budget_dollars: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None


class Settings(BaseSettings):
    """The whole configuration. `load` creates it; it never changes."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_nested_delimiter="__", extra="forbid", frozen=True, env_ignore_empty=True
    )

    #: where everything is kept that must survive
    state_dir: AbsolutePath = Field(default_factory=paths.state_dir)
    #: where the daemon listens
    socket: AbsolutePath = Field(default_factory=paths.socket)
    mngr: MngrTable = MngrTable()
    github: GitHubTable = GitHubTable()
    keep: KeepTable = KeepTable()
    gate: GateTable = GateTable()
    dashboard: DashboardTable = DashboardTable()
    telemetry: TelemetryTable = TelemetryTable()
    pools: tuple[PoolTable, ...] = (PoolTable(name="local"),)
    #: the number of verifications at a time, besides the agents
    verify_slots: Annotated[int, Field(ge=1)] = Field(default_factory=lambda: max(1, (os.cpu_count() or 1) // 2))
    accounts: dict[Name, AccountTable] = {}
    budget: BudgetTable = BudgetTable()
    prices: tuple[PriceTable, ...] = ()
    refusals: tuple[RefusalTable, ...] = ()
    profiles: dict[Name, ProfileTable] = {}
    policy: dict[AbsolutePath, PolicyTable] = {}
    schedules: tuple[ScheduleTable, ...] = ()
    alerts: tuple[AlertTable, ...] = ()
    webhooks: tuple[WebhookTable, ...] = ()
    mail: MailTable = MailTable()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """`load` reads the sources itself, so that it knows the source of each value."""
        return (init_settings,)

    @property
    def mngr_home(self) -> Path:
        return self.mngr.home or self.state_dir / "home"

    @property
    def tmux_tmpdir(self) -> Path:
        return self.mngr.tmux_tmpdir or self.state_dir / "tmux"

    @model_validator(mode="after")
    def _pool_names_are_unique(self) -> Self:
        names = [pool.name for pool in self.pools]
        if doubled := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"two pools are named {doubled[0]}")
        return self

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        for what, named in (("webhooks", self.webhooks), ("schedules", self.schedules)):
            names = [each.name for each in named]
            if doubled := sorted({name for name in names if names.count(name) > 1}):
                raise ValueError(f"two {what} are named {doubled[0]}")
        if any(hook.name == "mail" for hook in self.webhooks):
            raise ValueError("a webhook can't be named mail: that is the receiver of [mail]")
        return self
