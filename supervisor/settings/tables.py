"""Every key of the configuration, its type and its default."""

import os
import re
from pathlib import Path
from typing import Annotated, Literal, Self
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from supervisor import paths
from supervisor.flow import window
from supervisor.kinds import kind_of
from supervisor.model.batch import DENIED

PREFIX = "SUPERVISOR_"

_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$"
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([smhd]?)")
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_CREDENTIAL = re.compile(r"credential:[A-Za-z0-9_.-]+")


def _absolute(path: Path) -> Path:
    path = path.expanduser()
    if not path.is_absolute():
        raise ValueError(f"{path} is not an absolute path")
    return path


def _absolute_text(path: str) -> str:
    return str(_absolute(Path(path))) if path else ""


def _window(text: str) -> str:
    if text:
        window.parse(text)
    return text


def timezone_name(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, OSError, ValueError) as error:
        raise ValueError(f"{name!r} is not a time zone such as Europe/Berlin") from error
    return name


def _environment(env: dict[str, str]) -> dict[str, str]:
    for name, value in env.items():
        if not _ENV_NAME.fullmatch(name):
            raise ValueError(f"{name!r} can't be the name of a variable")
        if name.startswith(PREFIX):
            raise ValueError(f"{name} belongs to the agent contract, which sets it")
        if value.startswith("credential:") and not _CREDENTIAL.fullmatch(value):
            raise ValueError(f"{name} must name a credential file, such as credential:api-key")
    return env


def _duration(said: object) -> object:
    if not isinstance(said, str):
        return said
    if (found := _DURATION.fullmatch(said.strip())) is None:
        raise ValueError(f"{said!r} is no duration such as 90s, 30m, 2h or 1d")
    return float(found[1]) * _UNITS[found[2]]


def _inside(folders: tuple[str, ...]) -> tuple[str, ...]:
    for folder in folders:
        if not folder or folder.startswith("/") or ".." in folder.split("/") or ":" in folder:
            raise ValueError(f"{folder!r} is no folder of the repository, such as src")
    return folders


def _credential(text: str) -> str:
    if text and not _CREDENTIAL.fullmatch(text):
        raise ValueError("it must name a credential file, such as credential:github")
    return text


type AbsolutePath = Annotated[Path, AfterValidator(_absolute)]
type Words = tuple[str, ...]
type Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
#: seconds, or such as "90s", "30m", "2h", "1d"
type Duration = Annotated[Seconds, BeforeValidator(_duration)]
type Name = Annotated[str, Field(pattern=_NAME)]


class Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class MngrTable(Table):
    command: Annotated[str, Field(min_length=1)] = "mngr"
    warm: bool = True
    call_timeout_seconds: Seconds = 60
    #: of `mngr create`, which may make a host first
    create_timeout_seconds: Seconds = 600
    #: HOME of every mngr call, and so of local agents; must stay the same while agents live
    home: AbsolutePath | None = None
    #: where the tmux server of local agents has its socket; must stay the same while agents live
    tmux_tmpdir: AbsolutePath | None = None
    #: whether `mngr observe` gives hints between listings; auto: where this mngr can
    observe: Literal["auto", "always", "never"] = "auto"
    #: how often the agents of each provider are listed
    list_seconds: Seconds = 30


class GitHubTable(Table):
    #: where it is, branches are pushed and pull requests opened
    token: Annotated[str, AfterValidator(_credential)] = ""
    api_url: Annotated[str, Field(pattern=r"^https?://[^\s/]+")] = "https://api.github.com"
    remote: Name = "origin"
    #: the branch to merge into; "": the repository's own
    base: str = ""
    #: `owner/name` by profile; else the remote's URL says it
    repositories: dict[Name, Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$")]] = {}


class KeepTable(Table):
    """What stays of finished batches."""

    days: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 60
    batches: Annotated[int, Field(ge=1)] = 200
    megabytes: Annotated[int, Field(ge=1)] = 20_000


class PoolTable(Table):
    name: Name
    provider: Name = "local"
    hosts: Words = ()
    agents_per_host: Annotated[int, Field(ge=1)] = 4
    slots: Annotated[int, Field(ge=0, le=100_000)] = 4


class IntegrateAtTable(Table):
    """When what is done so far is integrated: whichever comes first, once for a batch."""

    #: of the batch's jobs, those that are over
    share: Annotated[float, Field(gt=0, lt=1)] | None = None
    #: since its first launch
    after: Duration | None = None


class ProfileTable(Table):
    inherits: str = ""
    agent: Annotated[str, Field(min_length=1)] = "claude"
    #: unless said otherwise, those of its kind
    agent_args: Words = kind_of("claude").args
    command: Words = ()
    pools: Annotated[Words, Field(min_length=1)] = ("local",)
    slots: Annotated[int, Field(ge=0)] = 0
    transfer: Literal["git-mirror", "git-worktree"] = "git-mirror"
    keep_agents: Literal["all", "failed", "none"] = "failed"
    setup: str = ""
    pytest: Annotated[Words, Field(min_length=1)] = ("python", "-m", "pytest")
    #: what one job has of what pytest collects
    per: Literal["function", "case", "file", "class"] = "function"
    python_path: Annotated[Words, AfterValidator(_inside)] = ()
    env: Annotated[dict[str, str], AfterValidator(_environment)] = {}
    integrator_env: Annotated[dict[str, str], AfterValidator(_environment)] = {}
    job_timeout_seconds: Seconds = 3600
    stall_timeout_seconds: Seconds = 600
    #: what to do about an agent that asks for permission
    on_parked: Literal["notify", "deny", "time-out"] = "notify"
    parked_timeout_seconds: Seconds = 900
    retries: Annotated[int, Field(ge=0)] = 1
    test_timeout_seconds: Seconds = 120
    verify_runs: Annotated[int, Field(ge=0)] = 2
    evidence_factor: Annotated[float, Field(ge=0)] = 2
    branch_tests: Words | None = None
    branch_tests_seconds: Seconds = 600
    integrator: bool = True
    integrate_at: IntegrateAtTable = IntegrateAtTable()
    allow_paths: Words = ()
    deny_paths: Words = DENIED
    prompts: Annotated[str, AfterValidator(_absolute_text)] = ""
    select: Literal["all", "changed", "failed"] = "all"
    window: Annotated[str, AfterValidator(_window)] = ""
    #: of the window; "": this machine's
    timezone: Annotated[str, AfterValidator(lambda name: name and timezone_name(name))] = ""
    budget_tokens: Annotated[int, Field(ge=1)] | None = None


class Settings(BaseSettings):
    """All of it. `load` makes one; nothing changes it."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_nested_delimiter="__", extra="forbid", frozen=True, env_ignore_empty=True
    )

    state_dir: AbsolutePath = Field(default_factory=paths.state_dir)
    socket: AbsolutePath = Field(default_factory=paths.socket)
    mngr: MngrTable = MngrTable()
    github: GitHubTable = GitHubTable()
    keep: KeepTable = KeepTable()
    pools: tuple[PoolTable, ...] = (PoolTable(name="local"),)
    #: verifications at once; default: half of the processors, so that agents keep theirs
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
        """`load` reads the sources itself, to know where each value comes from."""
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
            raise ValueError(f"there are two pools named {doubled[0]}")
        return self
