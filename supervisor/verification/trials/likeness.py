"""The environment of a run: what an agent's own run would see, in fresh places."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from supervisor.adapters.layout import OUTCOME, PLUGINS, PROMPT
from supervisor.kinds import kind_of
from supervisor.launch.contract import REPORTER, REPORTER_FILES, contract, reporting, run_command
from supervisor.launch.orders import CREDENTIAL
from supervisor.model.batch import Batch
from supervisor.model.node import file_of
from supervisor.verification.setups.kept import Site
from supervisor.verification.trials.running import PASSED_ON

#: further variables that agents get from the daemon's environment
_ALSO = ("XDG_RUNTIME_DIR",)
PASSED_ON_HOSTS = (*PASSED_ON, *_ALSO)
REPORTER_SOURCE = Path(str(files("supervisor.agents"))) / REPORTER


@dataclass(frozen=True, slots=True)
class Places:
    """The folders of a run, laid out as mngr does for an agent. The paths below `home` are the same for all runs of a
    trial."""

    home: Path
    agent: str
    temporary: Path

    @classmethod
    def at(cls, folder: Path, site: Site) -> "Places":
        return cls(folder / site.home, site.agent, Path())

    @property
    def host(self) -> Path:
        return self.home / ".mngr"

    @property
    def checkout(self) -> Path:
        return self.host / "copies" / self.agent

    def checkout_in(self, home: Path) -> Path:
        """The path of the checkout in a copy of this home."""
        return home / self.checkout.relative_to(self.home)

    @property
    def state(self) -> Path:
        return self.host / "agents" / self.agent

    @property
    def plugins(self) -> Path:
        return self.state / PLUGINS

    def furnish(self) -> None:
        (self.plugins / REPORTER).mkdir(parents=True, exist_ok=True)
        for name in REPORTER_FILES:
            shutil.copy(REPORTER_SOURCE / name, self.plugins / REPORTER)


@dataclass(frozen=True, slots=True)
class Spoken:
    """What a run is told besides its places: its command, and the name of its reporter's socket."""

    command: str = ""
    socket: str = field(default_factory=lambda: os.urandom(8).hex())


@dataclass(frozen=True, slots=True)
class Host:
    """The host of a run: its environment and its provider."""

    env: Mapping[str, str] = field(default_factory=lambda: os.environ)
    provider: str = "local"


def environment_of(
    batch: Batch, places: Places, nodes: tuple[str, ...], run: Spoken, host: Host | None = None
) -> dict[str, str]:
    """It has the variables of an agent's environment except secrets: no test is verified with one."""
    host = host or Host()
    job = next((number for number, test in enumerate(batch.tests, 1) if _of_one(test, nodes)), 1)
    passed = {name: host.env[name] for name in PASSED_ON_HOSTS if name in host.env}
    own = {name: value for name, value in batch.profile.env.items() if not value.startswith(CREDENTIAL)}
    return {
        "LANG": "C.UTF-8",
        **passed,
        "HOME": str(places.home),
        "TMPDIR": str(places.temporary),
        **_mngr(places, batch, job),
        **kind_of(batch.profile.agent).environment(host.provider),
        **contract(batch, job, 1, run.command or run_command(batch.profile, *nodes)),
        "SUPERVISOR_PROMPT": str(places.state / PROMPT),
        "SUPERVISOR_OUTCOME": str(places.state / OUTCOME),
        **own,
        **reporting(own, str(places.plugins), run.socket),
    }


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A place where a person might have a checkout: in a home with nothing of ours."""

    home: Path
    checkout: Path

    @classmethod
    def of(cls, batch: Batch) -> "Elsewhere | None":
        """None: there is a setup, and what it installed knows its own path; or the profile shows what is in /home."""
        homes, profile = Path("/home").resolve(), batch.profile
        shown = [Path(each).resolve() for each in (*profile.sandbox_read, *profile.sandbox_write)]
        if profile.setup or any(homes.is_relative_to(each) for each in shown):
            return None
        home = homes / os.urandom(4).hex()
        return cls(home, home / (Path(batch.repo).name or "repo"))

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        own = {"HOME": str(self.home), "PWD": str(self.checkout), "TERM": "xterm-256color"}
        return {name: value for name, value in env.items() if name != "OLDPWD"} | own


def own_names(batch: Batch) -> frozenset[str]:
    """The variables of an agent's environment that no other program has."""
    places = Places(Path(), "", Path())
    given = {**_mngr(places, batch, 1), **contract(batch, 1, 1, ""), **kind_of(batch.profile.agent).environment("")}
    return frozenset(given.keys() - _USUAL - batch.profile.env.keys())


#: what every terminal gives its programs
_USUAL = {"TERM", "SHLVL", "PWD", "OLDPWD"}


def _of_one(test: str, nodes: tuple[str, ...]) -> bool:
    return any(test == node or file_of(test) == node for node in nodes)


def _mngr(places: Places, batch: Batch, job: int) -> Mapping[str, str]:
    return {
        "MNGR_HOST_DIR": str(places.host),
        "MNGR_AGENT_ID": places.agent,
        "MNGR_AGENT_NAME": f"sv-{batch.id}-{job}-1",
        "MNGR_AGENT_STATE_DIR": str(places.state),
        "MNGR_AGENT_WORK_DIR": str(places.checkout),
        "MNGR_PRIMARY_WINDOW_NAME": "agent",
        "MNGR_GIT_BASE_BRANCH": "base",
        "MNGR_HEADLESS": "1",
        "CODE_GUARDIAN_STOP_HOOK__BASE_BRANCH": "base",
        "LLM_USER_PATH": str(places.state / "llm"),
        "TMUX_TMPDIR": str(places.temporary),
        "TERM": "tmux-256color",
        "SHLVL": "1",
        "PWD": str(places.checkout),
        "OLDPWD": str(places.home),
    }
