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
from supervisor.model.batch import DENIED
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
    #: the time between two listings of a provider's agents
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


class PoolTable(Table):
    """A place where agents run, and how many at a time. There can be several `[[pools]]`."""

    #: the name that profiles use
    name: Name
    #: a mngr provider: `local`, `modal`, `docker`, or one that mngr's own settings define, such as an ssh pool
    provider: Name = "local"
    #: existing hosts of the provider; empty: this machine, or new hosts where the provider makes them
    hosts: Words = ()
    #: the number of agents that share a new host
    agents_per_host: Annotated[int, Field(ge=1)] = 4
    #: mngr's arguments for a new host, each as for `mngr create --build-arg`; no secrets
    build_args: Words = ()
    #: the number of hosts (or of agents, where no hosts are made) that the provider is asked for per second; 0: no
    #: limit; default: 4 for `modal`, otherwise no limit. It holds for the provider, whichever of its pools says it
    launch_rate: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    #: the number of agents at a time
    slots: Annotated[int, Field(ge=0, le=100_000)] = 4


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
    #: the time limit of one test case, in the agent's runs and in verification
    test_timeout_seconds: Seconds = 120
    #: how often each claim is run again; 0: nothing is verified
    verify_runs: Annotated[int, Field(ge=0)] = 2
    #: how many claims are verified together at most; 1: each by itself
    verify_group: Annotated[int, Field(ge=1, le=100)] = 32
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
    #: globs of files that agents may edit; empty: everything that is not denied
    allow_paths: Words = ()
    #: globs of files that agents may not edit, even if allowed; a name without `/` matches at any depth
    deny_paths: Words = DENIED
    #: a folder with prompt templates that replace or extend the shipped ones
    prompts: Annotated[str, AfterValidator(absolute_text)] = ""
    #: not used yet
    select: Literal["all", "changed", "failed"] = "all"
    #: a daily time such as "22:00-06:00"; jobs start only inside it, running ones finish
    window: Annotated[str, AfterValidator(window_of_day)] = ""
    #: the time zone of the window, such as Europe/Berlin; empty: this machine's
    timezone: Annotated[str, AfterValidator(lambda name: name and timezone_name(name))] = ""
    #: the tokens that a batch may use, cached ones and the integrator's included; default: no limit
    budget_tokens: Annotated[int, Field(ge=1)] | None = None


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
    pools: tuple[PoolTable, ...] = (PoolTable(name="local"),)
    #: the number of verifications at a time, besides the agents
    verify_slots: Annotated[int, Field(ge=1)] = Field(default_factory=lambda: max(1, (os.cpu_count() or 1) // 2))
    profiles: dict[Name, ProfileTable] = {}

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
